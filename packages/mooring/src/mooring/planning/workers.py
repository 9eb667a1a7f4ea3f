"""The state of a worker and its reason. Planners, pages and the terminal all use this classification."""

import re
from collections.abc import Collection, Mapping
from datetime import datetime

from msgspec.structs import replace

from mooring.model.claim import Claim, ClaimState
from mooring.model.health import WorkerHealth
from mooring.model.node import Node
from mooring.model.time_format import describe_moment
from mooring.model.why import Why
from mooring.model.worker import ClassifiedWorker, Worker, WorkerState
from mooring.planning.health import prove_lost

UNHEALTHY = "unhealthy"
SILENT = "silent"
STAMPED = "stamped"
_OWN_NAME = re.compile(r" pod=\S+")  # in messages of kubelets: it makes equal reasons differ
READY = "ready and waiting for a claim"  # one text for the thousands of workers that are


Judgement = tuple[WorkerState, Why]


def classify_worker(
    worker: Worker,
    nodes: Mapping[str, Node],
    claims: Collection[Claim] = (),
    health: WorkerHealth | None = None,
    node_gone_since: datetime | None = None,
) -> ClassifiedWorker:
    """The state of a worker, from the cluster, the ledger and its health checks; the most serious state wins."""
    node = nodes.get(worker.node) if worker.node else None
    held = _claimed(claims, health) if claims else _stamped(worker, health) or _unproven(worker, health)
    ending = _ending(worker, node, len(claims), claims, node_gone_since)
    return _classified(worker, node, len(claims), ending, held, health)


def classify_held(
    worker: Worker, node: Node | None, live_claims: int, health: WorkerHealth | None = None
) -> ClassifiedWorker:
    """The same, if only the number of live claims is known. Every claimed worker then counts as busy."""
    held = _held(worker, live_claims) if live_claims else _stamped(worker, health) or _unproven(worker, health)
    return _classified(worker, node, live_claims, _ending(worker, node, live_claims), held, health)


def _classified(
    worker: Worker,
    node: Node | None,
    live: int,
    ending: Judgement | None,
    held: Judgement | None,
    health: WorkerHealth | None,
) -> ClassifiedWorker:
    state, why = _gone(worker, node, live, health) or ending or held or _coming(worker, node, health)
    return ClassifiedWorker(worker, state, why, live, worker.ready_since if state is WorkerState.IDLE else None)


def _gone(worker: Worker, node: Node | None, live: int, health: WorkerHealth | None) -> Judgement | None:
    """Lost by failed health checks.

    A draining worker keeps its grace period; one on a NotReady node follows its node.
    """
    if health is None or not health.failed:
        return None
    if live or worker.stamp is not None or worker.unproven_since is not None:
        proofs = prove_lost(worker, node, health)
        message = "; ".join(proof.statement for proof in proofs) if proofs else ""
    else:
        stays = worker.terminating_since is None and not worker.finished and node is not None and node.ready
        message = health.summary if stays else ""
    return (WorkerState.LOST, Why(UNHEALTHY, message, health.failing_since or _settled(worker))) if message else None


def _ending(
    worker: Worker,
    node: Node | None,
    live: int,
    claims: Collection[Claim] = (),
    node_gone_since: datetime | None = None,
) -> Judgement | None:
    if worker.terminating_since is not None:
        stuck = f"; waits for finalizers {', '.join(worker.finalizers)}" if worker.finalizers else ""
        message = f"the pod is terminating{_finishing(live)}{stuck}"
        blockers = (*_sessions(worker, claims), *(f"finalizer {name}" for name in worker.finalizers))
        why = Why("terminating", message, worker.terminating_since, blockers, worker.deletion_due)
        return WorkerState.DRAINING, why
    if worker.phase == "Failed":
        message = worker.waiting_message or "the pod's containers failed"
        return WorkerState.LOST, Why("pod_failed", message, worker.finished_at or _settled(worker))
    if worker.phase == "Succeeded":
        since = worker.finished_at or _settled(worker)
        return WorkerState.DRAINING, Why("pod_finished", "the pod's containers ended", since)
    if worker.node and node is None:
        since = node_gone_since or _settled(worker)
        return WorkerState.LOST, Why("node_gone", f"its node {worker.node} no longer exists", since)
    if node is not None and (because := node.draining_because):
        return WorkerState.DRAINING, Why(
            code="node_draining",
            message=f"{because} ({node.name}){_finishing(live)}",
            since=node.draining_since or _settled(worker),
            blockers=_sessions(worker, claims),
            next_check=max((claim.protected_until for claim in claims if claim.protected_until), default=None),
            fix=f"mooring drain-check {node.name}",
        )
    return None


def _finishing(live: int) -> str:
    return f", finishing {live} session(s)" if live else ""


