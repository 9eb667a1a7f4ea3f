"""The plan for one pool: keep `warm` idle workers (invariant `warm-floor`).

A worker's name is its slot, `<pool>-<n>`. This makes over-creation impossible: with a stale cache, a lost answer or a
second control plane, the API server still refuses a slot name that is taken.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil

import msgspec

from mooring.model.moments import later
from mooring.model.pool import PoolStatus
from mooring.model.proof import Proof, Proofs, by_cluster, by_ledger, by_worker
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.actions import WARM_FLOOR, CreateWorker, Reason, RetireWorker, earliest
from mooring.planning.demand.headroom import NO_HEADROOM, HeadroomPlan, HeadroomSnapshot, plan_headroom
from mooring.planning.demand.plan import DemandPlan, DemandSnapshot, plan_demand
from mooring.planning.pools.conditions import compute_conditions
from mooring.planning.pools.groups import WorkerGroups, describe_stuck, group_workers
from mooring.planning.pools.returned import next_expiry, plan_returned
from mooring.planning.pools.silence import plan_silent, tell_silence
from mooring.planning.pools.snapshot import PoolSnapshot

ROLL_FRACTION = 0.1  # the share of `warm` that a template change replaces at a time
_UNCLAIMED = by_ledger("no live claim on it")


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Actions, status, and when to plan again."""

    creates: tuple[CreateWorker, ...]
    retires: tuple[RetireWorker, ...]
    status: PoolStatus
    workers: tuple[ClassifiedWorker, ...]
    wake_at: datetime | None
    reasons: tuple[Reason, ...]
    demand: DemandPlan | None = None
    headroom: HeadroomPlan = NO_HEADROOM


def plan_pool(snapshot: PoolSnapshot) -> PoolPlan:
    """Decide which workers to create and which to retire."""
    demand = _plan_demand(snapshot)
    if demand is not None and snapshot.pool.spec.follows_demand:
        snapshot = replace(snapshot, floor=demand.held.floor)
    fleet = group_workers(snapshot)
    reasons: list[Reason] = []
    creates: tuple[CreateWorker, ...] = ()
    retires: tuple[RetireWorker, ...] = ()
    if not snapshot.pool.terminating and not snapshot.problems:
        creates = _plan_creates(snapshot, fleet, reasons)
        retires = _plan_retires(snapshot, fleet)
        retires += plan_silent(snapshot, fleet.silent, full=fleet.occupied >= snapshot.pool.spec.max)
        _add_quarantine(snapshot, reasons)
        reasons += tell_silence(snapshot)
    headroom = _plan_headroom(snapshot, fleet)
    if demand is not None:
        demand = replace(demand, status=msgspec.structs.replace(demand.status, headroom=headroom.status))
    status = _status(snapshot, fleet, reasons, demand)
    reopened = earliest(*(quarantine.until for quarantine in snapshot.quarantined.values()))
    backoff_end = snapshot.backoff.until if snapshot.backoff else None
    expiry = next_expiry(fleet.returned, snapshot.pool.spec, snapshot.now)
    wake_at = earliest(_next_surplus(snapshot, fleet), expiry, backoff_end, reopened)
    return PoolPlan(creates, retires, status, fleet.classified, wake_at, tuple(reasons), demand, headroom)


def _plan_demand(snapshot: PoolSnapshot) -> DemandPlan | None:
    spec = snapshot.pool.spec
    if spec.demand is None or snapshot.problems:
        return None
    return plan_demand(
        DemandSnapshot(
            now=snapshot.now,
            demand=spec.demand,
            most=spec.max,
            slots=spec.slots,
            outlook=snapshot.outlook,
            held=snapshot.held_floor,
        )
    )


def _plan_headroom(snapshot: PoolSnapshot, fleet: WorkerGroups) -> HeadroomPlan:
    """Nothing is decided for a pool that goes, or whose spec or placement cannot be used."""
    pool, view = snapshot.pool, snapshot.headroom
    if pool.terminating or snapshot.problems:
        return NO_HEADROOM
    if pool.spec.demand is None and not view.placeholders:
        return NO_HEADROOM
    return plan_headroom(
        HeadroomSnapshot(
            now=snapshot.now,
            pool=pool.name,
            demand=pool.spec.demand,
            spec_hash=view.spec_hash,
            placeholders=view.placeholders,
            room=pool.spec.max - fleet.occupied,
            outlook=snapshot.outlook,
            held=snapshot.held,
            problem=view.problem(snapshot.placed),
            blocked=bool(snapshot.placed.problem) or (view.backoff is not None and snapshot.now < view.backoff.until),
        )
    )


