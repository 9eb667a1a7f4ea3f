"""The workers of a pool, grouped by what matters for its floor."""

from collections.abc import Mapping
from dataclasses import dataclass

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
    silent: tuple[ClassifiedWorker, ...]  # idle, and not heard: they get no session
    stuck: tuple[ClassifiedWorker, ...]  # cannot start on their node, or wait for a node with an outdated placement
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
    """Group the workers of the pool in one pass, which does not read the record of one that is busy or claimed.

    A large fleet does not fit into the processor's cache: each look at every worker is paid for.
    """
    current: list[ClassifiedWorker] = []
    outdated: list[ClassifiedWorker] = []
    leaving: list[ClassifiedWorker] = []
    finished: list[ClassifiedWorker] = []
    unhealthy: list[ClassifiedWorker] = []
    silent: list[ClassifiedWorker] = []
    stuck: list[ClassifiedWorker] = []
    returned: list[ClassifiedWorker] = []
    starting: list[ClassifiedWorker] = []
    coming = terminating = 0
    classified = _with_silence(snapshot)
    spec, deleting = snapshot.pool.spec, snapshot.in_flight.deleting
    keeps, wanted = keeps_tenants(spec), snapshot.spec_hash
    for item in classified:
        state = item.state
        if state is WorkerState.BUSY or state is WorkerState.CLAIMED:
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
        elif item.why.code == SILENT:
            silent.append(item)
        elif keeps and is_returned(spec, item):
            returned.append(item)
        elif state is WorkerState.IDLE:
            (current if worker.spec_hash == wanted else outdated).append(item)
        elif item.why.code == UNHEALTHY and unheld:
            unhealthy.append(item)
        elif state is WorkerState.DRAINING and unheld:
            leaving.append(item)
        elif state is WorkerState.STARTING and describe_stuck(snapshot, worker):
            stuck.append(item)
        elif state is WorkerState.STARTING and item.why.code != "node_not_ready":
            coming += 1
    unseen = snapshot.in_flight.creating - {worker.name for worker in snapshot.workers}
    return WorkerGroups(
        classified,
        tuple(current),
        tuple(outdated),
        tuple(leaving),
        tuple(finished),
        tuple(unhealthy),
        tuple(silent),
        tuple(stuck),
        tuple(returned),
        tuple(starting),
        _count(classified),
        terminating,
        coming + len(unseen),
        len(classified) + len(unseen),
    )


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
    avoid = frozenset(snapshot.placed.avoid)
    if worker.node in avoid and (failure := describe_failed_start(worker)):
        return f"it does not start ({failure}) on {worker.node}, which is quarantined"
    if worker.unschedulable and not worker.node and worker.avoids & snapshot.nodes.keys() != avoid:
        return "it waits for a node, and the set of quarantined nodes has changed since it was created"
    placed = snapshot.placed
    outdated = placed.settled and not placed.problem and worker.placement not in ("", placed.fingerprint)
    if worker.unschedulable and not worker.node and outdated:
        return "it waits for a node on terms that its node pool has changed since"
    return ""
