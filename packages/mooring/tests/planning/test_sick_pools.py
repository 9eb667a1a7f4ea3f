"""Which pools doctor reports as sick, and what it says about them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mooring.model.doctor_report import CheckStatus
from mooring.model.evidence import Failure
from mooring.model.explanation import Explanation
from mooring.model.pool import Pool, PoolSpec, PoolStatus
from mooring.model.why import Condition
from mooring.model.worker import Worker
from mooring.planning.sick_pools import find_sick_pools, judge_sick_pool

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
EARLIER = NOW - timedelta(minutes=17)
STARVED = PoolStatus(conditions=(Condition("Ready", "False", "Starting", "0 of 3 idle"),))
FED = PoolStatus(conditions=(Condition("Ready", "True", "FloorHeld", "at least 1 idle"),))
POOL = Pool("runners", "linux", "pool-uid", 1, PoolSpec(warm=3, max=5), STARVED)
FINE = Worker("runners", "linux-0", "uid-0", "1", "linux", "pool-uid", EARLIER, "hash", phase="Running", ready=True,
              ready_since=EARLIER)  # fmt: skip
CRASHING = replace(
    FINE, name="linux-1", uid="uid-1", ready=False, ready_since=None, unready_since=EARLIER,
    waiting="CrashLoopBackOff", waiting_message="back-off 5m0s restarting failed container", restarts=7,
)  # fmt: skip


def find(*workers: Worker, pool: Pool = POOL) -> list[tuple[str, int, int]]:
    return [(s.worst.name, s.sick, s.workers) for s in find_sick_pools([pool], {pool.key: workers}, NOW)]


@pytest.mark.parametrize(
    ("worker", "sick"),
    [
        (CRASHING, True),
        (replace(CRASHING, waiting="ImagePullBackOff", restarts=0), True),
        (replace(CRASHING, waiting="", phase="Failed"), True),
        # Between two crashes the container runs, and without a probe its pod is ready.
        (replace(CRASHING, waiting="", ready=True, ready_since=NOW - timedelta(seconds=4)), True),
        (replace(CRASHING, waiting="", ready=True, ready_since=EARLIER, unready_since=None), False),
        (replace(CRASHING, waiting="ContainerCreating", restarts=0), False),
        (replace(CRASHING, unready_since=NOW - timedelta(seconds=5)), True),
        (replace(CRASHING, unready_since=NOW - timedelta(seconds=30), restarts=1), False),
        (replace(CRASHING, terminating_since=NOW), False),
        (FINE, False),
    ],
)
def test_a_pool_is_sick_when_a_worker_has_failed_for_a_minute(worker, sick):
    assert bool(find(worker)) is sick


def test_the_worker_that_has_failed_most_speaks_for_the_pool():
    younger = replace(CRASHING, name="linux-2", uid="uid-2", restarts=4)
    assert find(FINE, younger, CRASHING) == [("linux-1", 2, 3)]


def explanation(*logs: str) -> Explanation:
    failure = Failure("linux-1", "worker", 7, 1, logs, "Error")
    return Explanation(
        "runners", "linux-1", "uid-1", "waiting", "work-01", "its container worker crashes", "", (), None, (),
        failure, (), NOW,
    )  # fmt: skip


def test_the_line_has_the_cause_the_last_line_of_log_and_a_fix():
    (sick,) = find_sick_pools([POOL], {POOL.key: [CRASHING]}, NOW)
    check = judge_sick_pool(sick, explanation("starting", "cannot find /etc/worker.conf"))
    assert check.status is CheckStatus.FAIL
    assert check.message == (
        "runners/linux: 1 of 1 worker(s) fail, linux-1 most: its container worker crashes; "
        "its last line: cannot find /etc/worker.conf"
    )
    assert check.evidence["logs"] == ["starting", "cannot find /etc/worker.conf"]
    assert "raise" not in check.fix
    assert "kubectl -n runners edit workerpool linux" in check.fix


def test_a_pool_that_holds_its_floor_all_the_same_is_a_warning():
    fed = Pool("runners", "linux", "pool-uid", 1, PoolSpec(warm=1, max=5), FED)
    (sick,) = find_sick_pools([fed], {fed.key: [FINE, CRASHING]}, NOW)
    assert judge_sick_pool(sick, None).status is CheckStatus.WARN


def test_a_log_that_cannot_be_read_is_said_in_the_line():
    (sick,) = find_sick_pools([POOL], {POOL.key: [CRASHING]}, NOW)
    check = judge_sick_pool(sick, None, "pods/log: get is missing")
    assert "its log cannot be read: pods/log: get is missing" in check.message
    assert "back-off 5m0s" in check.message