def _target(snapshot: PoolSnapshot) -> int:
    return snapshot.warm + snapshot.queued


def _roll_batch(snapshot: PoolSnapshot) -> int:
    return max(1, ceil(snapshot.warm * ROLL_FRACTION))


def _plan_creates(snapshot: PoolSnapshot, fleet: WorkerGroups, reasons: list[Reason]) -> tuple[CreateWorker, ...]:
    rolled = min(len(fleet.outdated), _roll_batch(snapshot))
    wanted = _target(snapshot) - (fleet.idle - rolled) - fleet.coming
    if wanted <= 0:
        return ()
    room = snapshot.pool.spec.max - fleet.occupied
    if room <= 0:
        queued = f"{snapshot.queued} claims queued" if snapshot.queued != 1 else "1 claim queued"
        wish = queued if snapshot.queued else f"{wanted} more wanted"
        reasons.append(Reason("at_max", f"at max ({fleet.occupied} of {snapshot.pool.spec.max}): {wish}"))
        return ()
    if snapshot.placed.problem:
        reasons.append(Reason("no_placement", snapshot.placed.problem, snapshot.placed.fix))
        return ()
    if snapshot.backoff is not None:
        reasons.append(Reason("create_failed", snapshot.backoff.message))
        if snapshot.now < snapshot.backoff.until:
            return ()
    return tuple(CreateWorker(name, snapshot.spec_hash) for name in _free_names(snapshot, min(wanted, room)))


def _add_quarantine(snapshot: PoolSnapshot, reasons: list[Reason]) -> None:
    for name in snapshot.placed.avoid:
        quarantine = snapshot.quarantined.get(name)
        if quarantine is None:  # it drains, and its own reason is in the list of nodes
            continue
        until = quarantine.until.strftime("%H:%M:%SZ")
        reasons.append(Reason("quarantined", f"{name} gets no new workers until {until}: {quarantine.reason}"))


def _free_names(snapshot: PoolSnapshot, count: int) -> list[str]:
    used = {worker.name for worker in snapshot.workers} | snapshot.in_flight.creating | snapshot.in_flight.taken
    names: list[str] = []
    # Only slots below `max`, plus one for each slot that a foreign pod takes: the limit holds even with a stale view.
    for slot in range(snapshot.pool.spec.max + len(snapshot.in_flight.taken)):
        if len(names) == count:
            break
        name = f"{snapshot.pool.name}-{slot}"
        if name not in used:
            names.append(name)
    return names


def _plan_retires(snapshot: PoolSnapshot, fleet: WorkerGroups) -> tuple[RetireWorker, ...]:
    retires = [
        _retire(snapshot, item, item.why.message, 0.0, _proofs(by_cluster(f"phase is {item.worker.phase}")))
        for item in fleet.finished
    ]
    retires += [
        _retire(snapshot, item, item.why.message, 0.0, _proofs(by_worker(item.why.message))) for item in fleet.unhealthy
    ]
    for item in fleet.stuck:
        because = describe_stuck(snapshot, item.worker)
        retires.append(_retire(snapshot, item, because, 0.0, _proofs(by_cluster(because))))
    target = _target(snapshot)
    full = fleet.occupied >= snapshot.pool.spec.max
    floor_holds = fleet.idle >= target
    if floor_holds or full:
        retires += [
            _retire(snapshot, item, item.why.message, 0.0, _proofs(by_cluster(item.why.message)))
            for item in fleet.leaving
        ]
    retires += _plan_roll(snapshot, fleet, target, full)
    retires += _plan_surplus(snapshot, fleet, target)
    if fleet.returned:
        spec, missing = snapshot.pool.spec, _missing_room(snapshot, fleet)
        retires += plan_returned(fleet.returned, spec, snapshot.spec_hash, missing, snapshot.now, WARM_FLOOR)
    return tuple(retires)


