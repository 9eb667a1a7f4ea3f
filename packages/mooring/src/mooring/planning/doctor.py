"""The checks of `mooring doctor`: facts in, results with ok, warn, fail or unknown out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from mooring.model import names
from mooring.model.doctor_report import Check, CheckStatus
from mooring.model.node import Quarantine
from mooring.model.pool import Pool
from mooring.model.worker import Worker
from mooring.planning.budgets.plan import AbandonedBudget

OK, WARN, FAIL, UNKNOWN = CheckStatus.OK, CheckStatus.WARN, CheckStatus.FAIL, CheckStatus.UNKNOWN

SKEW_WARN_SECONDS, SKEW_FAIL_SECONDS = 2.0, 15.0
STUCK_AFTER = timedelta(seconds=60)  # after the end of its termination grace
HEALING_SECONDS = 60.0  # a busy pool is refilled all the time, so a short shortage is normal
LEFTOVER_AFTER = timedelta(seconds=600)  # twice the grace period of the invariants
STARTED_AFTER = timedelta(seconds=120)  # how long a service may take until it serves
_MOST_SHOWN = 20
_KINDS = {"service": "managedservice"}
_SERVES = {"service": "Serving", "warmup": "Ready"}  # the condition that says since when it does not
_PASSING = ("", "Starting", "Stale")  # phases that are fine for a while
_INSTALL = "mooring install | kubectl apply -f -"


@dataclass(frozen=True, slots=True)
class Permission:
    """One verb on one resource, and whether Mooring has it."""

    group: str
    resource: str
    verb: str
    allowed: bool
    optional: bool = False  # only needed for explanations, or where Karpenter runs

    @property
    def target(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


@dataclass(frozen=True, slots=True)
class CacheState:
    """The state of one watch cache."""

    name: str
    synced: bool
    fresh: bool
    objects: int
    age_seconds: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class InvariantStatus:
    """The state of one invariant."""

    id: str
    rule: str
    state: str  # holds, broken, paused, unknown
    enforced: bool
    broken: int = 0
    paused_by: str = ""
    pause_reason: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    broken_seconds: float | None = None  # for how long it has been broken; None if unknown
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """A per-worker ServiceAccount."""

    namespace: str
    name: str
    created_at: datetime | None


def judge_clock(subject: str, skew_seconds: float | None) -> Check:
    """Compare the clock of the cluster or of the ledger with ours: each writes timestamps that the other reads."""
    check_id = f"clock/{subject}"
    if skew_seconds is None:
        return Check(check_id, UNKNOWN, f"the {subject} does not say what time it is")
    shown = f"{abs(skew_seconds):.1f} s {'ahead of' if skew_seconds > 0 else 'behind'} ours"
    evidence = {"skewSeconds": round(skew_seconds, 3)}
    if abs(skew_seconds) < SKEW_WARN_SECONDS:
        return Check(check_id, OK, f"the {subject}'s clock agrees with ours", evidence)
    status = FAIL if abs(skew_seconds) >= SKEW_FAIL_SECONDS else WARN
    return Check(check_id, status, f"the {subject}'s clock is {shown}", evidence, "let NTP set the clocks of both")


def judge_permissions(permissions: Iterable[Permission]) -> tuple[Check, ...]:
    """One check for each resource, listing every verb."""
    by_target: dict[str, list[Permission]] = {}
    for one in permissions:
        by_target.setdefault(one.target, []).append(one)
    checks = []
    for target, asked in sorted(by_target.items()):
        missing = [one.verb for one in asked if not one.allowed]
        evidence = {"allowed": [one.verb for one in asked if one.allowed], "missing": missing}
        if not missing:
            checks.append(
                Check(f"permission/{target}", OK, f"{target}: may {', '.join(evidence['allowed'])}", evidence)
            )
            continue
        status = WARN if all(one.optional for one in asked) else FAIL
        message = f"{target}: {', '.join(missing)} is missing"
        checks.append(Check(f"permission/{target}", status, message, evidence, f"{_INSTALL}  # prints the roles"))
    return tuple(checks)


def judge_crd(wanted: Mapping[str, Any], found: Mapping[str, Any] | None) -> Check:
    """Check that the cluster serves our kind with every field that this version writes."""
    name = wanted["metadata"]["name"]
    check_id, version = f"crd/{name}", wanted["spec"]["versions"][0]["name"]
    if found is None:
        return Check(check_id, FAIL, f"{name} is not installed", fix=_INSTALL)
    conditions = (found.get("status") or {}).get("conditions") or ()
    if not any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions):
        return Check(check_id, FAIL, f"{name} is installed and not served", fix=f"kubectl describe crd {name}")
    served = {one["name"]: one for one in found["spec"]["versions"] if one.get("served")}
    if version not in served:
        message = f"{name} serves {', '.join(sorted(served)) or 'nothing'}, not {version}"
        return Check(check_id, FAIL, message, fix=_INSTALL)
    lacking = sorted(_fields(wanted["spec"]["versions"][0]) - _fields(served[version]))
    if lacking:
        message = f"{name} is older than this build: {len(lacking)} field(s) are unknown to it, such as {lacking[0]}"
        return Check(check_id, FAIL, message, {"missing": lacking[:_MOST_SHOWN]}, _INSTALL)
    return Check(check_id, OK, f"{name} is served as {version} with every field", {"version": version})


def _fields(version: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(_paths((version.get("schema") or {}).get("openAPIV3Schema") or {}, ""))


def _paths(schema: Mapping[str, Any], at: str) -> Iterable[str]:
    for name, inner in (schema.get("properties") or {}).items():
        path = f"{at}.{name}".lstrip(".")
        yield path
        yield from _paths(inner, path)
        yield from _paths(inner.get("items") or {}, f"{path}[]")


def judge_ledger(incarnation: str, armed: bool, cause: str) -> Check:
    """Check that the ledger answers, and whether a missing row may be used as a proof."""
    evidence = {"incarnation": incarnation, "armed": armed, "cause": cause}
    if armed:
        return Check("ledger", OK, f"the ledger answers; incarnation {incarnation} is armed", evidence)
    message = f"the ledger is incarnation {incarnation} ({cause}) and not armed: nothing is deleted for lack of a row"
    return Check(
        "ledger",
        WARN,
        message,
        evidence,
        "compare its claims with the cluster (docs/concepts/ledger.md), then: mooring arm --reason '...'",
    )


def judge_leader(leader: str, leading: bool, obstacle: str) -> Check:
    """Check that some replica leads; `obstacle` is why this one must not."""
    if not leader:
        because = f"; this one must not, because {obstacle}" if obstacle else ""
        fix = "look at the lines of the API server, the caches and the ledger"
        return Check("leader", FAIL, f"no replica leads: nothing is reconciled{because}", fix=fix)
    return Check("leader", OK, f"{leader} leads" + (" (this replica)" if leading else ""), {"leader": leader})


def judge_cache(cache: CacheState) -> Check:
    """Check that a cache has been read completely and is up to date."""
    check_id = f"cache/{cache.name}"
    evidence = {"objects": cache.objects, "lastEventAgeSeconds": cache.age_seconds, "error": cache.error}
    if not cache.synced:
        because = f": {cache.error}" if cache.error else ""
        fix = "grant what is missing, or wait for the first list"
        return Check(check_id, FAIL, f"{cache.name} have never been read{because}", evidence, fix)
    if not cache.fresh:
        because = f": {cache.error}" if cache.error else ""
        return Check(
            check_id, WARN, f"the watch of {cache.name} is behind{because}", evidence, "it reconnects automatically"
        )
    return Check(check_id, OK, f"{cache.objects} {cache.name} are followed", evidence)


def floor_broken_seconds(pools: Iterable[Pool], now: datetime) -> float:
    """For how long the pool with the longest shortage has been below `warm`; 0 if none is."""
    since = (
        datetime.fromisoformat(condition.last_transition_time)
        for pool in pools
        for condition in pool.status.conditions
        if condition.type == "Ready" and condition.status == "False" and condition.last_transition_time
    )
    return max(((now - moment).total_seconds() for moment in since), default=0.0)


def judge_invariant(rule: InvariantStatus) -> Check:
    """Check one invariant. A broken one is repaired automatically unless it is paused."""
    check_id = f"invariant/{rule.id}"
    evidence = {"broken": rule.broken, **({"last": rule.evidence} if rule.evidence else {})}
    match rule.state:
        case "holds":
            return Check(check_id, OK, f"holds: {rule.rule}", evidence)
        case "paused":
            reason = f" ({rule.pause_reason})" if rule.pause_reason else ""
            broken = f", {rule.broken} broken" if rule.broken else ""
            message = f"paused by {rule.paused_by or 'an unknown user'}{reason}{broken}: {rule.rule}"
            return Check(check_id, FAIL if rule.broken else WARN, message, evidence, f"mooring resume {rule.id}")
        case "broken" if rule.broken_seconds is not None and rule.broken_seconds < HEALING_SECONDS:
            message = f"being healed for {rule.broken_seconds:.0f} s ({rule.broken} place(s)): {rule.rule}"
            return Check(check_id, OK, message, evidence)
        case "broken":
            return Check(check_id, WARN, f"broken {rule.broken} time(s): {rule.rule}", evidence, rule.fix)
    message = f"not enforced by this build: {rule.rule}" if not rule.enforced else f"not checked yet: {rule.rule}"
    return Check(check_id, UNKNOWN, message, evidence)


def judge_protection(pools: Iterable[Pool]) -> tuple[Check, ...]:
    """Check that protection is bounded. Protection that the pod template sets itself is never removed."""
    checks, bounded = [], 0
    for pool in pools:
        bound = next((one for one in pool.status.conditions if one.type == "ProtectionBounded"), None)
        if bound is not None and bound.status != "True":
            message, _, fix = bound.message.partition("; apply: ")
            status, evidence = WARN if bound.status == "False" else UNKNOWN, {"reason": bound.reason}
            checks.append(Check(f"protection/{pool.key}", status, f"{pool.key}: {message}", evidence, fix))
        annotations = (pool.spec.template.get("metadata") or {}).get("annotations") or {}
        if names.DO_NOT_DISRUPT not in annotations:
            bounded += 1
            continue
        message = f"{pool.key}: its template sets {names.DO_NOT_DISRUPT} itself, so its nodes can never be rolled"
        fix = f"remove the annotation from spec.template of workerpool {pool.key}: busy workers are protected anyway"
        checks.append(Check(f"protection/{pool.key}", FAIL, message, {}, fix))
    return (
        (*checks, Check("protection", OK, f"{bounded} pool(s) with bounded protection")) if not checks else (*checks,)
    )


def judge_quarantine(closed: Mapping[str, Quarantine]) -> Check:
    """Check whether nodes are quarantined for new workers."""
    if not closed:
        return Check("quarantine", OK, "no node is in quarantine")
    evidence = {name: one.reason for name, one in sorted(closed.items())[:_MOST_SHOWN]}
    first = sorted(closed)[0]
    fix = f"kubectl describe node {first}; replace it, or wait until {closed[first].until:%H:%M:%SZ}"
    return Check("quarantine", WARN, f"{len(closed)} node(s) in quarantine: {', '.join(evidence)}", evidence, fix)


def judge_finalizers(workers: Iterable[Worker], now: datetime) -> Check:
    """Check for pods that finalizers keep from being deleted."""
    stuck = [
        worker
        for worker in workers
        if worker.deletion_due is not None and worker.finalizers and now - worker.deletion_due > STUCK_AFTER
    ]
    if not stuck:
        return Check("finalizers", OK, "no worker is held by a finalizer")
    evidence = {f"{one.namespace}/{one.name}": list(one.finalizers) for one in stuck[:_MOST_SHOWN]}
    first = stuck[0]
    fix = f"let the owner of {first.finalizers[0]} finish; kubectl -n {first.namespace} get pod {first.name} -o yaml"
    return Check("finalizers", FAIL, f"{len(stuck)} worker(s) held by finalizers", evidence, fix)


def judge_leftovers(
    workers: Iterable[Worker], accounts: Iterable[Account], pool_uids: frozenset[str], now: datetime
) -> Check:
    """Check for workers without a pool and ServiceAccounts without a worker."""
    workers = tuple(workers)
    present = {(worker.namespace, worker.name) for worker in workers}
    ripe = now - LEFTOVER_AFTER
    lost = [one for one in workers if one.pool_uid not in pool_uids and one.created_at < ripe]
    idle = [one for one in accounts if (one.namespace, one.name) not in present and (one.created_at or now) < ripe]
    if not lost and not idle:
        return Check("leftovers", OK, "no worker and no account is left over")
    evidence = {
        "workers": [f"{one.namespace}/{one.name}" for one in lost[:_MOST_SHOWN]],
        "accounts": [f"{one.namespace}/{one.name}" for one in idle[:_MOST_SHOWN]],
    }
    message = f"{len(lost)} worker(s) of pools that are gone, {len(idle)} account(s) without a worker"
    return Check("leftovers", WARN, message, evidence, "mooring audit  # shows why they were not removed")


def judge_budgets(abandoned: Sequence[AbandonedBudget]) -> Check:
    """Check for disruption budgets whose pool or control plane is gone: they block drains without need."""
    if not abandoned:
        return Check("budgets", OK, "every disruption budget has its pool and its control plane")
    evidence = {f"{one.namespace}/{one.name}": one.because for one in abandoned[:_MOST_SHOWN]}
    message = f"{len(abandoned)} abandoned disruption budget(s)"
    return Check("budgets", WARN, message, evidence, abandoned[0].fix)


def judge_phases(noun: str, found: Iterable[Mapping[str, Any]], now: datetime) -> tuple[Check, ...]:
    """Check services that do not serve, warmups that failed or stay stale: one result each, with reason and fix."""
    checks, well = [], 0
    for item in found:
        check = _judge_phase(noun, item, now)
        if check is None:
            well += 1
        else:
            checks.append(check)
    return (*checks, Check(f"{noun}s", OK, f"{well} {noun}(s) without failure")) if well or not checks else (*checks,)


def _judge_phase(noun: str, item: Mapping[str, Any], now: datetime) -> Check | None:
    """The check for one object; None if it is fine."""
    metadata, status = item["metadata"], item.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return None
    namespace, name, phase = metadata.get("namespace", ""), metadata["name"], status.get("phase") or ""
    key, shown = f"{namespace}/{name}", phase or "not reconciled yet"
    reason = status.get("reason") or (status.get("failure") or {}).get("reason") or "no reason is given"
    fix = status.get("fix") or f"kubectl -n {namespace} describe {_KINDS.get(noun, noun)} {name}"
    evidence = {"phase": phase}
    if phase and status.get("observedGeneration", 0) < metadata.get("generation", 0):
        message = f"{key} was changed and not reconciled since; before, it was {phase}: {reason}"
        return Check(f"{noun}/{key}", UNKNOWN, message, evidence, "ask again; if it stays, look at the leader's line")
    if phase in ("Failed", "Unknown"):
        judged = FAIL if phase == "Failed" else UNKNOWN
        return Check(f"{noun}/{key}", judged, f"{key} is {phase}: {reason}", evidence, fix)
    invalid = next((one for one in status.get("conditions") or () if _is_invalid(one)), None)
    if invalid is not None:
        message = f"{key} is {phase}, and its spec is not carried out: {invalid.get('message', reason)}"
        edit = f"kubectl edit {_KINDS.get(noun, noun)} {name} -n {namespace}"
        return Check(f"{noun}/{key}", FAIL, message, evidence, edit)
    since = _not_serving_since(item, _SERVES[noun])
    if phase in _PASSING and since is not None and now - since > STARTED_AFTER:
        message = f"{key} is {shown} for {(now - since).total_seconds():.0f} s: {reason}"
        return Check(f"{noun}/{key}", WARN, message, {**evidence, "since": since.isoformat()}, fix)
    return None


def _is_invalid(condition: Mapping[str, Any]) -> bool:
    return condition.get("type") == "Valid" and condition.get("status") == "False"


def _not_serving_since(item: Mapping[str, Any], serves: str) -> datetime | None:
    """When it stopped serving or being ready, or when it was created if it was never observed."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    message = next((one.get("lastTransitionTime") for one in conditions if one.get("type") == serves), None)
    since = message or item["metadata"].get("creationTimestamp")
    return datetime.fromisoformat(since) if since else None
