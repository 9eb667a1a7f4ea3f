"""The next step of a submission: setup, then batches in parallel, then the finalizer, also after a failed batch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mooring.model.submission import (
    STEP_ENDED,
    Cancel,
    JobCounts,
    NamedStep,
    Phase,
    StepKind,
    StepPhase,
    StepStatus,
    SubmissionSpec,
    SubmissionStatus,
    job_name,
    steps_of,
)

_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A Job of ours as the cluster shows it. `node_uids` are the nodes it is pinned to; none means any."""

    name: str
    uid: str
    resource_version: str
    phase: StepPhase
    attempts: int = 0
    why: str = ""
    terminating: bool = False
    age_seconds: float = 0.0
    node_uids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pinned:
    """The nodes, by name and uid, where what a step needs is warm; or why there are none."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SubmissionSnapshot:
    """Everything that decides what comes next."""

    spec: SubmissionSpec
    status: SubmissionStatus
    jobs: Mapping[str, SeenJob] = field(default_factory=dict)  # by step
    in_flight: frozenset[str] = frozenset()  # steps whose Job was made and is not seen yet
    pins: Mapping[str, Pinned] = field(default_factory=dict)  # by step
    node_uids: frozenset[str] = frozenset()
    cancel: Cancel | None = None
    held: str = ""  # why nothing new may be made now
    refused: Mapping[str, str] = field(default_factory=dict)  # steps whose Job the API server will never take, and why


@dataclass(frozen=True, slots=True)
class CreateJob:
    """Make the Job of a step; a finalizer is told which batches did not succeed."""

    step: NamedStep
    pinned: Pinned = Pinned()
    failed_batches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StopJob:
    """Delete the Job of a step, as somebody asked."""

    step: str
    job: SeenJob
    reason: str


@dataclass(frozen=True, slots=True)
class ReplaceJob:
    """Delete a Job that waits for a node which is gone; it is made again elsewhere."""

    step: str
    job: SeenJob
    proofs: tuple[str, str]
    floor_seconds: float = 30.0

    @property
    def key(self) -> str:
        return f"stranded/{self.job.uid}"

    @property
    def age_seconds(self) -> float:
        return self.job.age_seconds


@dataclass(frozen=True, slots=True)
class SubmissionPlan:
    """What to do, and how it stands."""

    phase: Phase
    message: str
    steps: tuple[StepStatus, ...]
    jobs: JobCounts
    creates: tuple[CreateJob, ...] = ()
    stops: tuple[StopJob, ...] = ()
    replaces: tuple[ReplaceJob, ...] = ()
    failed: str = ""  # the first step that failed: its evidence is wanted


def plan_submission(snapshot: SubmissionSnapshot) -> SubmissionPlan:
    """One look at all steps. Planning again after everything was carried out asks for nothing new."""
    named = steps_of(snapshot.spec)
    recorded = {step.name: step for step in snapshot.status.steps}
    states = {step.name: _observe(step, snapshot, recorded.get(step.name)) for step in named}
    _skip(named, states, snapshot.cancel)
    creates = tuple(_creates(named, states, snapshot)) if not snapshot.held else ()
    steps = tuple(_explained(step, states, snapshot) for step in named)
    phase = _phase(steps)
    failed = next((step.name for step in steps if step.phase == StepPhase.FAILED), "")
    return SubmissionPlan(
        phase,
        _message(phase, steps, snapshot),
        steps,
        _counts(steps),
        creates,
        tuple(_stops(states, snapshot)),
        tuple(_replaces(snapshot)),
        failed,
    )


def _observe(step: NamedStep, snapshot: SubmissionSnapshot, before: StepStatus | None) -> StepStatus:
    """The Job says it; a result that was written down once stays, even when its Job is gone (fault 35)."""
    name = job_name(snapshot.spec.key, step.name)
    if before is not None and before.phase in STEP_ENDED:
        return before
    job = snapshot.jobs.get(step.name)
    if job is None and step.name in snapshot.refused:
        return StepStatus(step.name, step.kind, StepPhase.FAILED, name, why=snapshot.refused[step.name])
    if job is None:
        phase = StepPhase.STARTING if step.name in snapshot.in_flight else StepPhase.WAITING
        if phase is StepPhase.WAITING and _is_cancelled(step, snapshot.cancel):
            return StepStatus(step.name, step.kind, StepPhase.CANCELLED, name, why="cancelled")
        return StepStatus(step.name, step.kind, phase, name)
    if job.terminating and job.phase not in STEP_ENDED:
        return StepStatus(step.name, step.kind, StepPhase.STARTING, name, job.attempts, "its Job is being deleted")
    return StepStatus(step.name, step.kind, job.phase, name, job.attempts, job.why)


def _is_cancelled(step: NamedStep, cancel: Cancel | None) -> bool:
    return cancel is not None and not (step.kind is StepKind.FINALIZER and cancel.finalize)


def _skip(named: tuple[NamedStep, ...], states: dict[str, StepStatus], cancel: Cancel | None) -> None:
    """After a failed setup nothing else is made."""
    setup = states.get("setup")
    if setup is None or setup.phase not in (StepPhase.FAILED, StepPhase.CANCELLED):
        return
    for step in named:
        spared = step.kind is StepKind.FINALIZER and cancel is not None and cancel.finalize
        if step.kind is not StepKind.SETUP and states[step.name].phase == StepPhase.WAITING and not spared:
            states[step.name] = StepStatus(
                step.name, step.kind, StepPhase.SKIPPED, why=f"the setup has {setup.phase.lower()}"
            )


def _creates(
    named: tuple[NamedStep, ...], states: Mapping[str, StepStatus], snapshot: SubmissionSnapshot
) -> Iterator[CreateJob]:
    setup = states.get("setup")
    set_up = setup is None or setup.phase == StepPhase.SUCCEEDED
    batches_ended = all(states[step.name].phase in STEP_ENDED for step in named if step.kind is StepKind.BATCH)
    for step in named:
        pinned = snapshot.pins.get(step.name, Pinned())
        if states[step.name].phase != StepPhase.WAITING or pinned.problem:
            continue
        match step.kind:
            case StepKind.SETUP:
                yield CreateJob(step, pinned)
            case StepKind.BATCH if set_up:
                yield CreateJob(step, pinned)
            case StepKind.FINALIZER if batches_ended:
                yield CreateJob(step, pinned, _unsuccessful(named, states))


def _unsuccessful(named: tuple[NamedStep, ...], states: Mapping[str, StepStatus]) -> tuple[str, ...]:
    batches = (step.name for step in named if step.kind is StepKind.BATCH)
    return tuple(name for name in batches if states[name].phase != StepPhase.SUCCEEDED)


def _stops(states: Mapping[str, StepStatus], snapshot: SubmissionSnapshot) -> Iterator[StopJob]:
    cancel = snapshot.cancel
    if cancel is None:
        return
    by = f"cancelled by {cancel.by or 'somebody'}" + (f": {cancel.reason}" if cancel.reason else "")
    for step in steps_of(snapshot.spec):
        job = snapshot.jobs.get(step.name)
        running = states[step.name].phase not in STEP_ENDED
        if job is not None and running and not job.terminating and _is_cancelled(step, cancel):
            yield StopJob(step.name, job, by)


def _replaces(snapshot: SubmissionSnapshot) -> Iterator[ReplaceJob]:
    if not snapshot.node_uids:
        return  # an empty list of nodes proves nothing
    for name, job in snapshot.jobs.items():
        lost = bool(job.node_uids) and not job.node_uids & snapshot.node_uids
        if lost and job.phase is StepPhase.STARTING and not job.terminating:
            proofs = ("no node with the uid it is pinned to is there", "none of its pods runs")
            yield ReplaceJob(name, job, proofs)


def _explained(step: NamedStep, states: Mapping[str, StepStatus], snapshot: SubmissionSnapshot) -> StepStatus:
    """The state of a step with a reason wherever it waits, and the finalizer's word about failed batches."""
    state = states[step.name]
    why = state.why
    if state.phase == StepPhase.WAITING:
        pinned = snapshot.pins.get(step.name, Pinned())
        why = pinned.problem or snapshot.held or _turn(step)
    elif step.kind is StepKind.FINALIZER and state.phase not in (StepPhase.SKIPPED, StepPhase.CANCELLED) and not why:
        why = _ran_anyway(snapshot.spec, states)
    return StepStatus(state.name, state.kind, str(state.phase), state.job, state.attempts, why)


