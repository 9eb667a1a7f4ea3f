"""Why a pool has the workers it has, and why none of them is free: each blocker counted and named."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mooring.model.pool import Pool
from mooring.model.time_format import describe_moment
from mooring.model.why import Condition, Why
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.actions import earliest
from mooring.planning.pool_checks import fix_refused_create, fix_silent, fix_unschedulable
from mooring.planning.pools.returned import is_returned
from mooring.planning.sick_pools import FAILING
from mooring.planning.workers import SILENT, STAMPED, retire_command

NAMED = 3  # how many workers with the same reason are named
_HELD = (WorkerState.CLAIMED, WorkerState.BUSY)
_HOLDING_UP = (WorkerState.STARTING, WorkerState.DRAINING, WorkerState.LOST)
_FIXES: Mapping[str, str] = {
    "at_max": "mooring claims --pool {key}  # release some, or raise spec.max",
    "no_placement": "kubectl -n {namespace} edit workerpool {name}  # name a nodePool that has nodes: mooring nodes",
    "quarantined": "mooring nodes",
}
_IN_TROUBLE = ("waiting", "unschedulable", "pod_failed")  # codes of workers that more workers would not help


@dataclass(frozen=True, slots=True)
class PoolView:
    """A pool and its workers at one moment."""

    pool: Pool
    workers: Sequence[ClassifiedWorker] = ()


def is_settled(pool: Pool) -> bool:
    """Whether its conditions are enough to explain it, without its workers."""
    return pool.terminating or all(
        condition.status == "True" for condition in pool.status.conditions if condition.type in ("Valid", "Ready")
    )


def explain_pool(view: PoolView) -> Why:
    """Why `warm` is reached or not, the most serious reason first."""
    pool = view.pool
    conditions = {condition.type: condition for condition in pool.status.conditions}
    ready, valid = conditions.get("Ready"), conditions.get("Valid")
    if pool.terminating:
        return Why("terminating", "the pool is being deleted", pool.terminating_since, _unmet(pool))
    if valid is not None and valid.status == "False":
        edit = f"kubectl edit workerpool {pool.name} -n {pool.namespace}"
        return Why("invalid_spec", valid.message, valid.since or pool.created_at, fix=edit)
    if ready is None:
        return Why("not_reconciled", "not reconciled yet", pool.created_at, fix="mooring doctor")
    waiting = _waiting(pool)
    since = ready.since or pool.created_at
    if ready.status == "True":
        return Why("floor_held", ready.message, since, (*waiting, *_unmet(pool)))
    code = _snake(ready.reason)
    return Why(
        code=code,
        message=ready.message or ready.reason,
        since=since,
        blockers=(
            f"needs {pool.floor} idle: {count_workers(view)}",
            *waiting,
            *_describe_groups(view.workers),
            *_unmet(pool),
        ),
        next_check=_next_end(view),
        fix=_fix_trouble(view)
        or _fix_refusal(view)
        or _fix_leaks(view)
        or _fix_silence(view)
        or _fill(_FIXES.get(code, "mooring workers --pool {key} -o wide"), pool),
    )


def explain_shortage(view: PoolView) -> Why:
    """Why no worker is free for another claim."""
    pool = view.pool
    taken = [item.why.since for item in view.workers if item.state in _HELD and item.why.since is not None]
    changed = [condition.since for condition in pool.status.conditions if condition.since is not None]
    return Why(
        code="no_idle_worker",
        message=f"no worker of {pool.key} is free",
        since=max(taken or changed, default=pool.created_at),
        blockers=(
            f"workers: {count_workers(view)}",
            f"waiting claims: {pool.status.queued}",
            *_spoken_for(view),
            *_describe_groups(view.workers),
            *_unmet(pool, "Valid", "Ready"),
        ),
        next_check=_next_end(view),
        fix=_fix_trouble(view) or _fix_refusal(view) or _fix_leaks(view) or _fix_silence(view) or _fix_size(view),
    )


def _fix_trouble(view: PoolView) -> str:
    """What opens a node for workers that find none, else why the worker in trouble for longest does not run.

    Empty if no worker is in trouble.
    """
    troubled = [
        item
        for item in view.workers
        if item.why.code in _IN_TROUBLE and (item.why.code != "waiting" or item.worker.waiting in FAILING)
    ]
    if not troubled:
        return ""
    first = min(troubled, key=_since)
    blocked = next((one for one in view.pool.status.conditions if one.type == "Schedulable"), None)
    if first.why.code == "unschedulable" and blocked is not None and " Fix: " in blocked.message:
        return fix_unschedulable(view.pool, blocked)
    worker = first.worker
    return f"mooring explain pod/{worker.namespace}/{worker.name}"


def _fix_refusal(view: PoolView) -> str:
    """For a pool whose creates the cluster refuses; empty otherwise."""
    ready = next((one for one in view.pool.status.conditions if one.type == "Ready"), None)
    refused = ready is not None and ready.status == "False" and ready.reason == "CreateFailed"
    return fix_refused_create(view.pool, ready.message) if ready is not None and refused else ""


def _fix_leaks(view: PoolView) -> str:
    """Retire the worker that has been stamped longest without a live claim; empty if a claim holds any worker."""
    held = [item for item in view.workers if item.state in _HELD]
    if not held or any(item.why.code != STAMPED for item in held):
        return ""
    reclaim = view.pool.spec.effective_reclaim
    wait = f"  # or wait: deleted after {reclaim.silent_seconds:.0f} s without a sign of life"
    return retire_command(min(held, key=_since).worker) + (wait if reclaim.policy == "Delete" else "")


def _fix_silence(view: PoolView) -> str:
    """The words of workers that all do not poll; empty if one of them could serve or will."""
    present = [item for item in view.workers if item.state not in (WorkerState.DRAINING, WorkerState.LOST)]
    silent = bool(present) and all(item.why.code == SILENT for item in present)
    return fix_silent(view.pool) if silent else ""


def _fix_size(view: PoolView) -> str:
    """A larger floor where `max` leaves room for one, else a look at who holds the workers."""
    spec = view.pool.spec
    if len(view.workers) >= spec.max or view.pool.floor >= spec.max:
        return _fill(_FIXES["at_max"], view.pool)
    if spec.follows_demand:
        return _fill("mooring explain pool/{key}  # the floor follows demand", view.pool)
    larger = min(spec.max, max(1, spec.warm * 2))
    return f"kubectl -n {view.pool.namespace} scale workerpool {view.pool.name} --replicas={larger}  # spec.warm"


def _fill(fix: str, pool: Pool) -> str:
    return fix.format(key=pool.key, namespace=pool.namespace, name=pool.name)


def count_workers(view: PoolView) -> str:
    """`1 idle, 2 busy, 0 starting, 3 draining until 14:05:07Z, 0 lost; at most 6`."""
    counts = Counter(item.state for item in view.workers)
    busy = sum(counts[state] for state in _HELD)
    return (
        f"{counts[WorkerState.IDLE]} idle, {busy} busy, {counts[WorkerState.STARTING]} starting, "
        f"{counts[WorkerState.DRAINING]} draining{_draining_until(view)}, {counts[WorkerState.LOST]} lost; "
        f"at most {view.pool.spec.max}"
    )


def _spoken_for(view: PoolView) -> tuple[str, ...]:
    """Idle workers are possible here: the view may be outdated, and waiting claims are served first."""
    silent = [item for item in view.workers if item.why.code == SILENT]
    if silent:
        named = ", ".join(f"worker/{item.worker.namespace}/{item.worker.name}" for item in silent[:NAMED])
        return (f"{len(silent)} idle, but not polling: they get no session ({named})", *_idle_elsewhere(view))
    return _idle_elsewhere(view)


def _idle_elsewhere(view: PoolView) -> tuple[str, ...]:
    idle = sum(item.state is WorkerState.IDLE and item.why.code != SILENT for item in view.workers)
    message = f"{idle} idle when last seen: now taken, being removed, or kept for waiting claims"
    return (message, *_kept_apart(view)) if idle else _kept_apart(view)


def _kept_apart(view: PoolView) -> tuple[str, ...]:
    """Free workers and slots that only some owners may have."""
    spec, lines = view.pool.spec, []
    tenants = Counter(item.worker.tenant for item in view.workers if is_returned(spec, item))
    if tenants:
        shown = ", ".join(f"{count} for {owner}" for owner, count in sorted(tenants.items()))
        lines.append(f"idle and returned for the same owner: {shown}; replaced when others need their place")
    if spec.reserve:
        lines.append("kept idle: " + ", ".join(f"{count} for {owner}" for owner, count in sorted(spec.reserve.items())))
    if spec.sharing == "PerOwner" and spec.slots > 1:
        lines.append("free slots of busy workers are for the owner of their sessions")
    return tuple(lines)


def _draining_until(view: PoolView) -> str:
    draining = [item for item in view.workers if item.state is WorkerState.DRAINING]
    ends = [item.why.next_check for item in draining if item.why.next_check is not None]
    if not ends:
        return ""
    some = "" if len(ends) == len(draining) else f" ({len(ends)} of them)"
    return f"{some} until {max(ends):%H:%M:%SZ}"


def _next_end(view: PoolView) -> datetime | None:
    """When the first slot becomes free without action."""
    return earliest(*(item.why.next_check for item in view.workers if item.state is WorkerState.DRAINING))


def _describe_groups(workers: Sequence[ClassifiedWorker]) -> tuple[str, ...]:
    """Workers that start, drain, are lost or stamped without claim: one line for each reason, the longest one first."""
    groups: dict[tuple[WorkerState, str], list[ClassifiedWorker]] = defaultdict(list)
    for item in workers:
        if item.state in _HOLDING_UP or item.why.code == STAMPED:
            groups[item.state, item.why.code].append(item)
    return tuple(_describe_group(state, groups[state, code]) for state, code in sorted(groups))


def _describe_group(state: WorkerState, items: list[ClassifiedWorker]) -> str:
    items = sorted(items, key=_since)
    named = [f"worker/{item.worker.namespace}/{item.worker.name}" for item in items[:NAMED]]
    more = f" and {len(items) - NAMED} more" if len(items) > NAMED else ""
    first = items[0]
    since = describe_moment(_since(first))
    return f"{len(items)} {state.value} since {since}: {first.why.message} ({', '.join(named)}{more})"


def _since(item: ClassifiedWorker) -> datetime:
    return item.why.since or item.worker.created_at


def _waiting(pool: Pool) -> tuple[str, ...]:
    return (f"waiting claims: {pool.status.queued}",) if pool.status.queued else ()


def _unmet(pool: Pool, *also: str) -> tuple[str, ...]:
    """The other conditions that do not hold."""
    asked = {"Schedulable", "ProtectionBounded", "DemandMet", "Uncontested", "HeadroomKept", *also}
    return tuple(_describe(one) for one in pool.status.conditions if one.type in asked and one.status == "False")


def _describe(condition: Condition) -> str:
    return f"{condition.type}: {condition.message}"


def _snake(reason: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", reason).lower()
