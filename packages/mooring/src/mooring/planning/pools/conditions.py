"""The conditions of a pool."""

from collections.abc import Iterator, Sequence

from mooring.model.pool import PoolSpec
from mooring.model.why import Condition, merge_conditions
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.actions import Reason
from mooring.planning.demand.plan import DemandPlan
from mooring.planning.pools.groups import WorkerGroups
from mooring.planning.pools.protection_bound import compute_bound
from mooring.planning.pools.returned import is_returned, keeps_tenants
from mooring.planning.pools.snapshot import PoolSnapshot
from mooring.planning.workers import SILENT, STAMPED


def compute_conditions(
    snapshot: PoolSnapshot,
    fleet: WorkerGroups,
    reasons: Sequence[Reason],
    demand: DemandPlan | None = None,
) -> tuple[Condition, ...]:
    """Valid, Ready, Schedulable, ProtectionBounded, and with `spec.demand` DemandMet, Uncontested, HeadroomKept.

    Transition times are kept while a status does not change.
    """
    fresh = (
        _valid(snapshot),
        _ready(snapshot, fleet, reasons),
        _schedulable(snapshot, fleet),
        compute_bound(snapshot, fleet.classified),
        *(_of_demand(snapshot, demand) if demand is not None else ()),
    )
    now = snapshot.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return merge_conditions(snapshot.pool.status.conditions, fresh, now)


def _valid(snapshot: PoolSnapshot) -> Condition:
    generation = snapshot.pool.generation
    if snapshot.problems:
        return Condition("Valid", "False", "InvalidSpec", "; ".join(snapshot.problems), observed_generation=generation)
    return Condition("Valid", "True", "Accepted", "the spec is valid", observed_generation=generation)


def _of_demand(snapshot: PoolSnapshot, plan: DemandPlan) -> Iterator[Condition]:
    yield _demand_met(snapshot, plan)
    yield _uncontested(snapshot)
    headroom, generation = plan.status.headroom, snapshot.pool.generation
    if headroom is None:
        return
    counted = f"{headroom.holding} of {headroom.wanted} placeholder pods hold room on nodes"
    message = f"{counted}: {headroom.because}"
    if snapshot.outlook is None:
        yield Condition("HeadroomKept", "Unknown", "Learning", message, observed_generation=generation)
    elif snapshot.headroom.problem(snapshot.placed):
        yield Condition("HeadroomKept", "False", "CreateFailed", message, observed_generation=generation)
    elif headroom.holding < headroom.wanted:
        yield Condition("HeadroomKept", "False", "WaitsForNode", message, observed_generation=generation)
    else:
        yield Condition("HeadroomKept", "True", "RoomKept", message, observed_generation=generation)


def _uncontested(snapshot: PoolSnapshot) -> Condition:
    """Whether demand alone decides about the floor. The API server refuses what others write to it."""
    pool, others = snapshot.pool, snapshot.scaled_by
    if not others:
        message = "no autoscaler names this pool"
        return Condition("Uncontested", "True", "DemandDecides", message, observed_generation=pool.generation)
    message = (
        f"HorizontalPodAutoscaler {', '.join(sorted(others))} would scale this pool, whose floor follows spec.demand; "
        f"its writes are refused: kubectl -n {pool.namespace} delete hpa {' '.join(sorted(others))}  "
        "# with KEDA: delete the ScaledObject; or replace spec.demand by spec.warm"
    )
    return Condition("Uncontested", "False", "AutoscalerConflict", message, observed_generation=pool.generation)


def _demand_met(snapshot: PoolSnapshot, plan: DemandPlan) -> Condition:
    """Whether the floor is as large as the wait target asks for."""
    spec, generation = snapshot.pool.spec, snapshot.pool.generation
    message = plan.status.because
    if snapshot.outlook is None:
        return Condition("DemandMet", "Unknown", "Learning", message, observed_generation=generation)
    if not spec.follows_demand:
        message = f"dry run, spec.warm {spec.warm} stays in effect; demand asks for {message}"
        enough = spec.warm >= plan.held.floor
        return Condition("DemandMet", str(enough), "DryRun", message, observed_generation=generation)
    if plan.short:
        return Condition("DemandMet", "False", "AtMax", message, observed_generation=generation)
    return Condition("DemandMet", "True", "FollowsDemand", message, observed_generation=generation)


def _ready(snapshot: PoolSnapshot, fleet: WorkerGroups, reasons: Sequence[Reason]) -> Condition:
    generation, warm, spec = snapshot.pool.generation, snapshot.warm, snapshot.pool.spec
    workers, counts = fleet.classified, fleet.counts
    silent = sum(item.why.code == SILENT for item in workers) if snapshot.silence.seconds else 0
    kept = sum(item.why.code != SILENT and is_returned(spec, item) for item in workers) if keeps_tenants(spec) else 0
    away = silent + kept
    idle, starting = counts[WorkerState.IDLE] - away, counts[WorkerState.STARTING]
    unreached = bool(snapshot.silence.doubt)
    if idle >= warm and not (unreached and warm):
        return Condition("Ready", "True", "FloorHeld", f"at least {warm} idle", observed_generation=generation)
    said = (item.why for item in fleet.starting if item.why.code in ("waiting", "unschedulable"))
    waits = sorted({why.message for why in said})
    waits = [*([f"{silent} have stopped to poll"] if silent else []), *_describe_kept(spec, workers), *waits]
    text = [reason.message for reason in reasons] + waits[:3]
    counted = f"{idle} of {warm} idle, {'none of them polls' if unreached else f'{starting} starting'}"
    message = f"{'; '.join(text)} ({counted})" if text else counted
    code = "".join(part.capitalize() for part in reasons[0].code.split("_")) if reasons else "Starting"
    return Condition("Ready", "False", code, message, observed_generation=generation)


def _describe_kept(spec: PoolSpec, workers: Sequence[ClassifiedWorker]) -> list[str]:
    """Workers with a stamp but no live claim. If nothing proves them idle, only a person removes them."""
    stamped = sorted((item for item in workers if item.why.code == STAMPED), key=lambda item: item.worker.name)
    if not stamped or spec.effective_reclaim.policy == "Delete":
        return []
    return [f"{len(stamped)} stamped without a live claim, see {stamped[0].why.fix}"]


def _schedulable(snapshot: PoolSnapshot, fleet: WorkerGroups) -> Condition:
    generation = snapshot.pool.generation
    if snapshot.placed.problem:
        message = f"{snapshot.placed.problem}; {snapshot.placed.fix}"
        return Condition("Schedulable", "False", "NoPlacement", message, observed_generation=generation)
    fit = snapshot.fit
    advice = f" Fix: {fit.fix}" if fit is not None and fit.hopeless else ""
    held = [item for item in fleet.starting if item.why.code == "unschedulable"]
    if held:
        message = f"{len(held)} worker(s) held Pending: {held[0].why.message}{advice}"
        return Condition("Schedulable", "False", "Unschedulable", message, observed_generation=generation)
    if fit is not None and advice:
        message = f"{fit.sentence}{advice}"
        return Condition("Schedulable", "False", "NoNodeFits", message, observed_generation=generation)
    return Condition("Schedulable", "True", "Scheduled", "no worker waits for a node", observed_generation=generation)