def _settled(worker: Worker) -> datetime:
    """When the pod last changed its state, as far as its status says."""
    return worker.unready_since or worker.ready_since or worker.created_at


def _sessions(worker: Worker, claims: Collection[Claim]) -> tuple[str, ...]:
    """The sessions that a draining worker waits for; from its stamp if its claims are unknown."""
    if not claims and worker.stamp is not None:
        since = describe_moment(worker.stamp.stamped_at or _settled(worker))
        return (f"claim/{worker.stamp.claim} of {worker.stamp.owner or 'no owner'}, stamped since {since}",)
    return tuple(_session(claim) for claim in claims)


def _session(claim: Claim) -> str:
    running = claim.state is ClaimState.RUNNING
    since = (claim.running_at if running else claim.claimed_at) or claim.created_at
    until = claim.protected_until
    protection = f"protected until {describe_moment(until)}" if until is not None else "not protected"
    return f"claim/{claim.id} of {claim.owner}, {claim.state.value} since {describe_moment(since)}, {protection}"


def _claimed(claims: Collection[Claim], health: WorkerHealth | None) -> Judgement:
    running = [claim for claim in claims if claim.state is ClaimState.RUNNING]
    owners = ", ".join(sorted({claim.owner for claim in claims}))
    since = min(claim.claimed_at or claim.created_at for claim in claims)
    if running:
        return WorkerState.BUSY, Why("running", f"runs {len(running)} session(s) of {owners}{_unwell(health)}", since)
    return WorkerState.CLAIMED, Why("claimed", f"claimed by {owners}, not running yet{_unwell(health)}", since)


def _held(worker: Worker, live: int) -> Judgement:
    since = worker.stamp.stamped_at if worker.stamp is not None else None
    return WorkerState.BUSY, Why("held", f"{live} live claim(s)", since or _settled(worker))


def _stamped(worker: Worker, health: WorkerHealth | None) -> Judgement | None:
    if worker.stamp is None:
        return None
    message = f"stamped for {worker.stamp.owner or 'no owner'} without a live claim in the ledger{_unwell(health)}"
    since = worker.stamp.stamped_at or _settled(worker)
    return WorkerState.CLAIMED, Why(STAMPED, message, since, fix=retire_command(worker))


def _unproven(worker: Worker, health: WorkerHealth | None) -> Judgement | None:
    """An adopted worker may run a session that nobody here knows of."""
    if worker.unproven_since is None:
        return None
    key = f"{worker.namespace}/{worker.pool}"
    return WorkerState.BUSY, Why(
        code="adopted",
        message=f"adopted; a session from before may still run{_unwell(health)}",
        since=worker.unproven_since,
        fix=f"mooring adopt --pool {key} --selector mooring.dev/worker={worker.name} --idle --reason 'it is idle'",
    )


def _unwell(health: WorkerHealth | None) -> str:
    return f"; {health.summary}, but it may still work" if health is not None and health.failed else ""


def _coming(worker: Worker, node: Node | None, health: WorkerHealth | None) -> Judgement:
    if worker.ready:
        doubted = health is not None and health.suspended and health.failures >= health.limit
        doubt = f"; {health.summary}, which proves nothing: {health.suspended}" if health and doubted else ""
        last = f"; its last session was one of {worker.tenant}" if worker.tenant else ""
        since = worker.tenant_since or _settled(worker)
        return WorkerState.IDLE, Why("ready", f"{READY}{last}{doubt}" if last or doubt else READY, since)
    if worker.unschedulable:
        since = worker.unschedulable_since or worker.created_at
        return WorkerState.STARTING, Why("unschedulable", worker.unschedulable, since)
    if node is not None and not node.ready:
        since = node.ready_since or worker.created_at
        return WorkerState.STARTING, Why("node_not_ready", f"its node {node.name} is not Ready", since)
    if worker.waiting:
        said = _OWN_NAME.sub("", worker.waiting_message)
        message = f"{worker.waiting}: {said}" if said else worker.waiting
        return WorkerState.STARTING, Why("waiting", message, worker.created_at)
    if not worker.node:
        return WorkerState.STARTING, Why("scheduling", "waits for a node", worker.created_at)
    return WorkerState.STARTING, Why("starting", f"its containers are starting on {worker.node}", worker.created_at)


def retire_command(worker: Worker) -> str:
    """What a person types to delete the worker."""
    return f"mooring retire {worker.namespace}/{worker.name} --reason '...'"


def mark_silent(item: ClassifiedWorker, seconds: float | None) -> ClassifiedWorker:
    """The same idle worker, with the reason why it gets no session. None: no poll of it is known."""
    span = f"for {seconds:.0f} s" if seconds is not None else "lately"
    message = f"ready, but it has not polled {span}: it gets no session until it polls"
    return replace(item, why=replace(item.why, code=SILENT, message=message))
