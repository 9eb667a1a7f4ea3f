"""Why a pool's floor is not held, and why nobody is free: every blocker listed, named and counted."""

from datetime import timedelta

import msgspec
import pytest

from mooring.model.pool import Pool, PoolStatus
from mooring.model.why import Condition
from mooring.model.worker import Worker
from mooring.planning.explanations.pools import PoolView, explain_pool, explain_shortage, is_settled
from mooring.planning.pools.plan import plan_pool
from mooring.planning.workers import classify_worker, mark_silent
from packages.mooring.tests.planning.fleets import (
    NOW,
    claim,
    node,
    pool,
    snapshot,
    stamped,
    starting,
    terminating,
    worker,
)

SINCE = "2026-03-01T11:30:00Z"
DUE = NOW + timedelta(minutes=5, seconds=7)
NODES = {"node-1": node(), "cordoned": node("cordoned", unschedulable=True, draining_since=NOW)}


def standing(*conditions: Condition, **status: object) -> Pool:
    dated = tuple(msgspec.structs.replace(one, last_transition_time=SINCE) for one in conditions)
    told = PoolStatus(conditions=dated, **status)  # type: ignore[arg-type]
    return msgspec.structs.replace(pool(warm=4, max=6), status=told, created_at=NOW - timedelta(days=1))


def view(of: Pool, *workers: Worker) -> PoolView:
    return PoolView(of, [classify_worker(one, NODES) for one in workers])


SHORT = standing(Condition("Ready", "False", "AtMax", "1 of 4 idle, 1 starting"), queued=2)


def test_a_floor_that_is_not_held_is_counted_and_its_workers_are_named():
    why = explain_pool(
        view(
            SHORT,
            worker(0),
            starting(1),
            terminating(2, deletion_due=DUE),
            terminating(3, deletion_due=NOW),
            terminating(4, deletion_due=NOW),
            worker(5),
        )
    )
    assert (why.code, why.message) == ("at_max", "1 of 4 idle, 1 starting")
    assert f"{why.since:%H:%M}" == "11:30"
    assert why.blockers == (
        "needs 4 idle: 2 idle, 0 busy, 1 starting, 3 draining until 12:05:07Z, 0 lost; at most 6",
        "waiting claims: 2",
        "3 draining since 2026-03-01 11:59:55Z: the pod is terminating "
        "(worker/runners/linux-2, worker/runners/linux-3, worker/runners/linux-4)",
        "1 starting since 2026-03-01 11:49:00Z: waits for a node (worker/runners/linux-1)",
    )
    assert why.next_check == NOW
    assert why.fix == "mooring claims --pool runners/linux  # release some, or raise spec.max"


def test_only_those_that_end_by_a_known_time_are_told_to():
    why = explain_pool(view(SHORT, terminating(1, deletion_due=DUE), worker(2, node="cordoned")))
    assert "2 draining (1 of them) until 12:05:07Z" in why.blockers[0]
    (reasons,) = [blocker for blocker in why.blockers if "cordoned" in blocker]
    assert reasons.startswith("1 draining since 2026-03-01 12:00:00Z: the node is cordoned")


def test_of_many_in_the_same_way_the_first_are_named_and_the_others_counted():
    why = explain_pool(view(SHORT, *(starting(number) for number in range(5))))
    assert why.blockers[-1].endswith(
        "(worker/runners/linux-0, worker/runners/linux-1, worker/runners/linux-2 and 2 more)"
    )


@pytest.mark.parametrize(
    ("of", "code", "message"),
    [
        (standing(Condition("Ready", "True", "FloorHeld", "at least 4 idle")), "floor_held", "at least 4 idle"),
        (standing(Condition("Valid", "False", "InvalidSpec", "spec.warm: 9")), "invalid_spec", "spec.warm: 9"),
        (standing(), "not_reconciled", "not reconciled yet"),
        (
            msgspec.structs.replace(standing(), terminating=True, terminating_since=NOW),
            "terminating",
            "the pool is being deleted",
        ),
    ],
)
def test_a_pool_that_has_nothing_to_count_says_so_in_a_word(of, code, message):
    why = explain_pool(PoolView(of))
    assert (why.code, why.message) == (code, message) and why.since is not None


def test_what_else_does_not_hold_is_told_of_a_pool_whose_floor_holds():
    held = standing(
        Condition("Ready", "True", "FloorHeld", "at least 4 idle"),
        Condition("Schedulable", "False", "NoNodeFits", "no node fits. Fix: a bigger one"),
        Condition("ProtectionBounded", "Unknown", "NoNodePools", "cannot be read"),
    )
    assert explain_pool(PoolView(held)).blockers == ("Schedulable: no node fits. Fix: a bigger one",)
    assert is_settled(held) and not is_settled(SHORT)


