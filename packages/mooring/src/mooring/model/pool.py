"""A WorkerPool: its spec with validation, and its status."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

import msgspec

from mooring.model.demand import Demand, DemandStatus, check_demand
from mooring.model.errors import InvalidInput
from mooring.model.names import OWN_PREFIX, OWNER_VALUE
from mooring.model.placement import Placement
from mooring.model.pod_template import check_resources
from mooring.model.reclaim import EffectiveReclaim, Reclaim
from mooring.model.why import Condition


class Protection(msgspec.Struct, rename="camel", frozen=True):
    """How long busy pods are protected from disruption."""

    ceiling_seconds: int = 3600
    grace_seconds: int = 600
    budget: bool = True


class Health(msgspec.Struct, rename="camel", frozen=True):
    """The health check of workers, and when a worker counts as failed."""

    port: int
    path: str = "/healthz"
    period_seconds: int = 2
    timeout_seconds: int = 3
    failures: int = 3


class SecretKey(msgspec.Struct, rename="camel", frozen=True):
    """One key of a Secret in the pool's namespace."""

    secret_name: str
    key: str


class MintAuth(msgspec.Struct, frozen=True, omit_defaults=True):
    """How Mooring proves to the mint who calls: with a bearer token, or with a signature."""

    bearer: SecretKey | None = None
    hmac: SecretKey | None = None


class Mint(msgspec.Struct, rename="camel", frozen=True):
    """The webhook that creates credentials when a worker is claimed, and the one that revokes them."""

    url: str
    timeout_seconds: int = 10
    auth: MintAuth | None = None
    revoke_url: str = msgspec.field(default="", name="revokeURL")


class Limits(msgspec.Struct, rename="camel", frozen=True):
    """How many open claims one owner may have, and how many claims may wait: of all owners, with fairness of each."""

    per_owner: int | None = None
    max_queued: int | None = None


class Fairness(msgspec.Struct, rename="camel", frozen=True):
    """How owners share the queue: by weight among claims of equal priority. Owners without a weight have 1."""

    weights: dict[str, int] = {}


class PoolSpec(msgspec.Struct, rename="camel", frozen=True):
    """`spec` of a WorkerPool."""

    warm: int = 0
    max: int = 0
    template: dict[str, Any] = {}
    slots: int = 1
    reuse: Literal["Never", "Always", "SameOwner"] = "Never"
    sharing: Literal["Any", "PerOwner"] = "Any"
    reserve: dict[str, int] = {}
    idle_seconds: int = 300
    placement: Placement = msgspec.field(default_factory=Placement)
    service_account: str = ""
    protection: Protection = Protection()
    health: Health | None = None
    dispatch: Literal["Push", "Poll"] = "Push"
    mint: Mint | None = None
    limits: Limits = Limits()
    demand: Demand | None = None
    fairness: Fairness | None = None

    @property
    def follows_demand(self) -> bool:
        """Whether the floor follows from `demand`; in a dry run it is only computed."""
        return self.demand is not None and not self.demand.dry_run

    @property
    def separates_owners(self) -> bool:
        """Whether it matters for a worker whose session it gets."""
        return bool(self.reserve) or self.sharing == "PerOwner" or self.reuse == "SameOwner"

    @property
    def marks_tenants(self) -> bool:
        """Whether an idle worker carries the owner of its last session."""
        return self.sharing == "PerOwner" or self.reuse == "SameOwner"

    reclaim: Reclaim = Reclaim()

    @property
    def effective_reclaim(self) -> EffectiveReclaim:
        """What becomes of silent workers of this pool, with the default of the policy filled in."""
        policy = self.reclaim.effective_policy(self.dispatch, self.reuse)
        return EffectiveReclaim(float(self.reclaim.silent_seconds), policy, self.dispatch == "Poll")


class PoolStatus(msgspec.Struct, rename="camel", frozen=True):
    """`status` of a WorkerPool: counts by state, and conditions."""

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
    demand: DemandStatus | None = None
    conditions: tuple[Condition, ...] = ()


class Pool(msgspec.Struct, frozen=True):
    """A WorkerPool as the cluster has it."""

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
    problems: tuple[str, ...] = ()  # why the pool must not be reconciled: its defects, and what is wrong with its spec

    def __post_init__(self) -> None:
        """Check the spec once: every claim asks for the answer."""
        problems = (*self.defects, *(str(problem) for problem in check_spec(self.spec)))
        msgspec.structs.force_setattr(self, "problems", problems)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def floor(self) -> int:
        """The number of idle workers to keep: `spec.warm`, or what followed from demand last."""
        return compute_floor(self.spec, self.status)


def compute_floor(spec: PoolSpec, status: PoolStatus) -> int:
    """The number of idle workers to keep: `spec.warm`, or what followed from demand last."""
    demand = spec.demand
    if demand is None or demand.dry_run:
        return spec.warm
    return status.demand.floor if status.demand is not None else demand.min


