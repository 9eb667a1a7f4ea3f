"""The reconciler of Submissions: admit, make the Jobs that are due, follow them, say how it stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import msgspec
import structlog

from mooring.clock import Clock
from mooring.control.fleet import Fleet
from mooring.control.submitting.admission import LOOK_SECONDS, Admitting, Decision
from mooring.control.submitting.creation import JobCreation
from mooring.control.submitting.gates import GateReader, find_problems
from mooring.control.submitting.hindrance import Hindrances
from mooring.control.submitting.inheritance import read_inheritance
from mooring.control.submitting.seeing import gather_evidence, own_jobs, see_jobs
from mooring.control.submitting.stopping import JobStopping
from mooring.control.submitting.telling import Telling
from mooring.control.submitting.watch import SubmissionWatch
from mooring.control.submitting.writing import REFUSALS, InTheWay
from mooring.kube.client import KubeClient
from mooring.kube.errors import KubeError
from mooring.kube.views import Submission
from mooring.model import names
from mooring.model.errors import MooringError, Unavailable
from mooring.model.evidence import Failure, clean_line
from mooring.model.submission import (
    ENDED,
    STARTED,
    STEP_ENDED,
    Cancel,
    Gate,
    Phase,
    spec_hash,
    steps_of,
)
from mooring.planning.submissions.gates import FAIL, Findings, judge_gates
from mooring.planning.submissions.status import Standing
from mooring.planning.submissions.steps import SubmissionPlan, SubmissionSnapshot, plan_submission

log = structlog.get_logger()

LEFTOVER_LOOK_SECONDS = 1.0


@dataclass(slots=True)
class _Memory:
    """Of one submission, between passes; all of it may be lost at any time."""

    config_maps: dict[str, bool | None] = field(default_factory=dict)
    looked_at: float = float("-inf")
    checked: int = -1  # the generation whose spec was checked last
    problems: tuple[str, ...] = ()


class _Told(Exception):
    """Trouble that the status tells already; the pass is tried again."""

    def __init__(self, trouble: MooringError) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class _Look:
    """The gates of a submission that runs: why nothing new may be made (`held`), or never will be (`refusal`)."""

    gates: tuple[Gate, ...]
    held: str
    refusal: str


class SubmissionReconciler:
    """One pass a key."""

    def __init__(
        self,
        client: KubeClient,
        fleet: Fleet,
        watch: SubmissionWatch,
        admitting: Admitting,
        creation: JobCreation,
        stopping: JobStopping,
        clock: Clock,
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._watch = watch
        self._gates = GateReader(client, fleet, watch)
        self._hindrances = Hindrances(client, watch, clock)
        self._admitting = admitting
        self._creation = creation
        self._stopping = stopping
        self._clock = clock
        self._telling = Telling(client, clock)
        self._memories: dict[str, _Memory] = {}

    async def reconcile(self, key: str) -> datetime | None:
        """One pass over one submission; answers when to look again."""
        cached = self._watch.submission(key)
        if cached is None or cached.terminating:
            self._forget(key, cached)
            return None
        view = self._telling.latest(cached)
        if view.status.phase in ENDED:
            self._forget(key, view)
            return None
        if view.status.phase == Phase.REFUSED and view.status.observed_generation == view.metadata.generation:
            return None
        try:
            return await (self._advance(view) if view.status.phase in STARTED else self._admit(view))
        except _Told as told:
            raise told.trouble from told
        except Exception as error:
            await self._telling.tell_failure(self._telling.latest(view), error)
            raise

    async def _admit(self, view: Submission) -> datetime | None:
        if (cancel := read_cancel(view)) is not None:
            told = f"cancelled by {cancel.by or 'somebody'} before anything was made"
            await self._telling.write(view, Standing(Phase.FAILED, told, view.status.gates))
            return None
        found, declined = await self._admitting.judge(view)
        if declined is None:
            declined = await self._admit_under_lease(view, found)
        if declined.standing.phase is not Phase.SUBMITTING:
            await self._telling.write(view, declined.standing)
            return declined.look_at
        return self._clock.now()

    async def _admit_under_lease(self, view: Submission, found: Findings) -> Decision:
        async def record(decision: Decision) -> None:
            await self._telling.write(view, decision.standing)

        try:
            return await self._admitting.admit(view, found, record)
        except TimeoutError as error:
            raise Unavailable("admitting took longer than its lease may last", fix="it is tried again") from error

    async def _advance(self, view: Submission) -> datetime | None:
        """Follow the Jobs, and make those that are due."""
        look = await self._look_again(view)
        gates, held = look.gates, look.held
        snapshot = await self._snapshot(view, look)
        plan = plan_submission(snapshot)
        trouble, refused = await self._carry_out(view, plan)
        if refused:
            plan = plan_submission(replace(snapshot, refused=refused))
        if isinstance(trouble, InTheWay):
            gates, held = await self._unblock(view, gates, trouble)
        phase = plan.phase
        message = f"{plan.message}; {held}" if held and held not in plan.message else plan.message
        if trouble is not None and not held:
            message = f"{plan.message}; {trouble.message}"
        failure = view.status.failure or await self._evidence(view, plan)
        await self._telling.write(view, Standing(phase, message, gates, plan.steps, plan.jobs, failure))
        if trouble is not None and not isinstance(trouble, InTheWay):
            raise _Told(trouble)
        if phase in ENDED:
            return None
        seconds = LEFTOVER_LOOK_SECONDS if trouble is not None or plan.stops or plan.replaces else LOOK_SECONDS
        return self._clock.now() + timedelta(seconds=seconds)

    async def _look_again(self, view: Submission) -> _Look:
        """The gates that can close while it runs: what is required may vanish, the spec may be changed."""
        gates = {gate.id: gate for gate in view.status.gates}
        found = Findings(problems=self._problems(view))
        if not found.problems:
            found = replace(found, config_maps=await self._config_maps(view))
        judged = {gate.id: gate for gate in judge_gates(view.spec, found) if gate.id in ("spec", "config-maps")}
        refusal = ""
        if not found.problems and view.spec.scripts:
            judged["scripts"], refusal = await self._keep_scripts(view)
        gates.update(judged)
        shut = [gate for gate in judged.values() if gate.state != "ok"]
        return _Look(tuple(gates.values()), "; ".join(f"{gate.id}: {gate.message}" for gate in shut), refusal)

    def _problems(self, view: Submission) -> tuple[str, ...]:
        """Checked once for every generation: a thousand batches are many fields."""
        memory = self._memories.setdefault(view.metadata.key, _Memory())
        if memory.checked != view.metadata.generation:
            memory.problems = find_problems(view)
            if not memory.problems and spec_hash(view.spec) != view.status.spec_hash:
                memory.problems = ("the spec was changed after it was accepted: submit that under another key",)
            memory.checked = view.metadata.generation
        return memory.problems

    async def _keep_scripts(self, view: Submission) -> tuple[Gate, str]:
        """How they are; and what the API server says when it will never take them."""
        try:
            await self._creation.keep_scripts(view)
        except InTheWay as error:
            return Gate("scripts", FAIL, error.message, "delete that ConfigMap, or submit under another key"), ""
        except REFUSALS as error:
            told = clean_line(error.message)
            return Gate("scripts", FAIL, told, "correct the scripts and submit under another key"), told
        except KubeError as error:
            return Gate("scripts", "unknown", error.message, "looked at again by itself"), ""
        return Gate("scripts", "ok", "the ConfigMap with the scripts is there"), ""

    async def _config_maps(self, view: Submission) -> Mapping[str, bool | None]:
        """Read at most once a tick, however often Jobs change."""
        memory = self._memories.setdefault(view.metadata.key, _Memory())
        now = self._clock.monotonic()
        if now - memory.looked_at >= LOOK_SECONDS / 2:
            memory.config_maps = await self._gates.config_maps(view.metadata.namespace, view.spec)
            memory.looked_at = now
        return memory.config_maps

    async def _snapshot(self, view: Submission, look: _Look) -> SubmissionSnapshot:
        hindrances = await self._hindrances.read(view.metadata.key, own_jobs(view, self._watch))
        jobs = see_jobs(view, self._watch, hindrances, self._clock.now())
        in_flight = self._creation.in_flight(view, tuple(jobs))
        ended = {step.name for step in view.status.steps if step.phase in STEP_ENDED}
        done = ended | set(jobs) | in_flight
        due = {step.name: step.step for step in steps_of(view.spec) if step.name not in done}
        pins = await self._gates.pins(view.metadata.namespace, view.spec, due)
        return SubmissionSnapshot(
            spec=view.spec,
            status=view.status,
            jobs=jobs,
            in_flight=in_flight,
            pins=pins,
            node_uids=frozenset(node.uid for node in self._fleet.nodes.values()) if self._fleet.fresh else frozenset(),
            cancel=read_cancel(view),
            held=look.held,
            refused=dict.fromkeys(due, look.refusal) if look.refusal else {},
        )

    async def _carry_out(self, view: Submission, plan: SubmissionPlan) -> tuple[MooringError | None, dict[str, str]]:
        """Deletes first, then creates; what fails is told in the status before it is retried, or given up."""
        await self._stopping.stop(view, plan.stops)
        await self._stopping.replace(view, plan.replaces)
        if not plan.creates:
            return None, {}
        inherited = await read_inheritance(self._client, view.metadata.namespace, view.spec.inherit_env)
        if inherited.problem or inherited.problem is None:
            return Unavailable(inherited.problem or "the Deployment to inherit from cannot be read"), {}
        try:
            return None, await self._creation.create(view, plan.creates, inherited)
        except MooringError as error:
            return error, {}

    async def _unblock(
        self, view: Submission, gates: tuple[Gate, ...], trouble: InTheWay
    ) -> tuple[tuple[Gate, ...], str]:
        """A Job that came into the way after admission: swept as before it."""
        cleared = await self._admitting.sweep(view)
        held = (cleared.why if cleared is not None else "") or trouble.message
        gate = Gate("names", FAIL, held, "it is deleted as soon as it is proven to be a leftover")
        kept = tuple(one for one in gates if one.id != "names")
        return ((*kept, gate) if cleared is not None and cleared.strangers else kept), held

    async def _evidence(self, view: Submission, plan: SubmissionPlan) -> Failure | None:
        if not plan.failed:
            return None
        before = next((step.why for step in view.status.steps if step.name == plan.failed), "")
        for job in own_jobs(view, self._watch):
            if job.metadata.labels.get(names.STEP) == plan.failed:
                pods = self._watch.pods(view.metadata.namespace, job.metadata.name)
                return await gather_evidence(self._client, job, pods, before)
        step = next(step for step in plan.steps if step.name == plan.failed)
        return Failure(reason=f"{step.job}: {step.why or 'it failed, and its Job is gone'}")

    def _forget(self, key: str, view: Submission | None) -> None:
        self._memories.pop(key, None)
        self._admitting.forget(key)
        self._hindrances.forget(key)
        self._telling.forget(key)
        if view is not None:
            self._creation.forget(view.metadata.uid)
            self._stopping.forget(view.metadata.uid)


def read_cancel(view: Submission) -> Cancel | None:
    """Whether somebody asked to stop; a text that cannot be read asks for it too."""
    text = view.metadata.annotations.get(names.CANCEL)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Cancel)
    except msgspec.DecodeError:
        return Cancel(reason=text[:200])
