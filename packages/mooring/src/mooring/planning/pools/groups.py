"""The workers of a pool, grouped by what matters for its floor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mooring.model.worker import ClassifiedWorker, Worker, WorkerState
from mooring.planning.pools.returned import is_returned, keeps_tenants
from mooring.planning.pools.snapshot import PoolSnapshot
from mooring.planning.quarantine import describe_failed_start
from mooring.planning.workers import SILENT, UNHEALTHY, mark_silent


@dataclass(frozen=True, slots=True)
class WorkerGroups:
    """The pool's workers, grouped by what matters for the floor."""

    classified: tuple[ClassifiedWorker, ...]
    current: tuple[ClassifiedWorker, ...]  # idle, of the current template
    outdated: tuple[ClassifiedWorker, ...]  # idle, of an older template
    leaving: tuple[ClassifiedWorker, ...]  # unclaimed, on a draining node
    finished: tuple[ClassifiedWorker, ...]
    unhealthy: tuple[ClassifiedWorker, ...]  # unclaimed, lost by failed health checks
    silent: tuple[ClassifiedWorker, ...]  # idle, and silent: they get no session
    stuck: tuple[ClassifiedWorker, ...]  # not started yet, and better created anew: `describe_stuck` has the reasons
    returned: tuple[ClassifiedWorker, ...]  # idle, kept for the owner of their last session
    starting: tuple[ClassifiedWorker, ...]
    counts: Mapping[WorkerState, int]  # workers by state
    terminating: int
    coming: int  # will become idle without further action
    occupied: int  # slots in use, including terminating and in-flight workers

    @property
    def idle(self) -> int:
        return len(self.current) + len(self.outdated)


def group_workers(snapshot: PoolSnapshot) -> WorkerGroups:
    """Group the workers of the pool. Most are busy or idle; little is read of these.

    A large fleet does not fit into the processor's cache: each look at every worker is paid for.
    """
    leaving: list[ClassifiedWorker] = []
    finished: list[ClassifiedWorker] = []
    unhealthy: list[ClassifiedWorker] = []
    stuck: list[ClassifiedWorker] = []
    starting: list[ClassifiedWorker] = []
    coming = terminating = 0
    classified = _with_silence(snapshot)
    idle = _group_idle(snapshot, classified)
    deleting = snapshot.in_flight.deleting
    for item in classified:
        state = item.state
        if state is WorkerState.BUSY or state is WorkerState.IDLE or state is WorkerState.CLAIMED:
            continue
        if state is WorkerState.STARTING:
            starting.append(item)
        worker = item.worker
        if worker.terminating_since is not None:
            terminating += 1
            continue
        if worker.uid in deleting:
            continue
        unheld = not item.live_claims and worker.stamp is None and (worker.unproven_since is None or worker.finished)
        if worker.finished:
            if unheld:
                finished.append(item)
        elif item.why.code == UNHEALTHY and unheld:
            unhealthy.append(item)
        elif state is WorkerState.DRAINING and unheld:
            leaving.append(item)
        elif state is WorkerState.STARTING and describe_stuck(snapshot, worker):
            stuck.append(item)
        elif state is WorkerState.STARTING and item.why.code != "node_not_ready":
            coming += 1
    unseen = snapshot.in_flight.creating
    if unseen:  # mostly there are none: then no name is read
        unseen = unseen.difference(worker.name for worker in snapshot.workers)
    return WorkerGroups(
        classified,
        tuple(idle.current),
        tuple(idle.outdated),
        tuple(leaving),
        tuple(finished),
        tuple(unhealthy),
        tuple(idle.silent),
        tuple(stuck),
        tuple(idle.returned),
        tuple(starting),
        _count(classified),
        terminating,
        coming + len(unseen),
        len(classified) + len(unseen),
    )


class _Idle(NamedTuple):
    current: list[ClassifiedWorker]
    outdated: list[ClassifiedWorker]
    silent: list[ClassifiedWorker]
    returned: list[ClassifiedWorker]


def _group_idle(snapshot: PoolSnapshot, classified: Sequence[ClassifiedWorker]) -> _Idle:
    """An idle worker is not terminating, finished or stamped: it would have another state."""
    groups = _Idle([], [], [], [])
    spec, deleting, wanted = snapshot.pool.spec, snapshot.in_flight.deleting, snapshot.spec_hash
    any_silent, keeps = bool(snapshot.silence.seconds), keeps_tenants(spec)
    for item in classified:
        if item.state is not WorkerState.IDLE or (deleting and item.worker.uid in deleting):
            continue
        if any_silent and item.why.code == SILENT:
            groups.silent.append(item)
        elif keeps and is_returned(spec, item):
            groups.returned.append(item)
        else:
            (groups.current if item.worker.spec_hash == wanted else groups.outdated).append(item)
    return groups


def _with_silence(snapshot: PoolSnapshot) -> tuple[ClassifiedWorker, ...]:
    """The workers, with idle ones that have stopped to poll marked."""
    silent = snapshot.silence.seconds
    if not silent:
        return snapshot.classified
    return tuple(
        mark_silent(item, silent[item.worker.uid])
        if item.state is WorkerState.IDLE and item.worker.uid in silent
        else item
        for item in snapshot.classified
    )


def _count(workers: tuple[ClassifiedWorker, ...]) -> dict[WorkerState, int]:
    """Workers by state, compared by identity: hashing an enumeration costs more than six passes over a list."""
    states = [item.state for item in workers]
    return {state: states.count(state) for state in WorkerState}


def describe_stuck(snapshot: PoolSnapshot, worker: Worker) -> str:
    """Why a starting worker should be replaced; empty if it should not."""
    node = snapshot.nodes.get(worker.node)
    if worker.spec_hash != snapshot.spec_hash and (node is None or node.ready):
        # It may fail for what the new template corrects, and then it never becomes idle, when it would be replaced.
        return "it has not started, and its template is older than the pool's"
    avoid = frozenset(snapshot.placed.avoid)
    if worker.node in avoid & snapshot.quarantined.keys() and (failure := describe_failed_start(worker)):
        return f"it does not start ({failure}) on {worker.node}, which is quarantined"
    # It does not fit on the nodes that drain either, or it would be there.
    staying = {name for name, node in snapshot.nodes.items() if not node.draining_because}
    if worker.unschedulable and not worker.node and worker.avoids & staying != avoid & staying:
        return "it waits for a node, and the set of quarantined nodes has changed since it was created"
    placed = snapshot.placed
    outdated = placed.settled and not placed.problem and worker.placement not in ("", placed.fingerprint)
    if worker.unschedulable and not worker.node and outdated:
        return "it waits for a node on terms that its node pool has changed since"
    return ""
