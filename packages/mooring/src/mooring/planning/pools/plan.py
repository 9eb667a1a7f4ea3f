"""The plan for one pool: keep `warm` idle workers (invariant `warm-floor`).

A worker's name is its slot, `<pool>-<n>`. This makes over-creation impossible: with a stale cache, a lost answer or a
second control plane, the API server still refuses a slot name that is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil

from mooring.model.health import WorkerHealth
from mooring.model.moments import later
from mooring.model.node import Node, NodeTemplate, Quarantine
from mooring.model.pool import Pool, PoolStatus
from mooring.model.preflight import Preflight
from mooring.model.proof import Proof, by_cluster, by_ledger, by_worker
from mooring.model.silence import NO_SILENCE, PoolSilence
from mooring.model.worker import ClassifiedWorker, Worker, WorkerState
from mooring.planning.actions import WARM_FLOOR, CreateWorker, Reason, RetireWorker, earliest
from mooring.planning.invariants.protection import ProtectionEnd
from mooring.planning.placement import Placed
from mooring.planning.pools.conditions import compute_conditions
from mooring.planning.pools.returned import is_returned, next_expiry, plan_returned
from mooring.planning.pools.silence import plan_silent, tell_silence
from mooring.planning.quarantine import describe_failed_start
from mooring.planning.workers import SILENT, UNHEALTHY, mark_silent

ROLL_FRACTION = 0.1  # the share of `warm` that a template change replaces at a time


@dataclass(frozen=True, slots=True)
class InFlight:
    """Own writes that the cache does not show yet."""

    creating: frozenset[str] = frozenset()  # names
    deleting: frozenset[str] = frozenset()  # uids
    taken: frozenset[str] = frozenset()  # names that are taken by foreign pods


@dataclass(frozen=True, slots=True)
class Backoff:
    """Creates failed; no create is tried until then."""

    failures: int
    until: datetime
    message: str


@dataclass(frozen=True, slots=True)
class LedgerView:
    """Which ledger the claims were read from; without an incarnation it could not be read."""

    incarnation: str = ""
    armed: bool = False


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """All that the decision may look at. `classified` has the state of each of `workers`, in their order."""

    now: datetime
    pool: Pool
    spec_hash: str
    workers: tuple[Worker, ...]
    classified: tuple[ClassifiedWorker, ...]
    nodes: Mapping[str, Node]
    placed: Placed
    held: Mapping[str, int] = field(default_factory=dict)  # live claims, by pod uid
    queued: int = 0
    in_flight: InFlight = InFlight()
    backoff: Backoff | None = None
    quarantined: Mapping[str, Quarantine] = field(default_factory=dict)  # by node name
    unhealthy: Mapping[str, WorkerHealth] = field(default_factory=dict)  # workers with failed checks, by pod uid
    problems: tuple[str, ...] = ()  # what is wrong with the spec
    fit: Preflight | None = None  # of one more worker, on nodes as if they were empty
    templates: tuple[NodeTemplate, ...] = ()  # nodes that Karpenter makes
    node_claims_known: bool = True  # whether a node without `drain_bound` has no NodeClaim
    protected: Mapping[str, int] = field(default_factory=dict)  # workers of all pools, by unbounded node
    ends: tuple[ProtectionEnd, ...] = ()  # of protection, near or passed
    ledger: LedgerView = LedgerView()
    silence: PoolSilence = NO_SILENCE  # of idle workers that poll


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Actions, status, and when to plan again."""

    creates: tuple[CreateWorker, ...]
    retires: tuple[RetireWorker, ...]
    status: PoolStatus
    workers: tuple[ClassifiedWorker, ...]
    wake_at: datetime | None
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class _Fleet:
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
    coming: int  # will become idle without further action
    occupied: int  # slots in use, including terminating and in-flight workers

    @property
    def idle(self) -> int:
        return len(self.current) + len(self.outdated)


def plan_pool(snapshot: PoolSnapshot) -> PoolPlan:
    """Decide which workers to create and which to retire."""
    fleet = _sort(snapshot)
    reasons: list[Reason] = []
    creates: tuple[CreateWorker, ...] = ()
    retires: tuple[RetireWorker, ...] = ()
    if not snapshot.pool.terminating and not snapshot.problems:
        creates = _plan_creates(snapshot, fleet, reasons)
        retires = _plan_retires(snapshot, fleet)
        retires += plan_silent(snapshot, fleet.silent, full=fleet.occupied >= snapshot.pool.spec.max)
        _tell_quarantine(snapshot, reasons)
        reasons += tell_silence(snapshot)
    status = _status(snapshot, fleet, reasons)
    reopened = earliest(*(quarantine.until for quarantine in snapshot.quarantined.values()))
    backoff_end = snapshot.backoff.until if snapshot.backoff else None
    expiry = next_expiry(fleet.returned, snapshot.pool.spec, snapshot.now)
    wake_at = earliest(_next_surplus(snapshot, fleet), expiry, backoff_end, reopened)
    return PoolPlan(creates, retires, status, fleet.classified, wake_at, tuple(reasons))


