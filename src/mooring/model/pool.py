"""A WorkerPool: what its owner asked for, checked, and what is so."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from mooring.model.errors import InvalidInput
from mooring.model.names import OWN_PREFIX
from mooring.model.why import Condition


class Placement(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Where workers may run: a node pool by name, or a selector, plus tolerations of the owner's own."""

    node_pool: str = ""
    node_selector: dict[str, str] = {}
    tolerations: list[dict[str, Any]] = []
    warmup: str = ""
    warmup_required: bool = False


class Protection(msgspec.Struct, rename="camel", frozen=True):
    """How long working pods are kept from disruption."""

    ceiling_seconds: int = 3600
    grace_seconds: int = 600
    budget: bool = True


class Health(msgspec.Struct, rename="camel", frozen=True):
    """Where to ask a worker how it is, and when to give it up."""

    port: int
    path: str = "/healthz"
    period_seconds: int = 2
    timeout_seconds: int = 3
    failures: int = 3


class Mint(msgspec.Struct, rename="camel", frozen=True):
    """The webhook that makes a worker's credentials when it is claimed."""

    url: str
    timeout_seconds: int = 10


class Limits(msgspec.Struct, rename="camel", frozen=True):
    """How much one owner may hold."""

    per_owner: int | None = None


class PoolSpec(msgspec.Struct, rename="camel", frozen=True):
    """`spec` of a WorkerPool."""

    warm: int = 0
    max: int = 0
    template: dict[str, Any] = {}
    slots: int = 1
    reuse: Literal["Never", "Always"] = "Never"
    idle_seconds: int = 300
    placement: Placement = msgspec.field(default_factory=Placement)
    service_account: str = ""
    protection: Protection = Protection()
    health: Health | None = None
    dispatch: Literal["Push", "Poll"] = "Push"
    mint: Mint | None = None
    limits: Limits = Limits()


class PoolStatus(msgspec.Struct, rename="camel", frozen=True):
    """`status` of a WorkerPool: counts by state, and conditions that say why."""

    observed_generation: int = 0
    replicas: int = 0
    idle: int = 0
    busy: int = 0
    starting: int = 0
    draining: int = 0
    lost: int = 0
    queued: int = 0
    terminating: int = 0
    selector: str = ""
    conditions: tuple[Condition, ...] = ()


class Pool(msgspec.Struct, frozen=True):
    """A WorkerPool as the cluster holds it."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: PoolSpec
    status: PoolStatus = PoolStatus()
    terminating: bool = False
    defects: tuple[str, ...] = ()  # fields that could not be read
    created_at: datetime | None = None
    terminating_since: datetime | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def find_problems(pool: Pool) -> tuple[str, ...]:
    """Why a pool must not be acted on; empty when it may."""
    return (*pool.defects, *(str(problem) for problem in check_spec(pool.spec)))


_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def check_spec(spec: PoolSpec) -> list[InvalidInput]:
    """Everything that is wrong with a pool, each naming its field. The CRD says the same to kubectl users."""
    problems: list[InvalidInput] = []
    bounds = {
        "spec.warm": (spec.warm, 0, 10_000),
        "spec.max": (spec.max, 0, 10_000),
        "spec.slots": (spec.slots, 1, 1_000),
        "spec.idleSeconds": (spec.idle_seconds, 0, 86_400 * 7),
        "spec.protection.ceilingSeconds": (spec.protection.ceiling_seconds, 1, 86_400 * 30),
        "spec.protection.graceSeconds": (spec.protection.grace_seconds, 0, 86_400),
    }
    for field, (value, low, high) in bounds.items():
        if not low <= value <= high:
            problems.append(InvalidInput(field, value, f"between {low} and {high}"))
    if spec.warm > spec.max:
        problems.append(InvalidInput("spec.warm", spec.warm, f"at most spec.max ({spec.max})"))
    if spec.placement.node_pool and spec.placement.node_selector:
        problems.append(
            InvalidInput("spec.placement", "nodePool and nodeSelector", "either nodePool or nodeSelector, not both")
        )
    if spec.service_account not in ("", "PerWorker") and not _NAME.fullmatch(spec.service_account):
        problems.append(
            InvalidInput("spec.serviceAccount", spec.service_account, "PerWorker or a ServiceAccount's name")
        )
    problems += _check_template(spec.template)
    return problems


def _check_template(template: Mapping[str, Any]) -> list[InvalidInput]:
    problems: list[InvalidInput] = []
    metadata = template.get("metadata") or {}
    for section in ("labels", "annotations"):
        for key in metadata.get(section) or {}:
            if str(key).startswith(OWN_PREFIX):
                field = f"spec.template.metadata.{section}"
                problems.append(InvalidInput(field, key, f"free of {OWN_PREFIX}* keys: Mooring writes those itself"))
    pod = template.get("spec") or {}
    if not pod.get("containers"):
        problems.append(InvalidInput("spec.template.spec.containers", pod.get("containers"), "a list of containers"))
    return problems
