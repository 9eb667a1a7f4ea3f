"""Which state a worker is in, and why: one function, used by planners, pages and the terminal alike."""

from collections.abc import Collection, Mapping

from mooring.model.claim import Claim, ClaimState
from mooring.model.node import Node
from mooring.model.why import Why
from mooring.model.worker import ClassifiedWorker, Worker, WorkerState


def classify_worker(worker: Worker, nodes: Mapping[str, Node], claims: Collection[Claim] = ()) -> ClassifiedWorker:
    """The state of a worker from what the cluster and the ledger say, most serious first."""
    node = nodes.get(worker.node) if worker.node else None
    held = _claimed(claims) if claims else _stamped(worker)
    return _classified(worker, node, len(claims), held)


def classify_held(worker: Worker, node: Node | None, live_claims: int) -> ClassifiedWorker:
    """The same for those who know only how many live claims there are: to them all that is held is busy."""
    held = (WorkerState.BUSY, Why("held", f"{live_claims} live claim(s)")) if live_claims else _stamped(worker)
    return _classified(worker, node, live_claims, held)


def _classified(worker: Worker, node: Node | None, live: int, held: tuple[WorkerState, Why] | None) -> ClassifiedWorker:
    state, why = _ending(worker, node, live) or held or _coming(worker, node)
    return ClassifiedWorker(worker, state, why, live, worker.ready_since if state is WorkerState.IDLE else None)


def _ending(worker: Worker, node: Node | None, live: int) -> tuple[WorkerState, Why] | None:
    if worker.terminating_since is not None:
        held = f", finishing {live} session(s)" if live else ""
        stuck = f"; waits for finalizers {', '.join(worker.finalizers)}" if worker.finalizers else ""
        message = f"the pod is terminating{held}{stuck}"
        return WorkerState.DRAINING, Why(
            "terminating", message, worker.terminating_since, next_check=worker.deletion_due
        )
    if worker.phase == "Failed":
        return WorkerState.LOST, Why("pod_failed", worker.waiting_message or "the pod's containers failed")
    if worker.phase == "Succeeded":
        return WorkerState.DRAINING, Why("pod_finished", "the pod's containers ended")
    if worker.node and node is None:
        return WorkerState.LOST, Why("node_gone", f"its node {worker.node} no longer exists")
    if node is not None and (because := node.draining_because):
        return WorkerState.DRAINING, Why("node_draining", f"{because} ({node.name})")
    return None


def _claimed(claims: Collection[Claim]) -> tuple[WorkerState, Why]:
    running = [claim for claim in claims if claim.state is ClaimState.RUNNING]
    owners = ", ".join(sorted({claim.owner for claim in claims}))
    since = min((claim.claimed_at for claim in claims if claim.claimed_at), default=None)
    if running:
        return WorkerState.BUSY, Why("running", f"runs {len(running)} session(s) of {owners}", since)
    return WorkerState.CLAIMED, Why("claimed", f"claimed by {owners}, not running yet", since)


def _stamped(worker: Worker) -> tuple[WorkerState, Why] | None:
    if worker.stamp is None:
        return None
    message = f"stamped for {worker.stamp.owner or 'nobody'} without a live claim in the ledger"
    return WorkerState.CLAIMED, Why("stamped", message, worker.stamp.stamped_at)


def _coming(worker: Worker, node: Node | None) -> tuple[WorkerState, Why]:
    if worker.ready:
        return WorkerState.IDLE, Why("ready", "ready and waiting for a claim", worker.ready_since)
    if worker.unschedulable:
        since = worker.unschedulable_since or worker.created_at
        return WorkerState.STARTING, Why("unschedulable", worker.unschedulable, since)
    if node is not None and not node.ready:
        return WorkerState.STARTING, Why("node_not_ready", f"its node {node.name} is not Ready", node.ready_since)
    if worker.waiting:
        message = f"{worker.waiting}: {worker.waiting_message}" if worker.waiting_message else worker.waiting
        return WorkerState.STARTING, Why("waiting", message, worker.created_at)
    if not worker.node:
        return WorkerState.STARTING, Why("scheduling", "waits for a node", worker.created_at)
    return WorkerState.STARTING, Why("starting", f"its containers are starting on {worker.node}", worker.created_at)