def _sort(snapshot: PoolSnapshot) -> _Fleet:
    current: list[ClassifiedWorker] = []
    outdated: list[ClassifiedWorker] = []
    leaving: list[ClassifiedWorker] = []
    finished: list[ClassifiedWorker] = []
    unhealthy: list[ClassifiedWorker] = []
    silent: list[ClassifiedWorker] = []
    stuck: list[ClassifiedWorker] = []
    returned: list[ClassifiedWorker] = []
    coming = 0
    classified = tuple(_with_silence(snapshot, item) for item in snapshot.classified)
    for item in classified:
        worker = item.worker
        if worker.uid in snapshot.in_flight.deleting or worker.terminating_since is not None:
            continue
        unheld = not item.live_claims and worker.stamp is None and (worker.unproven_since is None or worker.finished)
        if worker.finished:
            if unheld:
                finished.append(item)
        elif item.why.code == SILENT:
            silent.append(item)
        elif is_returned(snapshot.pool.spec, item):
            returned.append(item)
        elif item.state is WorkerState.IDLE:
            (current if worker.spec_hash == snapshot.spec_hash else outdated).append(item)
        elif item.why.code == UNHEALTHY and unheld:
            unhealthy.append(item)
        elif item.state is WorkerState.DRAINING and unheld:
            leaving.append(item)
        elif item.state is WorkerState.STARTING and _stuck_because(snapshot, worker):
            stuck.append(item)
        elif item.state is WorkerState.STARTING and item.why.code != "node_not_ready":
            coming += 1
    unseen = snapshot.in_flight.creating - {worker.name for worker in snapshot.workers}
    return _Fleet(
        classified,
        tuple(current),
        tuple(outdated),
        tuple(leaving),
        tuple(finished),
        tuple(unhealthy),
        tuple(silent),
        tuple(stuck),
        tuple(returned),
        coming + len(unseen),
        len(classified) + len(unseen),
    )


def _with_silence(snapshot: PoolSnapshot, item: ClassifiedWorker) -> ClassifiedWorker:
    seconds = snapshot.silence.seconds.get(item.worker.uid)
    return item if seconds is None or item.state is not WorkerState.IDLE else mark_silent(item, seconds)


def _stuck_because(snapshot: PoolSnapshot, worker: Worker) -> str:
    """Why a starting worker should be replaced; empty if it should not."""
    avoid = frozenset(snapshot.placed.avoid)
    if worker.node in avoid and (failure := describe_failed_start(worker)):
        return f"it does not start ({failure}) on {worker.node}, which is quarantined"
    if worker.unschedulable and not worker.node and worker.avoids & snapshot.nodes.keys() != avoid:
        return "it waits for a node, and other nodes are quarantined now than when it was made"
    placed = snapshot.placed
    outdated = placed.settled and not placed.problem and worker.placement not in ("", placed.fingerprint)
    if worker.unschedulable and not worker.node and outdated:
        return "it waits for a node on terms that its node pool has changed since"
    return ""


def _target(snapshot: PoolSnapshot) -> int:
    return snapshot.pool.spec.warm + snapshot.queued


def _roll_batch(snapshot: PoolSnapshot) -> int:
    return max(1, ceil(snapshot.pool.spec.warm * ROLL_FRACTION))


def _plan_creates(snapshot: PoolSnapshot, fleet: _Fleet, reasons: list[Reason]) -> tuple[CreateWorker, ...]:
    rolled = min(len(fleet.outdated), _roll_batch(snapshot))
    wanted = _target(snapshot) - (fleet.idle - rolled) - fleet.coming
    if wanted <= 0:
        return ()
    room = snapshot.pool.spec.max - fleet.occupied
    if room < wanted:
        missing = wanted - max(room, 0)
        reasons.append(
            Reason("at_max", f"{missing} more wanted, but {fleet.occupied} of max {snapshot.pool.spec.max} exist")
        )
    if room <= 0:
        return ()
    if snapshot.placed.problem:
        reasons.append(Reason("no_placement", snapshot.placed.problem, snapshot.placed.fix))
        return ()
    if snapshot.backoff is not None and snapshot.now < snapshot.backoff.until:
        reasons.append(Reason("create_failed", snapshot.backoff.message))
        return ()
    names = _free_names(snapshot, min(wanted, room))
    return tuple(CreateWorker(name, snapshot.spec_hash) for name in names)


def _tell_quarantine(snapshot: PoolSnapshot, reasons: list[Reason]) -> None:
    for name in snapshot.placed.avoid:
        quarantine = snapshot.quarantined[name]
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


