"""Why a pool stands as it does, and why none of its workers is free: each blocker counted and named."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mooring.model.pool import Pool
from mooring.model.spans import describe_moment
from mooring.model.why import Condition, Why
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.actions import earliest

NAMED = 3  # so many of those that are in the same way are named
_HELD = (WorkerState.CLAIMED, WorkerState.BUSY)
_HOLDING_UP = (WorkerState.STARTING, WorkerState.DRAINING, WorkerState.LOST)
_FIXES: Mapping[str, str] = {
    "at_max": "raise the pool's max, or release claims: mooring claims --pool {key}",
    "create_failed": "mooring doctor",
    "quarantined": "mooring nodes",
}


@dataclass(frozen=True, slots=True)
class Crew:
    """A pool and its workers, as they are at one moment."""

    pool: Pool
    workers: Sequence[ClassifiedWorker] = ()


def is_settled(pool: Pool) -> bool:
    """Whether its conditions tell the whole story: nobody has to look at its workers."""
    return pool.terminating or all(
        condition.status == "True" for condition in pool.status.conditions if condition.type in ("Valid", "Ready")
    )


def explain_pool(crew: Crew) -> Why:
    """Why the floor is held or not, most serious first."""
    pool = crew.pool
    conditions = {condition.type: condition for condition in pool.status.conditions}
    ready, valid = conditions.get("Ready"), conditions.get("Valid")
    if pool.terminating:
        return Why("terminating", "the pool is being deleted", pool.terminating_since, _unmet(pool))
    if valid is not None and valid.status == "False":
        edit = f"kubectl edit workerpool {pool.name} -n {pool.namespace}"
        return Why("invalid_spec", valid.message, valid.since or pool.created_at, fix=edit)
    if ready is None:
        return Why("not_reconciled", "not looked at yet", pool.created_at, fix="mooring doctor")
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
            f"needs {pool.spec.warm} idle: {count_workers(crew)}",
            *waiting,
            *_describe_groups(crew.workers),
            *_unmet(pool),
        ),
        next_check=_next_end(crew),
        fix=_FIXES.get(code, "mooring workers --pool {key} -o wide").format(key=pool.key),
    )


def explain_shortage(crew: Crew) -> Why:
    """Why nobody is free for one more claim."""
    pool = crew.pool
    taken = [item.why.since for item in crew.workers if item.state in _HELD and item.why.since is not None]
    changed = [condition.since for condition in pool.status.conditions if condition.since is not None]
    return Why(
        code="no_idle_worker",
        message=f"no worker of {pool.key} is free",
        since=max(taken or changed, default=pool.created_at),
        blockers=(
            f"workers: {count_workers(crew)}",
            f"waiting claims: {pool.status.queued}",
            *_spoken_for(crew),
            *_describe_groups(crew.workers),
            *_unmet(pool, "Valid", "Ready"),
        ),
        next_check=_next_end(crew),
        fix="wait longer, or raise the pool's warm or max",
    )


def count_workers(crew: Crew) -> str:
    """`1 idle, 2 busy, 0 starting, 3 draining until 14:05:07Z, 0 lost; at most 6`."""
    counts = Counter(item.state for item in crew.workers)
    busy = sum(counts[state] for state in _HELD)
    return (
        f"{counts[WorkerState.IDLE]} idle, {busy} busy, {counts[WorkerState.STARTING]} starting, "
        f"{counts[WorkerState.DRAINING]} draining{_draining_until(crew)}, {counts[WorkerState.LOST]} lost; "
        f"at most {crew.pool.spec.max}"
    )


def _spoken_for(crew: Crew) -> tuple[str, ...]:
    """Idle ones are no contradiction: the view may be a moment old, and who waits goes first."""
    idle = sum(item.state is WorkerState.IDLE for item in crew.workers)
    told = f"{idle} idle when last seen: taken or on its way out by now, or kept for claims that wait"
    return (told,) if idle else ()


def _draining_until(crew: Crew) -> str:
    draining = [item for item in crew.workers if item.state is WorkerState.DRAINING]
    ends = [item.why.next_check for item in draining if item.why.next_check is not None]
    if not ends:
        return ""
    some = "" if len(ends) == len(draining) else f" ({len(ends)} of them)"
    return f"{some} until {max(ends):%H:%M:%SZ}"


def _next_end(crew: Crew) -> datetime | None:
    """When the first place becomes free by itself."""
    return earliest(*(item.why.next_check for item in crew.workers if item.state is WorkerState.DRAINING))


def _describe_groups(workers: Sequence[ClassifiedWorker]) -> tuple[str, ...]:
    """Those that are on their way, go or are lost: one line for each reason, told of the one it befell first."""
    groups: dict[tuple[WorkerState, str], list[ClassifiedWorker]] = defaultdict(list)
    for item in workers:
        if item.state in _HOLDING_UP:
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
    asked = {"Schedulable", "ProtectionBounded", *also}
    return tuple(_describe(one) for one in pool.status.conditions if one.type in asked and one.status == "False")


def _describe(condition: Condition) -> str:
    return f"{condition.type}: {condition.message}"


def _snake(reason: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", reason).lower()