def _turn(step: NamedStep) -> str:
    return {
        StepKind.SETUP: "about to be made",
        StepKind.BATCH: "waits for the setup, or is about to be made",
        StepKind.FINALIZER: "waits for the batches",
    }[step.kind]


def _ran_anyway(spec: SubmissionSpec, states: Mapping[str, StepStatus]) -> str:
    bad = _unsuccessful(steps_of(spec), states)
    if not bad:
        return ""
    return f"runs although {len(bad)} of {len(spec.batches)} batches did not succeed: {_listed(bad)}"


def _phase(steps: tuple[StepStatus, ...]) -> Phase:
    phases = {step.phase for step in steps}
    if phases <= STEP_ENDED:
        return Phase.SUCCEEDED if phases <= {StepPhase.SUCCEEDED} else Phase.FAILED
    begun = {StepPhase.RUNNING, StepPhase.SUCCEEDED, StepPhase.FAILED}
    return Phase.RUNNING if phases & begun else Phase.SUBMITTING


def _message(phase: Phase, steps: tuple[StepStatus, ...], snapshot: SubmissionSnapshot) -> str:
    batches = [step for step in steps if step.kind == StepKind.BATCH]
    done = sum(step.phase == StepPhase.SUCCEEDED for step in batches)
    bad = tuple(step.name for step in batches if step.phase == StepPhase.FAILED)
    told = [f"{done} of {len(batches)} batches succeeded"]
    if bad:
        told.append(f"{len(bad)} failed: {_listed(bad)}")
    for step in steps:
        if step.kind != StepKind.BATCH and step.phase in (StepPhase.FAILED, StepPhase.SKIPPED):
            told.append(f"the {step.kind} {step.phase.lower()}" + (f" ({step.why})" if step.why else ""))
        elif bad and step.kind == StepKind.FINALIZER and step.phase == StepPhase.SUCCEEDED:
            told.append("the finalizer ran after them and succeeded")
    if stuck := next((step for step in steps if step.phase == StepPhase.STARTING and step.why), None):
        told.append(f"{stuck.name}: {stuck.why}")
    if snapshot.cancel is not None:
        told.append(f"cancelled by {snapshot.cancel.by or 'somebody'}")
    if snapshot.held and phase not in (Phase.SUCCEEDED, Phase.FAILED):
        told.append(snapshot.held)
    return "; ".join(told)


def _counts(steps: tuple[StepStatus, ...]) -> JobCounts:
    phases = [step.phase for step in steps]
    return JobCounts(
        total=len(steps),
        active=phases.count(StepPhase.STARTING) + phases.count(StepPhase.RUNNING),
        succeeded=phases.count(StepPhase.SUCCEEDED),
        failed=phases.count(StepPhase.FAILED),
    )


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
