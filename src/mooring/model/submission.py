"""A Submission: batch work with a setup, batches in parallel and a finalizer, as asked for and as it stands."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import msgspec

from mooring.model.errors import Conflict, InvalidInput
from mooring.model.evidence import Failure
from mooring.model.pool import Placement
from mooring.model.why import Condition

DEFAULT_IMAGE = "busybox:stable"
SCRIPTS_PATH = "/mooring/scripts"
OWN_VARIABLES = "MOORING_"
MOST_BATCHES = 10_000
DEFAULT_CEILING = 3  # submissions that run at once in a namespace
_STEM_TEXT = 23

RawObject = dict[str, Any]


class KeyReused(Conflict):
    """The key belongs to a submission with another spec."""

    code = "key_reused"


class Phase(StrEnum):
    """How far a submission is."""

    PENDING = "Pending"
    REFUSED = "Refused"
    SUBMITTING = "Submitting"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


STARTED = frozenset({Phase.SUBMITTING, Phase.RUNNING})
ENDED = frozenset({Phase.SUCCEEDED, Phase.FAILED})


class StepKind(StrEnum):
    """Which part of the work a step is."""

    SETUP = "setup"
    BATCH = "batch"
    FINALIZER = "finalizer"


class StepPhase(StrEnum):
    """How far a step is. `Skipped` steps are never made, `Cancelled` ones were stopped by somebody."""

    WAITING = "Waiting"
    STARTING = "Starting"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    SKIPPED = "Skipped"


STEP_ENDED = frozenset({StepPhase.SUCCEEDED, StepPhase.FAILED, StepPhase.CANCELLED, StepPhase.SKIPPED})


class _Part(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A part of a spec: a field that nobody knows is a mistake, never silently dropped."""


class EnvVar(_Part, frozen=True):
    """A variable: a literal value, or a reference as in a pod."""

    name: str
    value: str = ""
    value_from: RawObject | None = None


class InheritEnv(_Part, frozen=True):
    """Variables taken over from a running Deployment, by the prefix of their names."""

    deployment: str = ""
    prefixes: tuple[str, ...] = ()


class Requires(_Part, frozen=True):
    """What must be there before anything is made, and what to do while a warmup is not ready."""

    config_maps: tuple[str, ...] = ()
    warmups: tuple[str, ...] = ()
    warmup_policy: Literal["Wait", "Refuse"] = "Wait"


class Retry(_Part, frozen=True):
    """How often a step is tried, and for how long in all."""

    attempts: int = 3
    deadline_seconds: int = 86_400


class Login(_Part, frozen=True):
    """A command that must succeed in the container before the program starts."""

    command: tuple[str, ...] = ()
    attempts: int = 5
    delay_seconds: int = 5


Options = dict[str, str | int | tuple[str | int, ...]]  # a number in a YAML list is the token it looks like


class Step(_Part, frozen=True):
    """One Job: what it adds to the submission's own arguments and variables, and where it runs."""

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


class Gate(msgspec.Struct, rename="camel", frozen=True):
    """One thing that is checked. `state` is ok, fail or unknown; unknown never counts as ok."""

    id: str = ""
    state: str = "unknown"
    message: str = ""
    fix: str = ""


class JobCounts(msgspec.Struct, rename="camel", frozen=True):
    """The Jobs of a submission."""

    total: int = 0
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class StepStatus(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """How one step fares, and why."""

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
    conditions: tuple[Condition, ...] = ()


class Cancel(msgspec.Struct, rename="camel", frozen=True):
    """Somebody asked to stop. With `finalize` the finalizer still runs."""

    by: str = ""
    reason: str = ""
    finalize: bool = False


@dataclass(frozen=True, slots=True)
class NamedStep:
    """A step with the name that its Job is called after."""

    name: str
    kind: StepKind
    step: Step


def steps_of(spec: SubmissionSpec) -> tuple[NamedStep, ...]:
    """All steps in their order; batches without a name are numbered."""
    found = [NamedStep("setup", StepKind.SETUP, spec.setup)] if spec.setup is not None else []
    for index, batch in enumerate(spec.batches):
        found.append(NamedStep(batch.name or f"batch-{index}", StepKind.BATCH, batch))
    if spec.finalizer is not None:
        found.append(NamedStep("finalizer", StepKind.FINALIZER, spec.finalizer))
    return tuple(found)


def name_for(key: str) -> str:
    """The submission's name, the same for the same key; its Jobs are called after it."""
    text = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:_STEM_TEXT].strip("-") or "key"
    return f"{text}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def job_name(key: str, step: str) -> str:
    """At most 63 characters, as Jobs demand."""
    return f"{name_for(key)}-{step}"


def scripts_name(key: str) -> str:
    """The ConfigMap that holds the submission's own scripts."""
    return f"{name_for(key)}-scripts"


def spec_hash(spec: SubmissionSpec) -> str:
    """Equal for specs that mean the same."""
    return hashlib.sha256(msgspec.json.encode(spec, order="sorted")).hexdigest()[:16]


def read_spec(raw: object) -> SubmissionSpec:
    """A spec from outside; `InvalidInput` names the field that cannot be read."""
    try:
        return msgspec.convert(raw, SubmissionSpec)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        raise InvalidInput(f"spec{path.rstrip('`')}", "this value", f"as described: {what}") from error
