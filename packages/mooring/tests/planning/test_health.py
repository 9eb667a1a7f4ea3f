"""What failed health checks prove, by table and by property."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.health import KEPT_CHECKS, Check, WorkerHealth
from mooring.model.proof import by_ledger, by_worker
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Stamp, WorkerState
from mooring.planning.health import HealthCounts, find_doubt, prove_lost, record_check, suspend
from mooring.planning.invariants.claims import ClaimsSnapshot, Remedy, plan_claim_has_pod
from mooring.planning.invariants.leaks import plan_stamped_has_claim
from mooring.planning.pools.plan import plan_pool
from mooring.planning.workers import classify_worker
from packages.mooring.tests.planning.fleets import (
    NOW,
    claim,
    created,
    node,
    pool,
    retired,
    snapshot,
    stamped,
    terminating,
    worker,
)

STAMP = Stamp("acme", "claim-0", 7, NOW - timedelta(seconds=400))
CORDONED = node(unschedulable=True)
ENDED = "its container main ended (OOMKilled, exit code 137)"


def health(*answers: str, limit: int = 3) -> WorkerHealth:
    """After these checks, two seconds apart, the last of them now: `ok`, `refused` or `silent`."""
    seen = WorkerHealth()
    for number, answer in enumerate(answers):
        at = NOW - timedelta(seconds=2 * (len(answers) - 1 - number))
        detail = {"ok": "200 OK", "refused": "connection refused", "silent": "no answer within 3 s"}[answer]
        seen = record_check(seen, Check(at, answer == "ok", detail, refused=answer == "refused"), limit)
    return seen


REFUSED = health("ok", "refused", "refused", "refused")
SILENT = health("ok", "silent", "silent", "silent")


def test_failures_count_in_a_row_and_one_answer_ends_the_row():
    assert not health("refused", "refused").failed
    assert health("refused", "refused", "refused").failed
    assert not health("refused", "refused", "ok", "refused", "refused").failed
    assert health("refused", limit=1).failed


def test_the_row_is_told_with_its_beginning_and_its_last_reason():
    assert REFUSED.summary == "3 health checks failed: connection refused"
    assert REFUSED.failing_since == NOW - timedelta(seconds=4)
    assert health("ok").summary == "healthy: 200 OK"
    assert health("silent").summary == "1 health check failed: no answer within 3 s"


@given(st.lists(st.sampled_from(["ok", "refused", "silent"]), max_size=40))
def test_what_is_kept_of_a_worker_is_bounded_and_its_count_is_that_of_the_row(answers: list[str]):
    seen = health(*answers)
    row = len(answers) - max((n + 1 for n, answer in enumerate(answers) if answer == "ok"), default=0)
    assert seen.failures == row and len(seen.recent) == min(len(answers), KEPT_CHECKS)


@pytest.mark.parametrize(
    ("checked", "failing", "answered", "counts"),
    [
        (1, 1, 1, True),  # it answered before: it is the worker
        (1, 1, 0, False),  # nobody ever answered: it may be the port
        (10, 10, 0, False),
        (2, 2, 2, False),  # all at once: it may be us
        (2, 1, 2, True),
        (3, 2, 3, True),
        (5, 3, 5, False),
        (6, 3, 6, True),
        (5000, 2500, 5000, True),
        (5000, 2501, 5000, False),
        (4, 0, 0, True),
    ],
)
def test_failures_prove_nothing_when_most_fail_at_once(checked: int, failing: int, answered: int, counts: bool):
    assert (not find_doubt(HealthCounts(checked, failing, answered))) is counts


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["ok", "refused", "gone"])), max_size=60))
def test_a_tally_kept_step_by_step_is_that_of_all_workers(steps: list[tuple[int, str]]):
    seen: dict[int, WorkerHealth] = {}
    counts = HealthCounts()
    for number, what in steps:
        before = seen.get(number)
        after = None if what == "gone" else record_check(before or WorkerHealth(), Check(NOW, what == "ok", ""), 2)
        counts = counts.replace(before, after)
        seen.pop(number, None)
        if after is not None:
            seen[number] = after
    failing, failed = (sum(item.failures >= least for item in seen.values()) for least in (1, 2))
    assert counts == HealthCounts(
        len(seen), failing, sum(item.answered_at is not None for item in seen.values()), failed
    )


@pytest.mark.parametrize(
    ("of", "at", "seen", "proven"),
    [
        (worker(0), node(), REFUSED, False),  # Ready says its kubelet: one proof is no proof
        (worker(0, ready=False), node(), SILENT, False),  # too busy to answer either of the two
        (worker(0, ready=False), node(), REFUSED, True),
        (worker(0, ended=ENDED), node(), SILENT, True),
        (worker(0, ended=ENDED), CORDONED, SILENT, False),  # doomed: it drains (drift-roll)
        (worker(0, ready=False), CORDONED, REFUSED, False),
        (worker(0), None, SILENT, True),
        (worker(0), node(ready=False, ready_since=NOW - timedelta(seconds=59)), SILENT, False),
        (worker(0), node(ready=False, ready_since=NOW - timedelta(seconds=60)), SILENT, True),
        (terminating(0, ready=False, deletion_due=NOW + timedelta(seconds=1)), node(), REFUSED, False),
        (terminating(0, ended=ENDED, deletion_due=NOW - timedelta(seconds=20)), None, REFUSED, False),
        (terminating(0, deletion_due=NOW - timedelta(seconds=31)), node(), REFUSED, True),
        (worker(0, ready=False), node(), health("ok", "refused", "refused"), False),
        (worker(0, ready=False), node(), suspend(REFUSED, "it may be our own network"), False),
        (worker(0, ready=False), node(), None, False),
        (worker(0, phase="Failed", ended=ENDED), node(), None, True),
        (worker(0, phase="Succeeded", ended=ENDED), node(), None, False),
    ],
)
def test_a_held_worker_is_lost_only_when_the_cluster_confirms_it(of, at, seen, proven):
    found = prove_lost(of, at, seen)
    assert (found is not None) is proven
    if found:
        assert all(found) and found[0] != found[1]


def test_a_busy_worker_that_fails_its_checks_stays_busy_and_says_so():
    item = classify_worker(worker(0, stamp=STAMP), {"node-1": node()}, [claim("claim-0")], health=REFUSED)
    assert item.state is WorkerState.BUSY
    assert "3 health checks failed: connection refused, but it may still work" in item.why.message


@pytest.mark.parametrize("seen", [REFUSED, SILENT])
@pytest.mark.parametrize("of", [stamped(0), stamped(0, ready=False), stamped(0, ended=ENDED)])
def test_a_busy_worker_on_a_doomed_node_drains_whatever_its_health(of, seen):
    item = classify_worker(of, {"node-1": CORDONED}, [claim("claim-0")], health=seen)
    assert item.state is WorkerState.DRAINING


def test_a_busy_worker_that_terminates_drains_until_its_grace_is_over():
    of = terminating(0, stamp=STAMP, deletion_due=NOW + timedelta(seconds=500))
    assert classify_worker(of, {"node-1": node()}, [claim("claim-0")], health=SILENT).state is WorkerState.DRAINING
    late = terminating(0, stamp=STAMP, deletion_due=NOW - timedelta(seconds=60))
    assert classify_worker(late, {"node-1": node()}, [claim("claim-0")], health=SILENT).state is WorkerState.LOST


@pytest.mark.parametrize("at", [node(), CORDONED])
def test_an_idle_worker_that_fails_its_checks_is_lost_with_its_reason(at):
    item = classify_worker(worker(0), {"node-1": at}, health=SILENT)
    assert item.state is WorkerState.LOST
    assert item.why.message == "3 health checks failed: no answer within 3 s"
    assert item.why.since == SILENT.failing_since


def test_an_idle_worker_on_a_silent_node_is_left_to_its_node():
    item = classify_worker(worker(0, ready=False), {"node-1": node(ready=False)}, health=SILENT)
    assert item.state is WorkerState.STARTING and item.why.code == "node_not_ready"


def test_failures_in_doubt_leave_a_worker_idle_and_are_told():
    doubted = suspend(REFUSED, "it may be our own network")
    item = classify_worker(worker(0), {"node-1": node()}, health=doubted)
    assert item.state is WorkerState.IDLE and "proves nothing: it may be our own network" in item.why.message


def test_a_lost_idle_worker_is_retired_and_replaced_at_once():
    of = pool(warm=3, max=6)
    plan = plan_pool(snapshot(of, worker(0), worker(1), worker(2), unhealthy={"uid-1": REFUSED}))
    assert retired(plan) == ["linux-1"] and created(plan) == ["linux-3"]
    assert plan.status.lost == 1 and plan.status.idle == 2
    assert plan.retires[0].proofs == (by_ledger("no live claim on it"), by_worker(REFUSED.summary))


def test_at_its_most_a_pool_retires_the_lost_one_first():
    plan = plan_pool(snapshot(pool(warm=2, max=2), worker(0), worker(1), unhealthy={"uid-1": REFUSED}))
    assert retired(plan) == ["linux-1"] and created(plan) == []


@given(
    st.sampled_from(["ok", "refused", "silent"]),
    st.sampled_from([node(), CORDONED, node(ready=False), None]),
    st.booleans(),
    st.sampled_from(["", ENDED]),
    st.sampled_from([None, NOW]),
)
def test_no_plan_ever_retires_a_worker_that_somebody_holds(answer, at, ready, ended, terminates):
    of = stamped(0, ready=ready, ended=ended, terminating_since=terminates)
    nodes = {"node-1": at} if at else {}
    seen = {"uid-0": health(answer, answer, answer)}
    plan = plan_pool(snapshot(pool(), of, nodes=nodes, unhealthy=seen, held={"uid-0": 1}))
    assert retired(plan) == []


@pytest.mark.parametrize("retryable", [False, True])
def test_the_claim_of_a_lost_worker_is_lost_with_both_proofs(retryable):
    seen = ClaimsSnapshot(
        now=NOW,
        timeouts=Timeouts(),
        workers=(stamped(0, ready=False),),
        claims=(claim("claim-0", retryable=retryable),),
        nodes={"node-1": node()},
        unhealthy={"uid-0": REFUSED},
    )
    (act,) = plan_claim_has_pod(seen)
    assert act.remedy is Remedy.LOSE_CLAIM and act.worker is not None
    assert all(act.proofs) and "linux-0 is lost: 3 health checks failed" in act.reason


def test_the_claim_of_a_worker_that_is_only_unhealthy_is_left_alone():
    seen = ClaimsSnapshot(
        now=NOW,
        timeouts=Timeouts(),
        workers=(stamped(0),),
        claims=(claim("claim-0"),),
        nodes={"node-1": node()},
        unhealthy={"uid-0": REFUSED},
    )
    assert plan_claim_has_pod(seen) == []


@pytest.mark.parametrize(
    ("executing", "seen", "proven"),
    [
        (False, None, True),
        (None, REFUSED, True),  # where nobody listens nobody executes
        (None, SILENT, False),  # it may be too busy to answer
        (True, REFUSED, False),  # it said otherwise a moment ago
        (None, None, False),
    ],
)
def test_a_leaked_stamp_needs_the_worker_s_word_or_nobody_behind_its_port(executing, seen, proven):
    of = worker(0, stamp=STAMP)
    known = {"uid-0": seen} if seen else {}
    (act,) = plan_stamped_has_claim(
        ClaimsSnapshot(
            now=NOW, timeouts=Timeouts(), workers=(of,), claims=(), executing={"uid-0": executing}, unhealthy=known
        )
    )
    assert bool(act.proofs[1]) is proven