@pytest.mark.parametrize(
    "of",
    [
        snapshot(pool(), worker(0), starting(1)),
        snapshot(pool(warm=2, max=2), stamped(0), stamped(1)),
        snapshot(pool(warm=0)),
        snapshot(pool(), problems=("spec.warm is wrong",)),
    ],
)
def test_what_the_planner_writes_into_the_status_is_what_the_why_tells(of):
    plan = plan_pool(of)
    why = explain_pool(PoolView(msgspec.structs.replace(of.pool, status=plan.status), plan.workers))
    assert why.since == NOW and why.message
    assert any(why.message == condition.message for condition in plan.status.conditions)


def test_nobody_is_free_since_the_last_one_was_taken():
    full = standing(Condition("Ready", "False", "AtMax", "0 of 4 idle"), queued=3)
    why = explain_shortage(view(full, stamped(0), starting(1)))
    assert why.code == "no_idle_worker"
    assert why.since == NOW - timedelta(seconds=60)
    assert why.blockers[:2] == (
        "workers: 0 idle, 1 busy, 1 starting, 0 draining, 0 lost; at most 6",
        "waiting claims: 3",
    )
    assert why.blockers[-1] == "Ready: 0 of 4 idle"


def test_an_idle_worker_that_was_not_to_be_had_is_explained():
    why = explain_shortage(view(SHORT, worker(0)))
    assert why.blockers[2] == "1 idle when last seen: now taken, being removed, or kept for waiting claims"


def test_of_a_pool_without_workers_nobody_is_free_since_its_conditions_changed_or_it_was_made():
    assert f"{explain_shortage(PoolView(SHORT)).since:%H:%M}" == "11:30"
    assert explain_shortage(PoolView(standing())).since == NOW - timedelta(days=1)


@pytest.mark.parametrize("explain", [explain_pool, explain_shortage])
@pytest.mark.parametrize(("reuse", "waits"), [("Never", True), ("Always", False)])
def test_a_pool_full_of_stamps_without_claims_names_the_worker_to_retire(explain, reuse, waits):
    full = msgspec.structs.replace(SHORT, spec=pool(warm=4, max=2, reuse=reuse).spec)
    why = explain(view(full, stamped(0), stamped(1)))
    assert any("stamped for acme without a live claim" in blocker for blocker in why.blockers)
    assert why.fix.startswith("mooring retire runners/linux-0 --reason '...'")
    assert ("or wait: deleted after 600 s without a sign of life" in why.fix) is waits


@pytest.mark.parametrize("explain", [explain_pool, explain_shortage])
def test_a_pool_whose_workers_all_do_not_poll_shows_their_words_and_not_a_larger_floor(explain):
    of = standing(Condition("Ready", "False", "Starting", "1 have stopped to poll (0 of 4 idle, 0 starting)"))
    quiet = [mark_silent(classify_worker(worker(number), NODES), None) for number in (0, 1)]
    shown = "kubectl -n runners logs -l mooring.dev/pool=linux --all-containers --tail=20 --prefix"
    assert explain(PoolView(of, quiet)).fix == shown
    assert explain(PoolView(of, [*quiet, classify_worker(starting(2), NODES)])).fix != shown


def test_a_pool_that_claims_hold_too_is_not_healed_by_retiring_one():
    held = classify_worker(stamped(0), NODES, [claim("claim-0")])
    leaked = classify_worker(stamped(1), NODES)
    assert "mooring claims" in explain_pool(PoolView(SHORT, [held, leaked])).fix


@pytest.mark.parametrize("explain", [explain_pool, explain_shortage])
def test_a_pool_whose_quota_is_full_names_the_quota(explain):
    full = standing(Condition("Ready", "False", "CreateFailed", "1 of 4 idle: exceeded quota: few, requested: pods=1"))
    assert explain(view(full, worker(0))).fix.startswith("kubectl -n runners describe resourcequota few")


def test_workers_that_find_no_node_are_fixed_by_an_edit_of_the_pool_that_says_what_to_change():
    unplaced = starting(1, phase="Pending", unschedulable="0/3 nodes are available: 3 node(s) had untolerated taint(s)")
    schedulable = Condition(
        "Schedulable", "False", "Unschedulable", "1 held Pending. Fix: add toleration a; request less"
    )
    short = Condition("Ready", "False", "Starting", "0 of 4 idle, 1 starting")
    edit = "kubectl -n runners edit workerpool linux  # add toleration a, request less"
    assert explain_pool(view(standing(short, schedulable), unplaced)).fix == edit
    assert explain_shortage(view(standing(short, schedulable), unplaced)).fix == edit
    assert explain_pool(view(standing(short), unplaced)).fix.startswith("mooring explain pod/runners/")
