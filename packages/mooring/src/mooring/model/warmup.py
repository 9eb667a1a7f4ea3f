"""A Warmup: a dataset that is kept on the local disks of nodes. Its spec and status."""

import math
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, Literal

import msgspec

from hawser.quantity import parse_quantity
from mooring.model.adoption import Adopt, Adoption, check_adopt
from mooring.model.errors import InvalidInput
from mooring.model.evidence import Failure
from mooring.model.placement import Placement
from mooring.model.pod_template import PodTemplate, SiblingFields, check_pod_template
from mooring.model.warm_data import DataCopy, is_data_folder
from mooring.model.why import Condition

DEFAULT_FOLDER = "/var/lib/mooring"  # of datasets, unless `localPath` is set
NODE_SHARE = Fraction(1, 2)  # the share of a node's memory, unless `memoryBudget` is set

MOST_SHARDS = 1000


class Phase(StrEnum):
    """The phase of a Warmup. `Stale` takes precedence over every other."""

    PENDING = "Pending"
    WARMING = "Warming"
    READY = "Ready"
    STALE = "Stale"
    FAILED = "Failed"


class ShardState(StrEnum):
    """The state of one shard."""

    WAITING = "waiting"
    FETCHING = "fetching"
    VERIFYING = "verifying"
    DONE = "done"
    FAILED = "failed"
    STALE = "stale"  # was warm on a node that is gone, or under an outdated order


class NodesVerdict(StrEnum):
    """Whether there are enough nodes for every shard."""

    OK = "ok"
    NO_NODES = "no_nodes"
    TOO_FEW_NODES = "too_few_nodes"
    NODE_TOO_SMALL = "node_too_small"


class WarmupSpec(msgspec.Struct, rename="camel", frozen=True):
    """Which data goes to which nodes, and how it is fetched."""

    dataset: str = ""
    generation: str | int = "1"
    shards: int = 1
    mode: Literal["Shard", "Broadcast"] = "Shard"
    placement: Placement = msgspec.field(default_factory=Placement)
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[dict[str, Any], ...] = ()
    service_account: str = ""
    local_path: str = ""
    verify: tuple[str, ...] = ()
    attempts: int = 6
    attempt_delay_seconds: int = 30
    propagation_seconds: int = 60
    fail_after_restarts: int = 5
    deadline_seconds: int = 3600
    memory_budget: str = ""
    size: str = ""
    reclaim: Literal["Keep", "Delete"] = "Keep"
    adopt: Adopt | None = None
    pod_template: PodTemplate = msgspec.field(default_factory=PodTemplate)

    @property
    def account(self) -> str:
        """The ServiceAccount that is named; empty for the namespace's default."""
        return self.service_account or self.pod_template.service_account_name


class ShardStatus(msgspec.Struct, rename="camel", frozen=True):
    """The place and state of a shard.

    `warm` is the generation in use, also while another one is fetched: on its node, or on `warmNode` while the shard
    moves.
    """

    shard: int = 0
    node: str = ""
    node_uid: str = msgspec.field(default="", name="nodeUID")
    job: str = ""
    state: str = ""
    progress: float = 0.0  # 0 to 1
    warm: str = ""
    restarts: int = 0
    why: str = ""
    warm_node: str = ""
    warm_node_uid: str = msgspec.field(default="", name="warmNodeUID")

    @property
    def holder(self) -> tuple[str, str]:
        """Name and uid of the node that holds the copy in use."""
        return (self.warm_node, self.warm_node_uid) if self.warm_node else (self.node, self.node_uid)


class Release(msgspec.Struct, rename="camel", frozen=True):
    """The result of the last release of stale Jobs."""

    status: str = ""  # ok, partial, aborted
    dataset: str = ""
    namespace: str = ""
    deleted: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    at: datetime | None = None


class TerminalFailure(msgspec.Struct, rename="camel", frozen=True):
    """A Job that failed for good, counted once by its uid."""

    job: str = ""
    uid: str = ""
    at: datetime | None = None
    reason: str = ""


class Circuit(msgspec.Struct, rename="camel", frozen=True):
    """The circuit breaker. While it is open no Job is created, until `openUntil` or until a user closes it."""

    state: str = "closed"
    failures: tuple[TerminalFailure, ...] = ()
    since: datetime | None = None  # failures before it no longer count
    open_until: datetime | None = None
    closed_by: str = ""  # the request that closed it last

    @property
    def is_open(self) -> bool:
        return self.state == "open"


class Rewarm(msgspec.Struct, rename="camel", frozen=True):
    """The last forced re-warm that fired: Jobs made under another id are stale."""

    id: str = ""
    fired_at: datetime | None = None
    pending: str = ""  # a request that waits for nodes


class AccessChange(msgspec.Struct, rename="camel", frozen=True):
    """Since when the fetch has its current permissions."""

    hash: str = ""
    since: datetime | None = None


