"""The checks of `mooring doctor` for pools: valid, schedulable, not refused by the cluster, and not silent."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from mooring.model.doctor_report import Check, CheckStatus
from mooring.model.pool import Pool
from mooring.model.why import Condition

LASTS_AFTER = timedelta(seconds=60)  # a create may fail once or twice without anybody's fault
_QUOTA = re.compile(r"exceeded quota: ([a-z0-9.-]+)")


def judge_pools(pools: Iterable[Pool], now: datetime) -> tuple[Check, ...]:
    """Check that every pool has a valid spec, can be scheduled, may create its workers, and hears of them."""
    checks, sound = [], 0
    for pool in pools:
        if (found := _judge_pool(pool, now)) is not None:
            checks.append(found)
        else:
            sound += 1
    return (
        (*checks, Check("pools", CheckStatus.OK, f"{sound} pool(s) can schedule"))
        if sound or not checks
        else (*checks,)
    )


def _judge_pool(pool: Pool, now: datetime) -> Check | None:
    check_id, edit = f"pool/{pool.key}", f"kubectl -n {pool.namespace} edit workerpool {pool.name}"
    if problems := pool.problems:
        return Check(check_id, CheckStatus.FAIL, f"{pool.key}: {problems[0]}", {"problems": list(problems)}, edit)
    conditions = {one.type: one for one in pool.status.conditions}
    blocked, ready = conditions.get("Schedulable"), conditions.get("Ready")
    if blocked is not None and blocked.status == "False":
        message = blocked.message.partition(" Fix: ")[0]
        return _failed(check_id, f"{pool.key} cannot schedule: {message}", blocked, fix_unschedulable(pool, blocked))
    if ready is not None and ready.status == "False" and ready.reason == "CreateFailed" and _lasts(ready, now):
        fix = fix_refused_create(pool, ready.message)
        return _failed(check_id, f"{pool.key} cannot create workers: {ready.message}", ready, fix)
    if ready is not None and ready.status == "False" and ready.reason == "AllSilent" and _lasts(ready, now):
        return _failed(check_id, f"{pool.key}: {ready.message}", ready, fix_silent(pool))
    return None


def fix_silent(pool: Pool) -> str:
    """What shows why workers do not poll: the last lines that they have written."""
    return f"kubectl -n {pool.namespace} logs -l mooring.dev/pool={pool.name} --all-containers --tail=20 --prefix"


def fix_refused_create(pool: Pool, message: str) -> str:
    """The next command for a pool whose creates the cluster refuses: the quota that is full, or the pool's Events."""
    if quota := _QUOTA.search(message):
        return f"kubectl -n {pool.namespace} describe resourcequota {quota[1]}  # raise it, or lower spec.warm"
    return f"kubectl -n {pool.namespace} describe workerpool {pool.name}  # its Events have the refusals"


def fix_unschedulable(pool: Pool, schedulable: Condition) -> str:
    """A command: the one that the condition names, else an edit of the pool with the words of the condition."""
    advice = schedulable.message.partition(" Fix: ")[2].replace("; ", ", ")
    if advice.startswith("kubectl "):
        return advice
    edit = f"kubectl -n {pool.namespace} edit workerpool {pool.name}"
    return f"{edit}  # {advice}" if advice else edit


def _failed(check_id: str, message: str, condition: Condition, fix: str) -> Check:
    evidence = {"since": condition.last_transition_time, "reason": condition.reason}
    return Check(check_id, CheckStatus.FAIL, message, evidence, fix)


def _lasts(condition: Condition, now: datetime) -> bool:
    return condition.since is None or now - condition.since >= LASTS_AFTER