_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def check_spec(spec: PoolSpec) -> list[InvalidInput]:
    """All errors of a spec, each with its field. The CRD's validation gives kubectl users the same errors."""
    problems: list[InvalidInput] = []
    bounds = {
        "spec.warm": (spec.warm, 0, 10_000),
        "spec.max": (spec.max, 0, 10_000),
        "spec.slots": (spec.slots, 1, 1_000),
        "spec.idleSeconds": (spec.idle_seconds, 0, 86_400 * 7),
        "spec.protection.ceilingSeconds": (spec.protection.ceiling_seconds, 1, 86_400 * 30),
        "spec.protection.graceSeconds": (spec.protection.grace_seconds, 0, 86_400),
        "spec.reclaim.silentSeconds": (spec.reclaim.silent_seconds, 60, 86_400 * 7),
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
    problems += _check_tenants(spec)
    problems += _check_demand(spec)
    problems += check_health(spec.health)
    problems += _check_mint(spec.mint)
    problems += _check_template(spec.template)
    return problems


def _check_tenants(spec: PoolSpec) -> list[InvalidInput]:
    problems: list[InvalidInput] = []
    if spec.reuse == "SameOwner" and spec.slots > 1 and spec.sharing != "PerOwner":
        problems.append(InvalidInput("spec.reuse", spec.reuse, "used with slots 1, or with sharing PerOwner"))
    for owner, count in spec.reserve.items():
        if not OWNER_VALUE.fullmatch(owner):
            problems.append(InvalidInput("spec.reserve", owner, "owners as in a claim: a label value"))
        if not 1 <= count <= 10_000:
            problems.append(InvalidInput(f"spec.reserve.{owner}", count, "between 1 and 10000"))
    field, kept = (
        ("spec.demand.min", spec.demand.min) if spec.demand and spec.follows_demand else ("spec.warm", spec.warm)
    )
    if (reserved := sum(spec.reserve.values())) > kept:
        problems.append(InvalidInput("spec.reserve", f"{reserved} in all", f"at most {field} ({kept})"))
    return problems


def _check_demand(spec: PoolSpec) -> list[InvalidInput]:
    problems: list[InvalidInput] = []
    if spec.demand is not None:
        if spec.warm and spec.follows_demand:
            problems.append(InvalidInput("spec.warm", spec.warm, "absent: with spec.demand the floor follows demand"))
        problems += check_demand(spec.demand, spec.max)
    for owner, weight in (spec.fairness.weights if spec.fairness else {}).items():
        if not OWNER_VALUE.fullmatch(owner):
            problems.append(InvalidInput("spec.fairness.weights", owner, "owners as in a claim: a label value"))
        if not 1 <= weight <= 1000:
            problems.append(InvalidInput(f"spec.fairness.weights.{owner}", weight, "between 1 and 1000"))
    return problems


_PATH = re.compile(r"/[!-~]{0,1023}")


@lru_cache(maxsize=1024)  # asked before every check of a worker
def check_health(health: Health | None) -> tuple[InvalidInput, ...]:
    """All errors of a health check. One with errors is not made."""
    if health is None:
        return ()
    bounds = {
        "spec.health.port": (health.port, 1, 65_535),
        "spec.health.periodSeconds": (health.period_seconds, 1, 3_600),
        "spec.health.timeoutSeconds": (health.timeout_seconds, 1, 600),
        "spec.health.failures": (health.failures, 1, 100),
    }
    problems = [
        InvalidInput(field, value, f"between {low} and {high}")
        for field, (value, low, high) in bounds.items()
        if not low <= value <= high
    ]
    if not _PATH.fullmatch(health.path):
        rule = "a path that begins with / and has only visible ASCII characters, at most 1024"
        problems.append(InvalidInput("spec.health.path", health.path, rule))
    return tuple(problems)


def _check_mint(mint: Mint | None) -> list[InvalidInput]:
    problems: list[InvalidInput] = []
    if mint is None:
        return problems
    for field, url in (("spec.mint.url", mint.url), ("spec.mint.revokeURL", mint.revoke_url or mint.url)):
        if not url.startswith(("http://", "https://")):
            problems.append(InvalidInput(field, url, "a URL that begins with http:// or https://"))
    if not 1 <= mint.timeout_seconds <= 120:
        problems.append(InvalidInput("spec.mint.timeoutSeconds", mint.timeout_seconds, "between 1 and 120"))
    if mint.auth is not None and (mint.auth.bearer is None) == (mint.auth.hmac is None):
        problems.append(InvalidInput("spec.mint.auth", "", "either bearer or hmac"))
    return problems


def _check_template(template: Mapping[str, Any]) -> list[InvalidInput]:
    problems: list[InvalidInput] = []
    metadata = _section(template, "metadata")
    for section in ("labels", "annotations"):
        for key in _section(metadata, section):
            if str(key).startswith(OWN_PREFIX):
                field = f"spec.template.metadata.{section}"
                problems.append(InvalidInput(field, key, f"free of {OWN_PREFIX}* keys: Mooring writes those itself"))
    for field, holder, key in (("", template, "metadata"), ("", template, "spec"), ("metadata.", metadata, "labels"),
                               ("metadata.", metadata, "annotations")):  # fmt: skip
        if not isinstance(holder.get(key) or {}, Mapping):
            problems.append(InvalidInput(f"spec.template.{field}{key}", holder[key], "an object"))
    pod = _section(template, "spec")
    containers = pod.get("containers")
    if not containers or not isinstance(containers, list) or not all(isinstance(one, Mapping) for one in containers):
        problems.append(InvalidInput("spec.template.spec.containers", containers, "a list of containers"))
    return problems + list(_check_amounts("spec.template.spec", pod))


def _check_amounts(place: str, pod: Mapping[str, Any]) -> Iterator[InvalidInput]:
    """What a worker asks of its node is read before the API server sees it, which would refuse it."""
    holders = {place: pod}
    for kind in ("containers", "initContainers"):
        found = pod.get(kind)
        for number, container in enumerate(found if isinstance(found, list) else ()):
            if isinstance(container, Mapping):
                holders[f"{place}.{kind}[{number}]"] = container
    for inside, holder in holders.items():
        given = {part: amounts for part, amounts in _section(holder, "resources").items() if amounts is not None}
        yield from check_resources(f"{inside}.resources", given)


def _section(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = holder.get(key)
    return found if isinstance(found, Mapping) else {}