class WarmupStatus(msgspec.Struct, rename="camel", frozen=True):
    """`status` of a Warmup."""

    observed_generation: int = 0
    phase: str = ""
    reason: str = ""
    verdict: str = ""
    nodes_ready: int = 0
    nodes_total: int = 0
    shards: tuple[ShardStatus, ...] = ()
    failure: Failure | None = None
    release: Release | None = None
    circuit: Circuit | None = None
    rewarm: Rewarm | None = None
    access: AccessChange | None = None
    waiting_since: datetime | None = None
    copies: tuple[DataCopy, ...] = ()
    adoption: Adoption | None = None
    conditions: tuple[Condition, ...] = ()


class Warmup(msgspec.Struct, frozen=True):
    """A Warmup as the cluster has it."""

    namespace: str
    name: str
    uid: str
    generation: int
    created_at: datetime
    spec: WarmupSpec
    status: WarmupStatus = WarmupStatus()
    rewarm_request: str = ""
    close_request: str = ""
    terminating: bool = False
    defects: tuple[str, ...] = ()  # fields that could not be read
    terminating_since: datetime | None = None
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def round(self) -> str:
        """The forced re-warm that current Jobs belong to; empty before the first."""
        return self.status.rewarm.id if self.status.rewarm else ""

    @property
    def rewarm_wish(self) -> str:
        """The forced re-warm that has not fired. It is kept if a client replaces the object without the annotation."""
        if self.rewarm_request and self.rewarm_request != self.round:
            return self.rewarm_request
        return self.status.rewarm.pending if self.status.rewarm else ""


def check_spec(spec: WarmupSpec) -> list[InvalidInput]:
    """All errors of a spec, each with its field."""
    problems: list[InvalidInput] = []
    if not spec.dataset:
        problems.append(InvalidInput("spec.dataset", spec.dataset, "the dataset's name"))
    if spec.generation == "":
        problems.append(InvalidInput("spec.generation", spec.generation, 'a number or a name, such as "2026-03"'))
    bounds = {
        "spec.shards": (spec.shards, 1, MOST_SHARDS),
        "spec.attempts": (spec.attempts, 1, 100),
        "spec.attemptDelaySeconds": (spec.attempt_delay_seconds, 0, 3600),
        "spec.propagationSeconds": (spec.propagation_seconds, 0, 3600),
        "spec.failAfterRestarts": (spec.fail_after_restarts, 1, 100),
        "spec.deadlineSeconds": (spec.deadline_seconds, 1, 604_800),
    }
    for field, (value, low, high) in bounds.items():
        if not low <= value <= high:
            problems.append(InvalidInput(field, value, f"between {low} and {high}"))
    if spec.local_path and not is_data_folder(spec.local_path):
        problems.append(
            InvalidInput("spec.localPath", spec.local_path, "an absolute path below /, without :, . and .. in it")
        )
    for field, quantity in (("spec.memoryBudget", spec.memory_budget), ("spec.size", spec.size)):
        try:
            number = parse_quantity(quantity, field) if quantity else Fraction(1)
        except InvalidInput as problem:
            problems.append(problem)
            continue
        if number <= 0:
            problems.append(InvalidInput(field, quantity, "more than nothing"))
    path = spec.local_path.rstrip("/")
    siblings = SiblingFields(
        placement=spec.placement,
        service_account=spec.service_account,
        paths={path: "spec.localPath"} if path else {DEFAULT_FOLDER: "spec.localPath, by default"},
        node_is_chosen=True,
    )
    return [*problems, *check_adopt(spec.adopt), *check_pod_template(spec.pod_template, siblings)]


def find_problems(warmup: Warmup, older: Iterable[str] = ()) -> tuple[str, ...]:
    """Why the Warmup must not be reconciled; `older` has the Warmups with the same dataset."""
    held = [
        f"dataset {warmup.spec.dataset!r} is warmed by the Warmup {name} already: delete one of the two"
        for name in older
    ]
    return (*warmup.defects, *(str(problem) for problem in check_spec(warmup.spec)), *held)


def shard_bytes(spec: WarmupSpec) -> int:
    """The memory in bytes that a node needs for its part of the data; 0 if the size is unknown."""
    if not spec.size:
        return 0
    whole = parse_quantity(spec.size)
    return int(whole if spec.mode == "Broadcast" else whole / max(spec.shards, 1))


def least_memory(spec: WarmupSpec) -> float:
    """The least memory in bytes that a node must have to hold a copy; infinite if no node can."""
    asked = parse_quantity(spec.memory_budget) if spec.memory_budget else NODE_SHARE
    if asked <= 1:
        return math.ceil(shard_bytes(spec) / asked)
    return int(asked) if shard_bytes(spec) <= asked else math.inf
