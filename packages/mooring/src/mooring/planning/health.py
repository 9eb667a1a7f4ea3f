"""What failed health checks prove.

In the incident drift-roll the control plane took three failed checks as proof of death and deleted 31 workers in the
middle of their queries. Failed checks alone therefore only end workers without a claim. A worker with a claim is given
up only if the cluster confirms from its own observation that nothing runs there any more.
"""

from dataclasses import dataclass
from datetime import timedelta

import msgspec

from mooring.model.health import KEPT_CHECKS, Check, WorkerHealth
from mooring.model.moments import later
from mooring.model.node import Node
from mooring.model.proof import Proofs, by_cluster, by_worker
from mooring.model.worker import Worker

NODE_SILENCE_SECONDS = 60.0  # a node that is NotReady for a shorter time may recover
OVERDUE_SECONDS = 30.0  # a kubelet may end a pod a little after its grace period
MASS_FAILURE = 3  # from this number on, if more than half fail, the cause is probably the checker or its network


def record_check(before: WorkerHealth, check: Check, limit: int) -> WorkerHealth:
    """The health after one more check. One good answer resets the failure count."""
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
class HealthCounts:
    """Counts of workers: checked, failed the last check, answered at least once, reached the failure threshold.

    Mass failures are detected from the last check of each worker. Checks are spread over time: when the network breaks,
    some workers reach their failure threshold before the others have failed at all.
    """

    checked: int = 0
    failing: int = 0
    answered: int = 0
    failed: int = 0

    def replace(self, before: WorkerHealth | None, after: WorkerHealth | None) -> "HealthCounts":
        """The counts after one worker's health changed; None stands for a worker that appeared or disappeared."""
        return self._plus(before, -1)._plus(after, 1)

    def _plus(self, health: WorkerHealth | None, count: int) -> "HealthCounts":
        if health is None:
            return self
        return HealthCounts(
            self.checked + count,
            self.failing + (count if health.failures else 0),
            self.answered + (count if health.answered_at is not None else 0),
            self.failed + (count if health.failures >= health.limit else 0),
        )


def find_doubt(counts: HealthCounts) -> str:
    """Why failed checks of these workers prove nothing; empty if they do.

    If many workers fail at once, the cause is probably what they have in common: the checker.
    """
    failing, checked = counts.failing, counts.checked
    if not failing:
        return ""
    if not counts.answered:
        return "no health check was ever answered: are port and path right, and may Mooring reach the pods?"
    if failing == checked > 1 or (failing >= MASS_FAILURE and failing * 2 > checked):
        return f"{failing} of {checked} workers fail their health checks at once: it may be our own network"
    return ""


def suspend(health: WorkerHealth, doubt: str) -> WorkerHealth:
    """The same health, with the reason why its failures are not counted."""
    return health if health.suspended == doubt else msgspec.structs.replace(health, suspended=doubt)


def prove_lost(worker: Worker, node: Node | None, health: WorkerHealth | None) -> Proofs | None:
    """Two independent proofs that a claimed worker no longer runs; None while there is doubt.

    A draining worker may be too busy with its last session to answer. Its grace period decides, not its health.
    """
    if worker.phase == "Failed" and worker.ended and worker.terminating_since is None:
        return by_cluster("its pod has failed, and a failed pod never runs again"), by_worker(worker.ended)
    if health is None or not health.failed:
        return None
    confirmed = _confirm(worker, node, health)
    return (by_worker(health.summary), by_cluster(confirmed)) if confirmed else None


def _confirm(worker: Worker, node: Node | None, health: WorkerHealth) -> str:
    """The cluster's confirmation for a worker that fails its checks; empty if there is none."""
    last = health.last
    assert last is not None
    if worker.terminating_since is not None:
        due = worker.deletion_due
        if due is not None and last.at > later(due, OVERDUE_SECONDS):
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
    # A slow worker fails both our check and its kubelet's probe, so these two are not independent.
    if not worker.ready and last.refused:
        return "its pod is not Ready, and its port refuses connections"
    return ""
