"""The plan for one submission: setup, then batches in parallel, then the finalizer, also after a failed batch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mooring.model.proof import Proofs, by_cluster, by_holder
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
from mooring.planning.actions import JobDelete
from mooring.planning.submissions.leftovers import LEFTOVER_JOBS

_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class SeenJob:
    """One of our Jobs, as the cluster shows it. `node_uids` has the nodes it is pinned to; empty means any."""

    name: str
    uid: str
    resource_version: str
    phase: StepPhase
    namespace: str = ""
    attempts: int = 0
    why: str = ""
    terminating: bool = False
    age_seconds: float = 0.0
    node_uids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pinned:
    """The nodes, by name and uid, on which the step's data is warm; or why there are none."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SubmissionSnapshot:
    """Input of the plan."""

    spec: SubmissionSpec
    status: SubmissionStatus
    jobs: Mapping[str, SeenJob] = field(default_factory=dict)  # by step
    in_flight: frozenset[str] = frozenset()  # steps whose Job was created and is not in the cache yet
    pins: Mapping[str, Pinned] = field(default_factory=dict)  # by step
    node_uids: frozenset[str] = frozenset()
    cancel: Cancel | None = None
    held: str = ""  # why no Job may be created now; empty if Jobs may be created
    closed: str = ""  # the part of `held` that is known: gates that failed, without those that could not be read
    # steps whose Job the API server will never accept, and why
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateJob:
    """Create the Job of a step. A finalizer gets the names of the batches that did not succeed."""

    step: NamedStep
    pinned: Pinned = Pinned()
    failed_batches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StopJob:
    """Delete the Job of a step because somebody cancelled it."""

    step: str
    job: SeenJob
    reason: str


@dataclass(frozen=True, slots=True)
class ReplaceJob(JobDelete):
    """Delete a Job that waits for a node that is gone; it is created again elsewhere."""

    invariant: ClassVar[str] = LEFTOVER_JOBS

    step: str
    job: SeenJob
    proofs: Proofs
    floor_seconds: float = 30.0

    @property
    def key(self) -> str:
        return f"stranded/{self.job.uid}"

    @property
    def reason(self) -> str:
        return "the node it waits for is gone"

    @property
    def evidence(self) -> dict[str, Any]:
        """What the audit row keeps."""
        return {"step": self.step, "proofs": [str(proof) for proof in self.proofs]}

    @property
    def age_seconds(self) -> float:
        return self.job.age_seconds


@dataclass(frozen=True, slots=True)
class SubmissionPlan:
    """Actions, and the state of every step."""

    phase: Phase
    message: str
    steps: tuple[StepStatus, ...]
    jobs: JobCounts
    creates: tuple[CreateJob, ...] = ()
    stops: tuple[StopJob, ...] = ()
    replaces: tuple[ReplaceJob, ...] = ()
    failed: str = ""  # the first step that failed; its logs are wanted


def plan_submission(snapshot: SubmissionSnapshot) -> SubmissionPlan:
    """Decide about all steps. Planning again after every action was carried out yields nothing new."""
    named = steps_of(snapshot.spec)
    recorded = {step.name: step for step in snapshot.status.steps}
    states = {step.name: _observe(step, snapshot, recorded.get(step.name)) for step in named}
    _skip(named, states, snapshot.cancel)
    _skip_finalizer(named, states, snapshot)
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
    """The Job's own result. A result recorded in the status stays, also when a TTL has removed the Job since."""
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
    """After a failed setup no other step is created."""
    setup = states.get("setup")
    if setup is None or setup.phase not in (StepPhase.FAILED, StepPhase.CANCELLED):
        return
    for step in named:
        spared = step.kind is StepKind.FINALIZER and cancel is not None and cancel.finalize
        if step.kind is not StepKind.SETUP and states[step.name].phase == StepPhase.WAITING and not spared:
            states[step.name] = StepStatus(
                step.name, step.kind, StepPhase.SKIPPED, why=f"the setup has {setup.phase.lower()}"
            )


def _skip_finalizer(named: tuple[NamedStep, ...], states: dict[str, StepStatus], snapshot: SubmissionSnapshot) -> None:
    """A cancelled submission does not wait for a gate: its finalizer runs when it is due, or not at all."""
    if snapshot.cancel is None or not snapshot.closed or not _batches_ended(named, states):
        return
    for step in named:
        if step.kind is StepKind.FINALIZER and states[step.name].phase == StepPhase.WAITING:
            states[step.name] = StepStatus(step.name, step.kind, StepPhase.SKIPPED, why=snapshot.closed)


def _batches_ended(named: tuple[NamedStep, ...], states: Mapping[str, StepStatus]) -> bool:
    return all(states[step.name].phase in STEP_ENDED for step in named if step.kind is StepKind.BATCH)


def _creates(
    named: tuple[NamedStep, ...], states: Mapping[str, StepStatus], snapshot: SubmissionSnapshot
) -> Iterator[CreateJob]:
    setup = states.get("setup")
    set_up = setup is None or setup.phase == StepPhase.SUCCEEDED
    batches_ended = _batches_ended(named, states)
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
    by = f"cancelled by {cancel.by or 'an unknown user'}" + (f": {cancel.reason}" if cancel.reason else "")
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
            pinned = by_holder("pinned to a node by its uid")
            proofs = (pinned, by_cluster("no node has that uid, and none of its pods runs"))
            yield ReplaceJob(name, job, proofs)


def _explained(step: NamedStep, states: Mapping[str, StepStatus], snapshot: SubmissionSnapshot) -> StepStatus:
    """The state of a step, with a reason if it waits; for the finalizer also which batches failed."""
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
    message = [f"{done} of {len(batches)} batches succeeded"]
    if bad:
        message.append(f"{len(bad)} failed: {_listed(bad)}")
    for step in steps:
        if step.kind != StepKind.BATCH and step.phase in (StepPhase.FAILED, StepPhase.SKIPPED):
            message.append(f"the {step.kind} {step.phase.lower()}" + (f" ({step.why})" if step.why else ""))
        elif bad and step.kind == StepKind.FINALIZER and step.phase == StepPhase.SUCCEEDED:
            message.append("the finalizer ran after them and succeeded")
    if stuck := next((step for step in steps if step.phase == StepPhase.STARTING and step.why), None):
        message.append(f"{stuck.name}: {stuck.why}")
    if snapshot.cancel is not None:
        message.append(f"cancelled by {snapshot.cancel.by or 'an unknown user'}")
    if snapshot.held and phase not in (Phase.SUCCEEDED, Phase.FAILED):
        message.append(snapshot.held)
    return "; ".join(message)


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
