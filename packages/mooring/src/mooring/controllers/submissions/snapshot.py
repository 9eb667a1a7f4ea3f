"""What the decision about a submission that runs looks at, frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hawser.errors import KubeError
from mooring.controllers.submissions.admission import LOOK_SECONDS
from mooring.controllers.submissions.cancel import read_cancel
from mooring.controllers.submissions.creation import JobCreation
from mooring.controllers.submissions.gates import GateReader, find_problems
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.controllers.submissions.jobs import own_jobs, see_jobs
from mooring.controllers.submissions.missing_pods import MissingPods
from mooring.engine.context import Context
from mooring.engine.creator import REFUSALS, NameTaken
from mooring.kinds.views import Submission
from mooring.model.evidence import clean_line
from mooring.model.submission import STEP_ENDED, Gate, spec_hash, steps_of
from mooring.planning.submissions.gates import FAIL, Findings, judge_gates
from mooring.planning.submissions.plan import SubmissionSnapshot


@dataclass(slots=True)
class _Memory:
    """Of one submission, between passes; all of it may be lost at any time."""

    config_maps: dict[str, bool | None] = field(default_factory=dict)
    looked_at: float = float("-inf")
    checked: int = -1  # the generation whose spec was checked last
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubmissionLook:
    """The snapshot of the decision, and the gates as they were found."""

    planned: SubmissionSnapshot
    gates: tuple[Gate, ...]


@dataclass(frozen=True, slots=True)
class _Gates:
    """Why nothing new may be made (`held`; `closed` without what could not be read), or never will be (`refusal`)."""

    gates: tuple[Gate, ...]
    held: str
    closed: str
    refusal: str


class SubmissionSnapshots:
    """Takes them: the gates that can close while it runs, its Jobs, and where they may go."""

    def __init__(
        self, context: Context, informer: SubmissionInformer, gates: GateReader, creation: JobCreation
    ) -> None:
        self._clock = context.clock
        self._nodes = context.nodes
        self._informer = informer
        self._gates = gates
        self._creation = creation
        self._missing_pods = MissingPods(context, informer)
        self._memories: dict[str, _Memory] = {}

    def forget(self, key: str) -> None:
        """The submission has ended, or is gone."""
        self._memories.pop(key, None)
        self._missing_pods.forget(key)

    async def take(self, view: Submission) -> SubmissionLook:
        """Everything about one submission."""
        found = await self._look_at_gates(view)
        missing = await self._missing_pods.read(view.metadata.key, own_jobs(view, self._informer))
        jobs = see_jobs(view, self._informer, missing, self._clock.now())
        in_flight = self._creation.in_flight(view, tuple(jobs))
        ended = {step.name for step in view.status.steps if step.phase in STEP_ENDED}
        done = ended | set(jobs) | in_flight
        due = {step.name: step.step for step in steps_of(view.spec) if step.name not in done}
        nodes = self._nodes.by_name.values() if self._nodes.fresh else ()
        planned = SubmissionSnapshot(
            spec=view.spec,
            status=view.status,
            jobs=jobs,
            in_flight=in_flight,
            pins=await self._gates.pins(view.metadata.namespace, view.spec, due),
            node_uids=frozenset(node.uid for node in nodes),
            cancel=read_cancel(view),
            held=found.held,
            closed=found.closed,
            refused=dict.fromkeys(due, found.refusal) if found.refusal else {},
        )
        return SubmissionLook(planned, found.gates)

    async def _look_at_gates(self, view: Submission) -> _Gates:
        """The gates that can close while it runs: what is required may vanish, the spec may be changed."""
        gates = {gate.id: gate for gate in view.status.gates}
        found = Findings(view.metadata.namespace, problems=self._problems(view))
        if not found.problems:
            found = replace(found, config_maps=await self._config_maps(view))
        judged = {gate.id: gate for gate in judge_gates(view.spec, found) if gate.id in ("spec", "config-maps")}
        refusal = ""
        if not found.problems and view.spec.scripts:
            judged["scripts"], refusal = await self._keep_scripts(view)
        gates.update(judged)
        shut = [gate for gate in judged.values() if gate.state != "ok"]
        failed = [gate for gate in shut if gate.state == FAIL]
        return _Gates(tuple(gates.values()), _listed(shut), _listed(failed), refusal)

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
        except NameTaken as error:
            return Gate("scripts", FAIL, error.message, "delete that ConfigMap, or submit under another key"), ""
        except REFUSALS as error:
            message = clean_line(error.message)
            return Gate("scripts", FAIL, message, "correct the scripts and submit under another key"), message
        except KubeError as error:
            return Gate("scripts", "unknown", error.message, "checked again automatically"), ""
        return Gate("scripts", "ok", "the ConfigMap with the scripts is there"), ""

    async def _config_maps(self, view: Submission) -> Mapping[str, bool | None]:
        """Read at most once a tick, however often Jobs change."""
        memory = self._memories.setdefault(view.metadata.key, _Memory())
        now = self._clock.monotonic()
        if now - memory.looked_at >= LOOK_SECONDS / 2:
            memory.config_maps = await self._gates.config_maps(view.metadata.namespace, view.spec)
            memory.looked_at = now
        return memory.config_maps


def _listed(gates: list[Gate]) -> str:
    return "; ".join(f"{gate.id}: {gate.message}" for gate in gates)
