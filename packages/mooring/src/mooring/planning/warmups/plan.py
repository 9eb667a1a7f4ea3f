"""The plan for one Warmup: keep its dataset warm on live nodes (invariant `warm-on-live-node`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from mooring.model.evidence import Failure
from mooring.model.moments import later
from mooring.model.node import Node
from mooring.model.proof import by_cluster, by_holder
from mooring.model.warm_job import Refusal, WarmJob, WarmPod
from mooring.model.warmup import (
    AccessChange,
    Circuit,
    NodesVerdict,
    Phase,
    Rewarm,
    ShardState,
    ShardStatus,
    Warmup,
    WarmupStatus,
)
from mooring.planning.actions import earliest
from mooring.planning.warmups.adoption import NONE_ADOPTED, AdoptedJobs, describe_adoption, sort_adopted
from mooring.planning.warmups.assignment import PATIENCE, Assignment, plan_assignment
from mooring.planning.warmups.circuit_breaker import compute_circuit
from mooring.planning.warmups.jobs import access_hash, job_name, order_hash, template_hash
from mooring.planning.warmups.nodes import NodeSurvey
from mooring.planning.warmups.reclaim import record_copies
from mooring.planning.warmups.rollout import Roll, plan_releases
from mooring.planning.warmups.staleness import Order, ReleaseJob, SortedJobs, Staleness, plan_stale_release
from mooring.planning.warmups.status import ShardInputs, compute_conditions, compute_phase, compute_shards

MOST_CREATES = 50  # in one reconcile


@dataclass(frozen=True, slots=True)
class WarmupSnapshot:
    """Input of the plan."""

    warmup: Warmup
    survey: NodeSurvey
    jobs: tuple[WarmJob, ...] = ()
    pods: Mapping[str, WarmPod] = field(default_factory=dict)  # by the Job's uid
    load: Mapping[str, int] = field(default_factory=dict)  # number of shards of other datasets, by node uid
    progress: Mapping[str, float] = field(default_factory=dict)  # by the Job's uid
    # names that are taken by foreign Jobs, and why nothing is done about it
    taken: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, Refusal] = field(default_factory=dict)  # names of Jobs that the cluster refused to create
    hindered: Mapping[str, str] = field(default_factory=dict)  # why a Job has no pod, by the Job's uid
    problems: tuple[str, ...] = ()
    adopted: AdoptedJobs = NONE_ADOPTED
    waits_for: str = ""  # a Warmup whose data is being removed from the same folder


@dataclass(frozen=True, slots=True)
class CreateJob:
    """Create one Job. Its name contains its shard, so the API server refuses to create the same Job twice."""

    name: str
    shard: int
    node: Node
    order: Order


@dataclass(frozen=True, slots=True)
class WarmupPlan:
    """Actions in this order: write the status, release, create."""

    status: WarmupStatus
    releases: tuple[ReleaseJob, ...] = ()
    creates: tuple[CreateJob, ...] = ()
    kept: tuple[str, ...] = ()
    failing: tuple[WarmJob, ...] = ()  # Jobs whose logs are wanted
    fetching: tuple[WarmJob, ...] = ()
    podless: tuple[WarmJob, ...] = ()
    wake_at: datetime | None = None


def plan_warmup(snapshot: WarmupSnapshot) -> WarmupPlan:
    """Decide which Jobs to release and to create, and compute the status."""
    snapshot = _adopt(snapshot)
    warmup, survey = snapshot.warmup, snapshot.survey
    own = tuple(job for job in snapshot.jobs if job.owner_uid == warmup.uid)
    circuit = compute_circuit(warmup.status.circuit or Circuit(), own, warmup.close_request, survey.now)
    assignment = plan_assignment(warmup, own, survey, snapshot.load)
    access = compute_access(warmup, survey.now)
    rewarm = compute_rewarm(warmup, assignment, survey.now)
    order = _order(warmup, assignment, rewarm)
    found = plan_stale_release(snapshot.jobs, survey, order)
    found = _release_moved(found, assignment, survey, order)
    open_at = _open_at(snapshot, access)
    held = _held_because(snapshot, circuit, open_at)
    creates = () if held else _plan_creates(snapshot, assignment, order)
    present = {job.name for job in snapshot.jobs} | snapshot.taken.keys()
    roll = Roll(survey, assignment, order, own, present, held)
    inputs = ShardInputs(
        warmup=warmup,
        survey=survey,
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
    shards = compute_shards(inputs)
    working = bool(creates) or any(not job.finished for job in own)
    failed = {shard.job for shard in shards if shard.state == ShardState.FAILED}
    status = msgspec.structs.replace(
        _status(snapshot, assignment, shards, circuit, working),
        failure=_failure(snapshot, creates, failed),
        rewarm=rewarm,
        access=access,
        copies=record_copies(warmup, shards, survey.nodes),
        adoption=describe_adoption(snapshot.adopted, found, survey),
    )
    waits_for_access = open_at if open_at > survey.now else None
    return WarmupPlan(
        status=status,
        releases=() if snapshot.problems else plan_releases(found, roll),
        creates=creates,
        kept=tuple(sorted(job.name for job in found.kept)),
        failing=tuple(job for job in own if job.name in failed and not job.deleting),
        fetching=tuple(
            inputs.jobs[shard.job]
            for shard in shards
            if shard.state == ShardState.FETCHING and shard.job in inputs.jobs
        ),
        podless=tuple(
            inputs.jobs[shard.job]
            for shard in shards
            if shard.state == ShardState.WAITING and shard.job in inputs.jobs and not inputs.has_pod(shard.job)
        ),
        wake_at=earliest(assignment.wake_at, survey.next_change(), circuit.open_until, waits_for_access),
    )


def _adopt(snapshot: WarmupSnapshot) -> WarmupSnapshot:
    """The snapshot with adopted Jobs among its own, and with the names of those that must not be touched."""
    if not snapshot.adopted.selector:
        return snapshot
    known = {job.uid for job in snapshot.jobs}
    adopted = tuple(job for job in snapshot.adopted.jobs if job.uid not in known)
    eligible, barred = sort_adopted(adopted, snapshot.survey)
    taken = {name: f"the adopted Job {name} holds the name, and {why}" for name, why in barred.items()}
    return replace(snapshot, jobs=(*snapshot.jobs, *eligible), taken={**snapshot.taken, **taken})


def _status(
    snapshot: WarmupSnapshot,
    assignment: Assignment,
    shards: tuple[ShardStatus, ...],
    circuit: Circuit,
    working: bool,
) -> WarmupStatus:
    """The status without the evidence of a failure, the re-warm and the access."""
    warmup = snapshot.warmup
    phase, reason = compute_phase(shards, assignment, circuit, working)
    if snapshot.problems:
        reason = "; ".join(snapshot.problems)
        phase = Phase.FAILED if phase is Phase.PENDING else phase
    now = snapshot.survey.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return WarmupStatus(
        observed_generation=warmup.generation,
        phase=phase.value,
        reason=reason,
        verdict=assignment.verdict.value,
        nodes_ready=sum(bool(shard.warm) for shard in shards),
        nodes_total=max(assignment.wanted, len(shards)),
        shards=shards,
        release=warmup.status.release,
        circuit=circuit,
        waiting_since=assignment.waiting_since,
        conditions=compute_conditions(warmup, phase, reason, snapshot.problems, now),
    )


def _failure(snapshot: WarmupSnapshot, creates: tuple[CreateJob, ...], failed: set[str]) -> Failure | None:
    """The evidence of a failure. A Job that was refused has no pod with logs."""
    for create in creates:
        refusal = snapshot.refused.get(create.name)
        if refusal is not None and refusal.final:
            return Failure(reason=refusal.why)
    return snapshot.warmup.status.failure if failed else None


def compute_access(warmup: Warmup, now: datetime) -> AccessChange:
    """Since when the current permissions exist: since creation, or since the access settings changed."""
    wanted = access_hash(warmup.spec)
    known = warmup.status.access
    if known is None or known.since is None:
        return AccessChange(wanted, warmup.created_at)
    return known if known.hash == wanted else AccessChange(wanted, now)


def compute_rewarm(warmup: Warmup, assignment: Assignment, now: datetime) -> Rewarm | None:
    """Fire a forced re-warm once, when there are nodes for it. Writing it to the status is the act of firing."""
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
    spec = warmup.spec
    return Order(warmup.uid, str(spec.generation), order_hash(spec), round_id, names, template_hash(spec))


def _release_moved(found: SortedJobs, assignment: Assignment, survey: NodeSurvey, order: Order) -> SortedJobs:
    """Jobs on nodes that left or do not match the placement, if another node is free for the shard."""
    releases = []
    for job in found.kept:
        if job.owner_uid == order.warmup_uid and job.shard in assignment.moved:
            home, node = assignment.homes.get(job.shard), survey.nodes[job.node]
            instead = f"{home.name} is free" if home else "every other node is warm"
            proofs = (by_cluster(f"{job.node} is not open"), by_holder(f"its shard moves: {instead}"))
            releases.append(ReleaseJob(job, Staleness.NODE_LEFT, survey.why_left(node), proofs))
    moved = {release.job.name for release in releases}
    kept = tuple(job for job in found.kept if job.name not in moved)
    return SortedJobs((*found.stale, *releases), kept, found.skipped) if releases else found


def _jobs_of_shards(snapshot: WarmupSnapshot, order: Order) -> dict[str, WarmJob]:
    """Jobs by name. An invalid Warmup does not judge foreign Jobs: they may belong to another Warmup."""
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
    """When permissions have had enough time to propagate."""
    if access.since is None or snapshot.problems:
        return snapshot.survey.now
    return later(access.since, snapshot.warmup.spec.propagation_seconds)


def _held_because(snapshot: WarmupSnapshot, circuit: Circuit, open_at: datetime) -> str:
    """Why no Job may be created now; empty if Jobs may be created."""
    if snapshot.problems:
        return "; ".join(snapshot.problems)
    if snapshot.warmup.terminating:
        return "the Warmup is being deleted"
    if snapshot.waits_for:
        return f"the Warmup {snapshot.waits_for} is being deleted, and its data in the same folder with it"
    if circuit.is_open:
        return "the circuit is open"
    if snapshot.survey.now < open_at:
        return f"permissions get until {open_at.strftime('%H:%M:%SZ')} to take effect"
    return ""


def _plan_creates(snapshot: WarmupSnapshot, assignment: Assignment, order: Order) -> tuple[CreateJob, ...]:
    present = {job.name for job in snapshot.jobs} | snapshot.taken.keys()
    dataset = snapshot.warmup.spec.dataset
    creates = []
    for shard, node in sorted(assignment.homes.items()):
        name = job_name(dataset, shard)
        if name not in present and node.uid in snapshot.survey.open_uids:
            creates.append(CreateJob(name, shard, node, order))
    return tuple(creates[:MOST_CREATES])


def _blocked(found: SortedJobs, order: Order) -> dict[str, str]:
    """Unpinned foreign Jobs are never touched, even if they have a name that we need."""
    return {
        job.name: f"the Job {job.name} was not made by Mooring and is not pinned: delete or rename it"
        for job in found.skipped
        if job.name in order.names
    }
