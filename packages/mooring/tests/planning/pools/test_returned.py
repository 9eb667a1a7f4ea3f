"""Workers that are kept for their last owner: when they stay, and when they are replaced."""

from datetime import timedelta

import pytest

from mooring.planning.pools.plan import plan_pool
from mooring.planning.pools.snapshot import InFlight
from mooring.planning.rails import apply_rails
from packages.mooring.tests.planning.fleets import (
    NOW,
    created,
    pool,
    retired,
    snapshot,
    stamped,
    starting,
    terminating,
    worker,
)


def returned(slot, idle_seconds=30, **changes):
    return worker(slot, tenant="acme", tenant_since=NOW - timedelta(seconds=idle_seconds), **changes)


@pytest.mark.parametrize(
    ("warm", "most", "workers", "creates", "retires"),
    [
        (1, 3, [returned(0)], ["linux-1"], []),
        (1, 3, [returned(0), worker(1)], [], []),
        (1, 1, [returned(0)], [], ["linux-0"]),
        (1, 2, [returned(0, 30), returned(1, 60)], [], ["linux-1"]),
        (2, 3, [returned(0, 30), returned(1, 60), returned(2, 90)], [], ["linux-2", "linux-1"]),
        (1, 2, [returned(0), terminating(1)], [], []),
        (1, 2, [returned(0), starting(1)], [], []),
        (1, 2, [returned(0), stamped(1)], [], ["linux-0"]),
        (0, 2, [returned(0, 299)], [], []),
        (0, 2, [returned(0, 300)], [], ["linux-0"]),
        (0, 2, [returned(0, spec_hash="older")], [], ["linux-0"]),
    ],
    ids=[
        "the floor is filled beside it",
        "with room it stays",
        "without room it is replaced",
        "the longest idle goes first",
        "as many as are missing go",
        "a worker that terminates makes room",
        "a worker that starts fills the floor",
        "a busy pool needs its place",
        "it may stay for idleSeconds",
        "it may not stay longer",
        "an older template is replaced",
    ],
)
def test_a_returned_worker_is_kept_while_there_is_room_and_time(warm, most, workers, creates, retires):
    plan = plan_pool(snapshot(pool(warm=warm, max=most, reuse="SameOwner"), *workers))
    assert (created(plan), retired(plan)) == (creates, retires)


def test_a_waiting_claim_counts_as_need():
    full = (returned(0), stamped(1))
    assert retired(plan_pool(snapshot(pool(warm=0, max=2, reuse="SameOwner"), *full))) == []
    assert retired(plan_pool(snapshot(pool(warm=0, max=2, reuse="SameOwner"), *full, queued=1))) == ["linux-0"]


def test_a_worker_that_is_being_deleted_is_not_replaced_twice():
    state = snapshot(
        pool(warm=1, max=2, reuse="SameOwner"),
        returned(0),
        returned(1),
        in_flight=InFlight(deleting=frozenset({"uid-1"})),
    )
    assert retired(plan_pool(state)) == []


def test_it_is_deleted_on_two_proofs_and_two_ticks():
    [act] = plan_pool(snapshot(pool(warm=1, max=1, reuse="SameOwner"), returned(0))).retires
    assert not apply_rails([act], {}, NOW).allowed
    assert apply_rails([act], {act.key: NOW - timedelta(seconds=3)}, NOW).allowed == (act,)


def test_the_plan_wakes_when_the_time_of_a_returned_worker_is_over():
    plan = plan_pool(snapshot(pool(warm=0, max=2, reuse="SameOwner", idleSeconds=100), returned(0, 40)))
    assert plan.wake_at == NOW + timedelta(seconds=60)


def test_the_last_owner_means_nothing_where_workers_are_reused_for_everyone():
    plan = plan_pool(snapshot(pool(warm=1, max=1, reuse="Always"), returned(0, 30)))
    assert (created(plan), retired(plan)) == ([], [])


def test_a_pool_whose_idle_workers_are_all_kept_for_owners_is_not_ready():
    plan = plan_pool(snapshot(pool(warm=1, max=1, reuse="SameOwner"), returned(0)))
    ready = next(one for one in plan.status.conditions if one.type == "Ready")
    assert (ready.status, plan.status.idle) == ("False", 1)
