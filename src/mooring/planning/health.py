"""What health checks prove, and what they do not.

Learned the hard way (drift-roll): the control plane took three failed checks for death and deleted 31 workers in the
middle of their queries. So failed checks alone end only what nobody uses. A worker that holds a claim is given up when
the cluster, which looks with other eyes, says on its own account that nothing runs there any more.
"""

from dataclasses import dataclass
from datetime import timedelta

import msgspec

from mooring.model.health import KEPT_CHECKS, Check, WorkerHealth
from mooring.model.node import Node
from mooring.model.worker import Worker

NODE_SILENCE_SECONDS = 60.0  # a flapping node settles before anything on it is given up
OVERDUE_SECONDS = 30.0  # a kubelet may be a little late in ending a pod whose grace is over
MASS_FAILURE = 3  # from so many on, more than half failing says more about the checker than about the checked


def record_check(before: WorkerHealth, check: Check, limit: int) -> WorkerHealth:
    """The state after one more check; one good answer ends a row of failures."""
    recent = (*before.recent[-KEPT_CHECKS + 1 :], check)
    if check.ok:
        return WorkerHealth(limit=limit, answered_at=check.at, recent=recent)
    return WorkerHealth(
        limit=limit,
        failures=before.failures + 1,
        failing_since=before.failing_since or check.at,
        answered_at=before.answered_at,
        recent=recent,
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """How many workers are checked, failed their last check, ever answered, and failed as often as counts.

    Doubt looks at the last checks: checks are spread out, so that when the network breaks some reach their limit a
    while before the others, and would be given up before it shows that they all fail.
    """

    checked: int = 0
    failing: int = 0
    answered: int = 0
    failed: int = 0

    def replace(self, before: WorkerHealth | None, after: WorkerHealth | None) -> "Tally":
        """After one worker's health changed; None stands for one that came or went."""
        return self._plus(before, -1)._plus(after, 1)

    def _plus(self, health: WorkerHealth | None, count: int) -> "Tally":
        if health is None:
            return self
        return Tally(
            self.checked + count,
            self.failing + (count if health.failures else 0),
            self.answered + (count if health.answered_at is not None else 0),
            self.failed + (count if health.failures >= health.limit else 0),
        )


def find_doubt(tally: Tally) -> str:
    """Why failures among these workers prove nothing; empty when they do.

    Workers that all fail at once have one thing in common: whoever checks them.
    """
    failing, checked = tally.failing, tally.checked
    if not failing:
        return ""
    if not tally.answered:
        return "no health check was ever answered: are port and path right, and may Mooring reach the pods?"
    if failing == checked > 1 or (failing >= MASS_FAILURE and failing * 2 > checked):
        return f"{failing} of {checked} workers fail their health checks at once: it may be our own network"
    return ""


def suspend(health: WorkerHealth, doubt: str) -> WorkerHealth:
    """The same, with what holds its failures back."""
    return health if health.suspended == doubt else msgspec.structs.replace(health, suspended=doubt)


def prove_lost(worker: Worker, node: Node | None, health: WorkerHealth | None) -> tuple[str, str] | None:
    """Two independent proofs that what ran in a worker is gone, though somebody holds it; None while there is doubt.

    While it drains it may be too busy with its last session to answer: then its grace decides, not its health.
    """
    if worker.phase == "Failed" and worker.ended and worker.terminating_since is None:
        return "its pod has failed, and a failed pod never runs again", worker.ended
    if health is None or not health.failed:
        return None
    confirmed = _confirm(worker, node, health)
    return (health.summary, confirmed) if confirmed else None


def _confirm(worker: Worker, node: Node | None, health: WorkerHealth) -> str:
    """What the cluster says of a worker that fails its checks; empty when it does not agree."""
    last = health.last
    assert last is not None
    if worker.terminating_since is not None:
        due = worker.deletion_due
        if due is not None and last.at > due + timedelta(seconds=OVERDUE_SECONDS):
            return f"its grace ended at {due:%H:%M:%SZ}"
        return ""
    if worker.node and node is None:
        return f"its node {worker.node} no longer exists"
    if node is None or node.draining_because:
        return ""
    if not node.ready:
        since = node.ready_since
        if since is not None and last.at - since >= timedelta(seconds=NODE_SILENCE_SECONDS):
            return f"its node {node.name} is not Ready since {since:%H:%M:%SZ}"
        return ""
    if worker.ended:
        return worker.ended
    # A worker that is only slow fails our check and its kubelet's probe alike: those two are not independent.
    if not worker.ready and last.refused:
        return "its pod is not Ready, and nobody listens on its port"
    return ""
