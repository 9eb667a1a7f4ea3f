"""Verdicts on pools: what is broken, what is on its way, and equal causes counted once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mooring.model.demand import Demand, DemandStatus
from mooring.model.pool import Pool, PoolSpec, PoolStatus
from mooring.model.why import Condition
from mooring.model.worker import Worker
from mooring.planning.explanations.pool_verdicts import compute_verdict

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(minutes=10)


def pool(*conditions: Condition, **changes: Any) -> Pool:
    status = PoolStatus(idle=2, starting=1, conditions=conditions)
    return Pool("runners", "linux", "uid", 1, PoolSpec(warm=3, max=6), status, **changes)


def worker(number: int, **changes: Any) -> Worker:
    plain = Worker("runners", f"linux-{number}", f"uid-{number}", "1", "linux", "uid", LONG_AGO, "hash", ready=True)
    return replace(plain, **{"ready_since": LONG_AGO, **changes})


READY = Condition("Ready", "True", "FloorHeld", "at least 3 idle")
SHORT = Condition("Ready", "False", "Starting", "2 of 3 idle, 1 starting")
CRASHING = {"waiting": "CrashLoopBackOff", "ready": False, "restarts": 5}


def test_a_pool_that_reaches_its_floor_is_ready():
    assert compute_verdict(pool(READY), [worker(0)], NOW).state == "ok"


def test_a_pool_that_fills_is_on_its_way_and_says_how_far():
    verdict = compute_verdict(pool(SHORT), [worker(0, ready=False)], NOW)
    assert (verdict.state, verdict.label, verdict.cause) == ("waiting", "filling", "2 of 3 idle, 1 starting")


def test_a_pool_that_follows_demand_is_filled_up_to_the_floor_of_its_status():
    status = PoolStatus(idle=3, starting=1, conditions=(SHORT,), demand=DemandStatus(floor=4))
    follows = Pool("runners", "linux", "uid", 1, PoolSpec(max=6, demand=Demand()), status)
    assert compute_verdict(follows, [], NOW).cause == "3 of 4 idle, 1 starting"


def test_workers_that_crash_alike_are_counted_and_the_worst_is_named():
    workers = [worker(0, **CRASHING), worker(1, **{**CRASHING, "restarts": 9}), worker(2)]
    verdict = compute_verdict(pool(SHORT), workers, NOW)
    assert (verdict.state, verdict.cause, verdict.worker) == ("broken", "2 of 3 workers crash", "runners/linux-1")


def test_the_failure_that_most_workers_share_is_the_cause():
    pulling = {"waiting": "ImagePullBackOff", "ready": False}
    workers = [worker(0, **CRASHING), worker(1, **pulling), worker(2, **pulling)]
    assert compute_verdict(pool(SHORT), workers, NOW).cause == "2 of 3 workers cannot pull their image"


def test_a_crash_of_a_moment_ago_may_pass():
    fresh = worker(0, **{**CRASHING, "restarts": 1, "created_at": NOW - timedelta(seconds=5)})
    assert compute_verdict(pool(SHORT), [replace(fresh, ready_since=None)], NOW).state == "waiting"


def test_a_crash_beside_a_held_floor_degrades_the_pool():
    verdict = compute_verdict(pool(READY), [worker(0, **CRASHING), worker(1)], NOW)
    assert (verdict.state, verdict.label) == ("waiting", "degraded")


def test_workers_without_a_node_break_the_pool_with_the_first_sentence_of_the_scheduler():
    words = "0/12 nodes are available: 12 node(s) had untolerated taint(s). preemption: not helpful."
    waiting = Condition("Schedulable", "False", "Unschedulable", "held")
    verdict = compute_verdict(pool(SHORT, waiting), [worker(0, ready=False, unschedulable=words)], NOW)
    assert verdict.state == "broken"
    assert verdict.cause.endswith("find no node: 0/12 nodes are available: 12 node(s) had untolerated taint(s)")


@pytest.mark.parametrize(
    ("conditions", "changes", "state"),
    [
        ((), {}, "unknown"),
        ((READY, Condition("Valid", "False", "Wrong", "spec.warm")), {}, "broken"),
        ((Condition("Ready", "False", "CreateFailed", "quota"),), {}, "broken"),
        ((Condition("Ready", "False", "AtMax", "6 of 6"),), {}, "waiting"),
        ((READY,), {"terminating": True}, "waiting"),
    ],
)
def test_other_verdicts_follow_from_conditions(conditions: tuple[Condition, ...], changes: dict[str, Any], state: str):
    assert compute_verdict(pool(*conditions, **changes), [], NOW).state == state
