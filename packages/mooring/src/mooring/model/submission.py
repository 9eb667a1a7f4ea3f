"""A Submission: batch work with a setup, parallel batches and a finalizer. Its spec and status."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import msgspec

from mooring.model.adoption import Adopt, Adoption
from mooring.model.errors import Conflict
from mooring.model.evidence import Failure
from mooring.model.placement import Placement
from mooring.model.pod_template import PodTemplate
from mooring.model.unreadable import explain_unreadable
from mooring.model.why import Condition

DEFAULT_IMAGE = "busybox:stable"
SCRIPTS_PATH = "/mooring/scripts"
OWN_VARIABLES = "MOORING_"
MOST_BATCHES = 10_000
DEFAULT_CEILING = 3  # submissions that may run at once in a namespace
_STEM_TEXT = 23

RawObject = dict[str, Any]


class KeyReused(Conflict):
    """The key belongs to a submission with another spec."""

    code = "key_reused"


class Phase(StrEnum):
    """The phase of a submission."""

    PENDING = "Pending"
    REFUSED = "Refused"
    SUBMITTING = "Submitting"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


STARTED = frozenset({Phase.SUBMITTING, Phase.RUNNING})
ENDED = frozenset({Phase.SUCCEEDED, Phase.FAILED})


class StepKind(StrEnum):
    """The kind of a step."""

    SETUP = "setup"
    BATCH = "batch"
    FINALIZER = "finalizer"


class StepPhase(StrEnum):
    """The phase of a step. `Skipped` steps are never created; `Cancelled` ones were stopped by a user."""

    WAITING = "Waiting"
    STARTING = "Starting"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    SKIPPED = "Skipped"


STEP_ENDED = frozenset({StepPhase.SUCCEEDED, StepPhase.FAILED, StepPhase.CANCELLED, StepPhase.SKIPPED})


class _Part(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A part of a spec. An unknown field is an error, never dropped."""


class EnvVar(_Part, frozen=True):
    """An environment variable: a literal value, or a reference as in a pod."""

    name: str
    value: str = ""
    value_from: RawObject | None = None


class InheritEnv(_Part, frozen=True):
    """Variables copied from a running Deployment, by the prefix of their names."""

    deployment: str = ""
    prefixes: tuple[str, ...] = ()


class Requires(_Part, frozen=True):
    """What must exist before anything is created, and what to do while a Warmup is not ready."""

    config_maps: tuple[str, ...] = ()
    warmups: tuple[str, ...] = ()
    warmup_policy: Literal["Wait", "Refuse"] = "Wait"


class Retry(_Part, frozen=True):
    """How often a step is tried, and for how long in total."""

    attempts: int = 3
    deadline_seconds: int = 86_400


class Login(_Part, frozen=True):
    """A command that must succeed in the container before the program starts."""

    command: tuple[str, ...] = ()
    attempts: int = 5
    delay_seconds: int = 5


Options = dict[str, str | int | tuple[str | int, ...]]  # a number in a YAML list is used as its text


class Step(_Part, frozen=True):
    """One Job: its additions to the submission's arguments and variables, and its placement."""

    name: str = ""
    program: str = ""
    args: tuple[str, ...] = ()
    options: Options = {}
    env: tuple[EnvVar, ...] = ()
    placement: Placement | None = None
    shard: int | None = None
    retry: Retry | None = None


class SubmissionSpec(_Part, frozen=True):
    """`spec` of a Submission."""

    key: str = ""
    program: str = ""
    args: tuple[str, ...] = ()
    options: Options = {}
    env: tuple[EnvVar, ...] = ()
    inherit_env: InheritEnv | None = None
    requires: Requires = Requires()
    setup: Step | None = None
    batches: tuple[Step, ...] = ()
    finalizer: Step | None = None
    retry: Retry = Retry()
    placement: Placement = msgspec.field(default_factory=Placement)
    image: str = DEFAULT_IMAGE
    login: Login | None = None
    scripts: dict[str, str] = {}
    volumes: tuple[RawObject, ...] = ()
    volume_mounts: tuple[RawObject, ...] = ()
    resources: RawObject = {}
    service_account: str = ""
    adopt: Adopt | None = None
    pod_template: PodTemplate = msgspec.field(default_factory=PodTemplate)

    @property
    def account(self) -> str:
        """The ServiceAccount that is named; empty for the namespace's default."""
        return self.service_account or self.pod_template.service_account_name

    def placement_of(self, step: Step) -> Placement:
        """Where the pods of a step may run."""
        return self.pod_template.placement(step.placement or self.placement)


class Gate(msgspec.Struct, rename="camel", frozen=True):
    """One precondition. `state` is ok, fail or unknown; unknown never counts as ok."""

    id: str = ""
    state: str = "unknown"
    message: str = ""
    fix: str = ""


class JobCounts(msgspec.Struct, rename="camel", frozen=True):
    """The number of Jobs by state."""

    total: int = 0
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class StepStatus(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """The state of one step, and why."""

    name: str = ""
    kind: str = ""
    phase: str = ""
    job: str = ""
    attempts: int = 0
    why: str = ""


class SubmissionStatus(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """`status` of a Submission."""

    observed_generation: int = 0
    phase: str = ""
    message: str = ""
    spec_hash: str = ""
    gates: tuple[Gate, ...] = ()
    jobs: JobCounts = JobCounts()
    steps: tuple[StepStatus, ...] = ()
    failure: Failure | None = None
    adoption: Adoption | None = None
    conditions: tuple[Condition, ...] = ()


class Cancel(msgspec.Struct, rename="camel", frozen=True):
    """A request to stop. With `finalize` the finalizer still runs."""

    by: str = ""
    reason: str = ""
    finalize: bool = False


@dataclass(frozen=True, slots=True)
class NamedStep:
    """A step with the name that its Job gets."""

    name: str
    kind: StepKind
    step: Step


def steps_of(spec: SubmissionSpec) -> tuple[NamedStep, ...]:
    """All steps in order; batches without a name are numbered."""
    found = [NamedStep("setup", StepKind.SETUP, spec.setup)] if spec.setup is not None else []
    for index, batch in enumerate(spec.batches):
        found.append(NamedStep(batch.name or f"batch-{index}", StepKind.BATCH, batch))
    if spec.finalizer is not None:
        found.append(NamedStep("finalizer", StepKind.FINALIZER, spec.finalizer))
    return tuple(found)


def name_for(key: str) -> str:
    """The submission's name, derived from its key; its Jobs begin with it."""
    text = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:_STEM_TEXT].strip("-") or "key"
    return f"{text}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def job_name(key: str, step: str) -> str:
    """The name of a Job of a submission, with at most 63 characters, the limit for Jobs."""
    return f"{name_for(key)}-{step}"


def scripts_name(key: str) -> str:
    """The ConfigMap that holds the submission's own scripts."""
    return f"{name_for(key)}-scripts"


def spec_hash(spec: SubmissionSpec) -> str:
    """Equal for equal specs. An empty template is left out: specs from before there were templates keep their hash."""
    parts = msgspec.to_builtins(spec)
    if not parts.get("podTemplate"):
        parts.pop("podTemplate", None)
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]


def read_spec(raw: object) -> SubmissionSpec:
    """Decode a spec from outside; `InvalidInput` names the field that cannot be read."""
    try:
        return msgspec.convert(raw, SubmissionSpec)
    except msgspec.ValidationError as error:
        raise explain_unreadable("spec", error, SubmissionSpec) from error