def _plan_retires(snapshot: PoolSnapshot, fleet: _Fleet) -> tuple[RetireWorker, ...]:
    retires = [
        _retire(snapshot, item, item.why.message, 0.0, by_cluster(f"phase is {item.worker.phase}"))
        for item in fleet.finished
    ]
    retires += [_retire(snapshot, item, item.why.message, 0.0, by_worker(item.why.message)) for item in fleet.unhealthy]
    for item in fleet.stuck:
        because = _stuck_because(snapshot, item.worker)
        retires.append(_retire(snapshot, item, because, 0.0, by_cluster(because)))
    target = _target(snapshot)
    full = fleet.occupied >= snapshot.pool.spec.max
    floor_holds = fleet.idle >= target
    if floor_holds or full:
        retires += [
            _retire(snapshot, item, item.why.message, 0.0, by_cluster(item.why.message)) for item in fleet.leaving
        ]
    retires += _plan_roll(snapshot, fleet, target, full)
    retires += _plan_surplus(snapshot, fleet, target)
    missing = _missing_room(snapshot, fleet)
    retires += plan_returned(fleet.returned, snapshot.pool.spec, snapshot.spec_hash, missing, snapshot.now, WARM_FLOOR)
    return tuple(retires)


def _missing_room(snapshot: PoolSnapshot, fleet: _Fleet) -> int:
    """How many workers are wanted and have no room below `max`, also when those that terminate are gone."""
    deleting = snapshot.in_flight.deleting
    going = sum(one.terminating_since is not None or one.uid in deleting for one in snapshot.workers)
    return _target(snapshot) - fleet.idle - fleet.coming - (snapshot.pool.spec.max - fleet.occupied) - going


def _plan_roll(snapshot: PoolSnapshot, fleet: _Fleet, target: int, full: bool) -> list[RetireWorker]:
    """Replace idle workers of an older template. Creates come first; without room in `max`, deletes come first."""
    batch = _roll_batch(snapshot)
    spare = fleet.idle - target
    allowed = min(batch, max(spare, 0))
    if full and fleet.coming == 0:
        allowed = max(allowed, min(batch, fleet.idle - target + batch))
    reason = "its template is older than the pool's"
    oldest = sorted(fleet.outdated, key=_idle_since)[: max(allowed, 0)]
    return [
        _retire(snapshot, item, reason, 0.0, by_cluster(f"spec hash {item.worker.spec_hash} is not current"))
        for item in oldest
    ]


def _plan_surplus(snapshot: PoolSnapshot, fleet: _Fleet, target: int) -> list[RetireWorker]:
    spare = len(fleet.current) + len(fleet.outdated) - target - min(len(fleet.outdated), _roll_batch(snapshot))
    if spare <= 0:
        return []
    due = later(snapshot.now, -snapshot.pool.spec.idle_seconds)
    ripe = sorted((item for item in fleet.current if _idle_since(item) <= due), key=_idle_since)
    floor = float(snapshot.pool.spec.idle_seconds)
    reason = f"{fleet.idle} idle, {target} wanted, idle for longer than {snapshot.pool.spec.idle_seconds} s"
    proof = by_cluster("the floor is held without it")
    return [_retire(snapshot, item, reason, floor, proof) for item in ripe[:spare]]


def _retire(snapshot: PoolSnapshot, item: ClassifiedWorker, reason: str, floor: float, proof: Proof) -> RetireWorker:
    age = (snapshot.now - _idle_since(item)).total_seconds()
    return RetireWorker(item.worker, WARM_FLOOR, reason, (by_ledger("no live claim on it"), proof), age, floor)


def _idle_since(item: ClassifiedWorker) -> datetime:
    return item.idle_since or item.worker.created_at


def _next_surplus(snapshot: PoolSnapshot, fleet: _Fleet) -> datetime | None:
    if fleet.idle <= _target(snapshot):
        return None
    idle_seconds = snapshot.pool.spec.idle_seconds
    due = later(snapshot.now, -idle_seconds)
    unripe = min((since for item in fleet.current if (since := _idle_since(item)) > due), default=None)
    return later(unripe, idle_seconds) if unripe is not None else None


def _status(snapshot: PoolSnapshot, fleet: _Fleet, reasons: list[Reason]) -> PoolStatus:
    counts = dict.fromkeys(WorkerState, 0)
    terminating = 0
    for item in fleet.classified:
        counts[item.state] += 1
        terminating += item.worker.terminating_since is not None
    return PoolStatus(
        observed_generation=snapshot.pool.generation,
        replicas=len(fleet.classified) - terminating,
        idle=counts[WorkerState.IDLE],
        busy=counts[WorkerState.BUSY] + counts[WorkerState.CLAIMED],
        starting=counts[WorkerState.STARTING],
        draining=counts[WorkerState.DRAINING],
        lost=counts[WorkerState.LOST],
        queued=snapshot.queued,
        terminating=terminating,
        selector=f"mooring.dev/pool={snapshot.pool.name}",
        conditions=compute_conditions(snapshot, fleet.classified, reasons),
    )
