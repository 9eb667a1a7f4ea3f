"""Keep a dataset warm on live nodes: the invariant `warm-on-live-node`, snapshot in, plan out."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from mooring.model.evidence import Failure
from mooring.model.node import Node
from mooring.model.warm_job import Refusal, WarmJob, WarmPod
from mooring.model.warmup import AccessChange, Circuit, NodesVerdict, Phase, Rewarm, ShardState, Warmup, WarmupStatus
from mooring.planning.actions import earliest
from mooring.planning.warmups.assignment import PATIENCE, Assignment, plan_assignment
from mooring.planning.warmups.circuit import compute_circuit
from mooring.planning.warmups.jobs import access_hash, job_name, order_hash
from mooring.planning.warmups.nodes import Ground
from mooring.planning.warmups.rolling import Roll, plan_releases
from mooring.planning.warmups.staleness import Order, ReleaseJob, Sorted, Staleness, plan_stale_release
from mooring.planning.warmups.status import Scene, compute_conditions, compute_phase, compute_shards

MOST_CREATES = 50  # a pass


@dataclass(frozen=True, slots=True)
class WarmupSnapshot:
    """One dataset as it is now."""

    warmup: Warmup
    ground: Ground
    jobs: tuple[WarmJob, ...] = ()
    pods: Mapping[str, WarmPod] = field(default_factory=dict)  # by the Job's uid
    load: Mapping[str, int] = field(default_factory=dict)  # shards of other datasets, by node uid
    progress: Mapping[str, float] = field(default_factory=dict)  # by the Job's uid
    taken: Mapping[str, str] = field(default_factory=dict)  # names found taken by others
    refused: Mapping[str, Refusal] = field(default_factory=dict)  # names of Jobs that the cluster would not make
    hindered: Mapping[str, str] = field(default_factory=dict)  # why there is no pod, by the Job's uid
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateJob:
    """Make one Job. Its name is its shard: made twice, it is refused by the API server."""

    name: str
    shard: int
    node: Node
    order: Order


@dataclass(frozen=True, slots=True)
class WarmupPlan:
    """What to do, in this order: write the status, release, create."""

    status: WarmupStatus
    releases: tuple[ReleaseJob, ...] = ()
    creates: tuple[CreateJob, ...] = ()
    kept: tuple[str, ...] = ()
    failing: tuple[WarmJob, ...] = ()  # whose last words are wanted
    fetching: tuple[WarmJob, ...] = ()
    podless: tuple[WarmJob, ...] = ()
    wake_at: datetime | None = None


def plan_warmup(snapshot: WarmupSnapshot) -> WarmupPlan:
    """Decide which Jobs to release, which to make, and what to say."""
    warmup, ground = snapshot.warmup, snapshot.ground
    own = tuple(job for job in snapshot.jobs if job.owner_uid == warmup.uid)
    circuit = compute_circuit(warmup.status.circuit or Circuit(), own, warmup.close_request, ground.now)
    assignment = plan_assignment(warmup, own, ground, snapshot.load)
    access = compute_access(warmup, ground.now)
    rewarm = compute_rewarm(warmup, assignment, ground.now)
    order = _order(warmup, assignment, rewarm)
    found = plan_stale_release(snapshot.jobs, ground, order)
    found = _release_moved(found, assignment, ground, order)
    open_at = _open_at(snapshot, access)
    held = _held_because(snapshot, circuit, open_at)
    creates = () if held else _plan_creates(snapshot, assignment, order)
    present = {job.name for job in snapshot.jobs} | snapshot.taken.keys()
    roll = Roll(ground, assignment, order, own, present, held)
    scene = Scene(
        warmup=warmup,
        ground=ground,
        assignment=assignment,
        jobs=_jobs_of_shards(snapshot, order),
        stale={release.job.name: _explain(release, roll) for release in found.stale},
        pods=snapshot.pods,
        progress=snapshot.progress,
        taken={**snapshot.taken, **_blocked(found, order)},
        refused=snapshot.refused,
        hindered=snapshot.hindered,
        held_because=held,
    )
    shards = compute_shards(scene)
    working = bool(creates) or any(not job.finished for job in own)
    phase, reason = compute_phase(shards, assignment, circuit, working)
    if snapshot.problems:
        reason = "; ".join(snapshot.problems)
        phase = Phase.FAILED if phase is Phase.PENDING else phase
    now = ground.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    failed = {shard.job for shard in shards if shard.state == ShardState.FAILED}
    status = WarmupStatus(
        observed_generation=warmup.generation,
        phase=phase.value,
        reason=reason,
        verdict=assignment.verdict.value,
        nodes_ready=sum(bool(shard.warm) for shard in shards),
        nodes_total=max(assignment.wanted, len(shards)),
        shards=shards,
        failure=_failure(snapshot, creates, failed),
        release=warmup.status.release,
        circuit=circuit,
        rewarm=rewarm,
        access=access,
        waiting_since=assignment.waiting_since,
        conditions=compute_conditions(warmup, phase, reason, snapshot.problems, now),
    )
    waits_for_access = open_at if open_at > ground.now else None
    return WarmupPlan(
        status=status,
        releases=() if snapshot.problems else plan_releases(found, roll),
        creates=creates,
        kept=tuple(sorted(job.name for job in found.kept)),
        failing=tuple(job for job in own if job.name in failed and not job.deleting),
        fetching=tuple(
            scene.jobs[shard.job] for shard in shards if shard.state == ShardState.FETCHING and shard.job in scene.jobs
        ),
        podless=tuple(
            scene.jobs[shard.job]
            for shard in shards
            if shard.state == ShardState.WAITING and shard.job in scene.jobs and not scene.has_pod(shard.job)
        ),
        wake_at=earliest(assignment.wake_at, ground.next_change(), circuit.open_until, waits_for_access),
    )


def _failure(snapshot: WarmupSnapshot, creates: tuple[CreateJob, ...], failed: set[str]) -> Failure | None:
    """The evidence: a Job that is refused for good has no pod whose words could be read."""
    for create in creates:
        refusal = snapshot.refused.get(create.name)
        if refusal is not None and refusal.final:
            return Failure(reason=refusal.why)
    return snapshot.warmup.status.failure if failed else None


def compute_access(warmup: Warmup, now: datetime) -> AccessChange:
    """Since when today's permissions are there: from creation on, or since the order's access changed."""
    wanted = access_hash(warmup.spec)
    known = warmup.status.access
    if known is None or known.since is None:
        return AccessChange(wanted, warmup.created_at)
    return known if known.hash == wanted else AccessChange(wanted, now)


def compute_rewarm(warmup: Warmup, assignment: Assignment, now: datetime) -> Rewarm | None:
    """Fire a forced re-warm once, when there are nodes for it. The status it is written to is the firing."""
    known = warmup.status.rewarm or Rewarm()
    request = warmup.rewarm_wish
    if not request:
        return Rewarm(known.id, known.fired_at) if known.id else None
    since = assignment.waiting_since
    patient = since is not None and now < since + PATIENCE
    if not assignment.homes or patient or assignment.verdict is NodesVerdict.NO_NODES:
        return Rewarm(known.id, known.fired_at, pending=request)
    return Rewarm(request, now)


def _order(warmup: Warmup, assignment: Assignment, rewarm: Rewarm | None) -> Order:
    numbers = {*range(assignment.wanted), *assignment.homes}
    names = {job_name(warmup.spec.dataset, number): number for number in numbers}
    round_id = rewarm.id if rewarm else ""
    return Order(warmup.uid, str(warmup.spec.generation), order_hash(warmup.spec), round_id, names)


def _release_moved(found: Sorted, assignment: Assignment, ground: Ground, order: Order) -> Sorted:
    """Jobs on nodes that left or are outside the placement, where another node is free for the shard."""
    releases = []
    for job in found.kept:
        if job.owner_uid == order.warmup_uid and job.shard in assignment.moved:
            home, node = assignment.homes.get(job.shard), ground.nodes[job.node]
            instead = f"{home.name} is free" if home else "every other node is warm"
            proofs = (f"{job.node} is not open", instead)
            releases.append(ReleaseJob(job, Staleness.NODE_LEFT, ground.why_left(node), proofs))
    moved = {release.job.name for release in releases}
    kept = tuple(job for job in found.kept if job.name not in moved)
    return Sorted((*found.stale, *releases), kept, found.skipped) if releases else found


def _jobs_of_shards(snapshot: WarmupSnapshot, order: Order) -> dict[str, WarmJob]:
    """By name. A Warmup that must not act does not judge Jobs of others: they may be those of another Warmup."""
    own_only = bool(snapshot.problems)
    return {
        job.name: job
        for job in snapshot.jobs
        if job.name in order.names and not job.deleting and not (own_only and job.owner_uid != order.warmup_uid)
    }


def _explain(release: ReleaseJob, roll: Roll) -> ReleaseJob:
    stays = roll.stays_because(release)
    return replace(release, reason=f"{release.reason}; {stays}") if stays else release


def _open_at(snapshot: WarmupSnapshot, access: AccessChange) -> datetime:
    """When permissions have had their time."""
    if access.since is None or snapshot.problems:
        return snapshot.ground.now
    return access.since + timedelta(seconds=snapshot.warmup.spec.propagation_seconds)


def _held_because(snapshot: WarmupSnapshot, circuit: Circuit, open_at: datetime) -> str:
    """Why no Job may be made now; empty when they may."""
    if snapshot.problems:
        return "; ".join(snapshot.problems)
    if snapshot.warmup.terminating:
        return "the Warmup is being deleted"
    if circuit.is_open:
        return "the circuit is open"
    if snapshot.ground.now < open_at:
        return f"permissions get until {open_at.strftime('%H:%M:%SZ')} to take effect"
    return ""


def _plan_creates(snapshot: WarmupSnapshot, assignment: Assignment, order: Order) -> tuple[CreateJob, ...]:
    present = {job.name for job in snapshot.jobs} | snapshot.taken.keys()
    dataset = snapshot.warmup.spec.dataset
    creates = []
    for shard, node in sorted(assignment.homes.items()):
        name = job_name(dataset, shard)
        if name not in present and node.uid in snapshot.ground.open_uids:
            creates.append(CreateJob(name, shard, node, order))
    return tuple(creates[:MOST_CREATES])


def _blocked(found: Sorted, order: Order) -> dict[str, str]:
    """Unpinned Jobs of others are never touched, even if they sit on a name of ours."""
    return {
        job.name: f"the Job {job.name} was not made by Mooring and is not pinned: delete or rename it"
        for job in found.skipped
        if job.name in order.names
    }