def _missing_room(snapshot: PoolSnapshot, fleet: WorkerGroups) -> int:
    """How many workers are wanted and have no room below `max`, also when those that terminate are gone."""
    deleting = snapshot.in_flight.deleting
    going = sum(one.terminating_since is not None or one.uid in deleting for one in snapshot.workers)
    return _target(snapshot) - fleet.idle - fleet.coming - (snapshot.pool.spec.max - fleet.occupied) - going


def _plan_roll(snapshot: PoolSnapshot, fleet: WorkerGroups, target: int, full: bool) -> list[RetireWorker]:
    """Replace idle workers of an older template. Creates come first; without room in `max`, deletes come first."""
    batch = _roll_batch(snapshot)
    spare = fleet.idle - target
    allowed = min(batch, max(spare, 0))
    if full and fleet.coming == 0:
        allowed = max(allowed, min(batch, fleet.idle - target + batch))
    reason = "its template is older than the pool's"
    oldest = sorted(fleet.outdated, key=_idle_since)[: max(allowed, 0)]
    return [
        _retire(snapshot, item, reason, 0.0, _proofs(by_cluster(f"spec hash {item.worker.spec_hash} is not current")))
        for item in oldest
    ]


def _plan_surplus(snapshot: PoolSnapshot, fleet: WorkerGroups, target: int) -> list[RetireWorker]:
    spare = len(fleet.current) + len(fleet.outdated) - target - min(len(fleet.outdated), _roll_batch(snapshot))
    if spare <= 0 or snapshot.silence.doubt:  # without a poll, nobody knows which idle workers would serve
        return []
    idle_seconds = _idle_seconds(snapshot)
    due = later(snapshot.now, -idle_seconds)
    ripe = sorted([item for item in fleet.current if _idle_since(item) <= due], key=_idle_since)
    floor = float(idle_seconds)
    reason = f"{fleet.idle} idle, {target} wanted, idle for longer than {idle_seconds} s"
    proofs = _proofs(by_cluster("the floor is held without it"))  # the same for all, however many there are
    return [_retire(snapshot, item, reason, floor, proofs) for item in ripe[:spare]]


def _proofs(proof: Proof) -> Proofs:
    return _UNCLAIMED, proof


def _retire(snapshot: PoolSnapshot, item: ClassifiedWorker, reason: str, floor: float, proofs: Proofs) -> RetireWorker:
    age = (snapshot.now - _idle_since(item)).total_seconds()
    return RetireWorker(item.worker, WARM_FLOOR, reason, proofs, age, floor)


def _idle_since(item: ClassifiedWorker) -> datetime:
    return item.idle_since or item.worker.created_at


def _idle_seconds(snapshot: PoolSnapshot) -> int:
    """How long a surplus worker is kept. Where none returns, the floor came down, which took its time already."""
    spec = snapshot.pool.spec
    return 0 if spec.follows_demand and spec.reuse == "Never" else spec.idle_seconds


def _next_surplus(snapshot: PoolSnapshot, fleet: WorkerGroups) -> datetime | None:
    if fleet.idle <= _target(snapshot):
        return None
    idle_seconds = _idle_seconds(snapshot)
    due = later(snapshot.now, -idle_seconds)
    unripe = min((since for item in fleet.current if (since := _idle_since(item)) > due), default=None)
    return later(unripe, idle_seconds) if unripe is not None else None


def _status(
    snapshot: PoolSnapshot, fleet: WorkerGroups, reasons: list[Reason], demand: DemandPlan | None
) -> PoolStatus:
    counts = fleet.counts
    return PoolStatus(
        observed_generation=snapshot.pool.generation,
        replicas=len(fleet.classified) - fleet.terminating,
        idle=counts[WorkerState.IDLE],
        busy=counts[WorkerState.BUSY] + counts[WorkerState.CLAIMED],
        starting=counts[WorkerState.STARTING],
        draining=counts[WorkerState.DRAINING],
        lost=counts[WorkerState.LOST],
        queued=snapshot.queued,
        terminating=fleet.terminating,
        selector=f"mooring.dev/pool={snapshot.pool.name}",
        demand=demand.status if demand is not None else None,
        conditions=compute_conditions(snapshot, fleet, reasons, demand),
    )
