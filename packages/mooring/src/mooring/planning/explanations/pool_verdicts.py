"""The verdict on a pool, with workers that fail in the same way counted and not repeated."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from mooring.model.pool import Pool
from mooring.model.pool_verdict import PoolVerdict
from mooring.model.why import Condition
from mooring.model.worker import Worker
from mooring.planning.sick_pools import is_sick

BROKEN_REASONS = frozenset({"CreateFailed", "NoPlacement", "Quarantined"})
"""Reasons of the condition Ready that do not pass by themselves."""

_FAILURES = {
    "CrashLoopBackOff": "crash",
    "ErrImagePull": "cannot pull their image",
    "ImagePullBackOff": "cannot pull their image",
    "ErrImageNeverPull": "cannot pull their image",
    "InvalidImageName": "have an image name that is not valid",
    "CreateContainerConfigError": "lack a part of their configuration",
}


def compute_verdict(pool: Pool, workers: Sequence[Worker], now: datetime) -> PoolVerdict:
    """From the conditions of the pool and the containers of its workers."""
    conditions = {condition.type: condition for condition in pool.status.conditions}
    ready, valid = conditions.get("Ready"), conditions.get("Valid")
    if pool.terminating:
        return PoolVerdict("waiting", "deleting", "the pool is being deleted")
    if valid is not None and valid.status == "False":
        return PoolVerdict("broken", "not valid", valid.message)
    if ready is None:
        return PoolVerdict("unknown", "not seen yet", "the pool was not reconciled yet")
    starved = ready.status == "False"
    sick = [worker for worker in workers if is_sick(worker, now)]
    if sick:
        return _judge_sick(sick, len(workers), starved)
    if not starved:
        return PoolVerdict("ok", "ready")
    return _judge_unplaced(conditions.get("Schedulable"), workers) or _judge_ready(pool, ready)


def _judge_sick(sick: Sequence[Worker], total: int, starved: bool) -> PoolVerdict:
    """The failure that most workers share. A pool that still reaches its floor is degraded, not broken."""
    groups: dict[str, list[Worker]] = defaultdict(list)
    for worker in sick:
        groups[_describe_failure(worker)].append(worker)
    failure, alike = max(groups.items(), key=lambda group: len(group[1]))
    worst = max(alike, key=lambda worker: (worker.restarts, worker.name))
    cause = f"{len(alike)} of {total} workers {failure}"
    state, label = ("broken", "broken") if starved else ("waiting", "degraded")
    return PoolVerdict(state, label, cause, f"{worst.namespace}/{worst.name}")  # type: ignore[arg-type]


def _describe_failure(worker: Worker) -> str:
    if worker.waiting in _FAILURES:
        return _FAILURES[worker.waiting]
    if worker.waiting:
        return f"do not start ({worker.waiting})"
    return "fail" if worker.phase == "Failed" else "crash"


def _judge_unplaced(schedulable: Condition | None, workers: Sequence[Worker]) -> PoolVerdict | None:
    unplaced = [worker for worker in workers if worker.unschedulable]
    if schedulable is None or schedulable.status != "False" or not unplaced:
        return None
    first = unplaced[0]
    why = first.unschedulable.partition(". ")[0].rstrip(".")
    cause = f"{len(unplaced)} of {len(workers)} workers find no node: {why}"
    return PoolVerdict("broken", "broken", cause, f"{first.namespace}/{first.name}")


def _judge_ready(pool: Pool, ready: Condition) -> PoolVerdict:
    if ready.reason in BROKEN_REASONS:
        return PoolVerdict("broken", "broken", ready.message)
    if ready.reason == "AtMax":
        return PoolVerdict("waiting", "full", ready.message)
    counts = f"{pool.status.idle} of {pool.floor} idle, {pool.status.starting} starting"
    return PoolVerdict("waiting", "filling", counts if ready.reason == "Starting" else ready.message)
