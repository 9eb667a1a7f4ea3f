from datetime import timedelta

import pytest

from mooring.planning.placement import Placed
from mooring.planning.pools.plan import plan_pool
from mooring.planning.pools.snapshot import Backoff, InFlight
from packages.mooring.tests.planning.fleets import (
    NOW,
    created,
    node,
    pool,
    retired,
    snapshot,
    stamped,
    starting,
    terminating,
    worker,
)


@pytest.mark.parametrize(
    ("warm", "most", "workers", "expected"),
    [
        (3, 6, [], ["linux-0", "linux-1", "linux-2"]),
        (3, 6, [worker(0)], ["linux-1", "linux-2"]),
        (3, 6, [worker(0), starting(1)], ["linux-2"]),
        (3, 6, [worker(0), worker(1), worker(2)], []),
        (3, 6, [stamped(0), stamped(1), worker(2)], ["linux-3", "linux-4"]),
        (3, 4, [stamped(0), stamped(1), worker(2)], ["linux-3"]),
        (3, 3, [terminating(0), terminating(1), worker(2)], []),
        (3, 5, [terminating(0), terminating(1), worker(2)], ["linux-3", "linux-4"]),
        (0, 5, [], []),
    ],
    ids=[
        "an empty pool gets its floor",
        "what is missing is made",
        "a starting worker counts as coming",
        "a full floor needs nothing",
        "busy workers do not count for the floor",
        "max bounds what is made",
        "terminating workers count for max",
        "terminating workers are replaced while max allows",
        "a pool of nothing needs nothing",
    ],
)
def test_the_floor_is_filled_up_to_max(warm, most, workers, expected):
    assert created(plan_pool(snapshot(pool(warm=warm, max=most), *workers))) == expected


def test_a_create_that_the_watch_has_not_shown_yet_is_not_made_again():
    of = snapshot(pool(), in_flight=InFlight(creating=frozenset({"linux-0", "linux-1", "linux-2"})))
    assert created(plan_pool(of)) == []


def test_a_create_that_the_watch_has_shown_is_not_counted_twice():
    of = snapshot(pool(), worker(0), in_flight=InFlight(creating=frozenset({"linux-0"})))
    assert created(plan_pool(of)) == ["linux-1", "linux-2"]


def test_names_beyond_max_are_never_used_whatever_the_view_shows():
    of = snapshot(pool(warm=3, max=3), stamped(7))
    assert set(created(plan_pool(of))) <= {"linux-0", "linux-1", "linux-2"}


def test_a_name_that_belongs_to_a_stranger_is_passed_over():
    of = snapshot(pool(warm=2, max=2), in_flight=InFlight(taken=frozenset({"linux-0"})))
    assert created(plan_pool(of)) == ["linux-1", "linux-2"]


def test_queued_claims_grow_the_pool_beyond_its_floor():
    plan = plan_pool(snapshot(pool(warm=1, max=4), worker(0), queued=2))
    assert created(plan) == ["linux-1", "linux-2"]
    assert plan.status.queued == 2


def test_workers_on_a_node_that_is_not_ready_are_replaced_but_not_killed():
    stranded = worker(0, ready=False, ready_since=None)
    plan = plan_pool(snapshot(pool(warm=1, max=3), stranded, nodes={"node-1": node(ready=False)}))
    assert created(plan) == ["linux-1"]
    assert retired(plan) == []


def test_a_pool_with_room_that_cannot_create_workers_is_not_called_at_max():
    plan = plan_pool(snapshot(pool(warm=1, max=1), backoff=Backoff(3, NOW, "exceeded quota"), queued=1))
    assert [reason.code for reason in plan.reasons] == ["create_failed"]


def test_after_a_failed_create_nothing_is_tried_until_the_backoff_ends():
    backoff = Backoff(3, NOW + timedelta(seconds=20), "exceeded quota")
    plan = plan_pool(snapshot(pool(), backoff=backoff))
    assert created(plan) == []
    assert plan.wake_at == backoff.until
    ready = next(c for c in plan.status.conditions if c.type == "Ready")
    assert (ready.status, ready.reason) == ("False", "CreateFailed")
    assert "exceeded quota" in ready.message


@pytest.mark.parametrize(("policy", "named"), [("Keep", True), ("Delete", False)])
def test_a_pool_without_its_floor_names_the_stamped_workers_that_only_a_person_removes(
    policy: str, named: bool
) -> None:
    plan = plan_pool(snapshot(pool(warm=2, max=2, reclaim={"policy": policy}), stamped(1), stamped(0)))
    ready = next(c for c in plan.status.conditions if c.type == "Ready")
    assert ready.status == "False"
    fix = "2 stamped without a live claim, see mooring retire runners/linux-0 --reason '...'"
    assert (fix in ready.message) is named


def test_while_a_failed_create_is_tried_again_its_reason_stays():
    plan = plan_pool(snapshot(pool(), backoff=Backoff(3, NOW, "exceeded quota")))
    assert created(plan) and [reason.code for reason in plan.reasons] == ["create_failed"]


def test_unschedulable_workers_are_held_and_explained_never_churned():
    held = [starting(n, unschedulable="0/4 nodes are available: 4 Insufficient cpu.") for n in range(3)]
    plan = plan_pool(snapshot(pool(), *held))
    assert created(plan) == [] and retired(plan) == []
    schedulable = next(c for c in plan.status.conditions if c.type == "Schedulable")
    assert schedulable.status == "False"
    assert "Insufficient cpu" in schedulable.message


def test_without_any_node_of_its_node_pool_a_pool_waits_and_says_so():
    plan = plan_pool(snapshot(pool(), placed=Placed(problem="no node belongs to a pool named 'gpu'", fix="label one")))
    assert created(plan) == []
    schedulable = next(c for c in plan.status.conditions if c.type == "Schedulable")
    assert (schedulable.status, schedulable.reason) == ("False", "NoPlacement")


def test_an_invalid_pool_changes_nothing_and_names_the_problem():
    plan = plan_pool(snapshot(pool(), worker(0), problems=("spec.warm: 9 is not allowed",)))
    assert created(plan) == [] and retired(plan) == []
    valid = next(c for c in plan.status.conditions if c.type == "Valid")
    assert valid.status == "False" and "spec.warm" in valid.message


def test_a_pool_that_is_being_deleted_is_left_to_garbage_collection():
    import msgspec

    going = msgspec.structs.replace(pool(), terminating=True)
    plan = plan_pool(snapshot(going, worker(0)))
    assert created(plan) == [] and retired(plan) == []


class TestSurplus:
    def test_the_longest_idle_go_first_once_they_were_idle_long_enough(self):
        old = worker(0, ready_since=NOW - timedelta(seconds=400))
        older = worker(1, ready_since=NOW - timedelta(seconds=500))
        fresh = [worker(n, ready_since=NOW - timedelta(seconds=10)) for n in (2, 3)]
        plan = plan_pool(snapshot(pool(warm=3), old, older, *fresh))
        assert retired(plan) == ["linux-1"]

    def test_a_fresh_surplus_waits_and_the_plan_says_until_when(self):
        fresh = [worker(n, ready_since=NOW - timedelta(seconds=100)) for n in range(4)]
        plan = plan_pool(snapshot(pool(warm=3), *fresh))
        assert retired(plan) == []
        assert plan.wake_at == NOW + timedelta(seconds=200)

    def test_queued_claims_keep_a_surplus_alive(self):
        plan = plan_pool(snapshot(pool(warm=0), worker(0), worker(1), queued=2))
        assert retired(plan) == []

    def test_a_stamped_worker_is_never_surplus(self):
        plan = plan_pool(snapshot(pool(warm=0), stamped(0), worker(1)))
        assert retired(plan) == ["linux-1"]


class TestRolling:
    def test_a_template_change_first_makes_a_few_new_ones(self):
        outdated = [worker(n, spec_hash="old") for n in range(10)]
        plan = plan_pool(snapshot(pool(warm=10, max=20), *outdated))
        assert created(plan) == ["linux-10"]
        assert retired(plan) == []

    def test_once_a_new_one_is_ready_an_old_one_goes(self):
        workers = [worker(n, spec_hash="old") for n in range(10)]
        plan = plan_pool(snapshot(pool(warm=10, max=20), *workers, worker(10)))
        assert len(retired(plan)) == 1
        assert retired(plan)[0] != "linux-10"

    def test_without_room_an_old_one_goes_first_and_no_more_than_one_batch(self):
        outdated = [worker(n, spec_hash="old") for n in range(10)]
        plan = plan_pool(snapshot(pool(warm=10, max=10), *outdated))
        assert len(retired(plan)) == 1

    def test_busy_workers_of_an_old_template_finish(self):
        plan = plan_pool(snapshot(pool(warm=0, max=10), stamped(0, spec_hash="old")))
        assert retired(plan) == []

    def test_workers_of_an_old_template_that_have_not_started_are_replaced(self):
        workers = [
            starting(0, spec_hash="old", node="node-1", waiting="CrashLoopBackOff"),
            starting(1, spec_hash="old", unschedulable="0/1 nodes are available: Insufficient cpu"),
            starting(2, spec_hash="old", node="node-1"),
            starting(3, node="node-1"),
        ]
        plan = plan_pool(snapshot(pool(warm=4, max=6), *workers))
        assert retired(plan) == ["linux-0", "linux-1", "linux-2"]
        assert created(plan) == ["linux-4", "linux-5"]

    def test_those_on_a_node_that_is_not_ready_stay(self):
        stranded = starting(0, spec_hash="old", node="node-1")
        plan = plan_pool(snapshot(pool(warm=1, max=3), stranded, nodes={"node-1": node(ready=False)}))
        assert retired(plan) == []


class TestDraining:
    def test_idle_workers_on_a_cordoned_node_are_replaced_before_they_go(self):
        nodes = {"node-1": node(unschedulable=True), "node-2": node("node-2")}
        plan = plan_pool(snapshot(pool(warm=2, max=6), worker(0), worker(1), nodes=nodes))
        assert created(plan) == ["linux-2", "linux-3"]
        assert retired(plan) == []

    def test_they_go_once_the_floor_holds_without_them(self):
        nodes = {"node-1": node(unschedulable=True), "node-2": node("node-2")}
        there = [worker(2, node="node-2"), worker(3, node="node-2")]
        plan = plan_pool(snapshot(pool(warm=2, max=6), worker(0), worker(1), *there, nodes=nodes))
        assert retired(plan) == ["linux-0", "linux-1"]

    def test_busy_workers_on_a_cordoned_node_stay(self):
        plan = plan_pool(snapshot(pool(warm=0, max=6), stamped(0), nodes={"node-1": node(unschedulable=True)}))
        assert retired(plan) == []


def test_finished_workers_are_removed():
    plan = plan_pool(snapshot(pool(warm=1), worker(0), worker(1, phase="Failed", ready=False)))
    assert retired(plan) == ["linux-1"]


def test_a_settled_pool_plans_nothing_and_its_conditions_keep_their_times():
    import msgspec

    of = pool(warm=2)
    first = plan_pool(snapshot(of, worker(0), worker(1)))
    later = snapshot(
        msgspec.structs.replace(of, status=first.status), worker(0), worker(1), now=NOW + timedelta(hours=1)
    )
    second = plan_pool(later)
    assert second.status == first.status
    assert created(second) == [] and retired(second) == []


WAITING = starting(0, unschedulable="0/3 nodes are available: 3 node(s) had untolerated taint(s)", placement="older")


def test_a_worker_that_waits_on_terms_its_node_pool_has_changed_is_made_again():
    plan = plan_pool(snapshot(pool(warm=1), WAITING, placed=Placed({"workload": "blast"}, nodes=3)))
    assert retired(plan) == ["linux-0"] and created(plan) == ["linux-1"]


@pytest.mark.parametrize(
    "placed",
    [
        Placed({"workload": "blast"}, settled=False),  # node pools have not been read yet
        Placed(problem="no node belongs to a pool named 'blast'"),
    ],
)
def test_a_worker_keeps_waiting_while_nobody_knows_better_terms(placed):
    assert retired(plan_pool(snapshot(pool(warm=1), WAITING, placed=placed))) == []


@pytest.mark.parametrize("seconds", [2**63, 10**30, -(2**63)])
def test_an_absurd_idle_time_of_a_stored_pool_is_no_error(seconds):
    stored = pool(warm=1, max=3, idleSeconds=seconds)
    assert not plan_pool(snapshot(stored, *map(worker, range(3)), problems=("spec.idleSeconds",))).retires


def test_a_pool_with_demand_keeps_the_floor_that_follows_from_it() -> None:
    follows = pool(warm=0, max=20, demand={"min": 4})
    planned = plan_pool(snapshot(follows, worker(0)))
    assert len(planned.creates) == 3
    assert planned.status.demand is not None and planned.status.demand.floor == 4
    condition = next(one for one in planned.status.conditions if one.type == "DemandMet")
    assert (condition.status, condition.reason) == ("Unknown", "Learning")


def test_a_dry_run_of_demand_keeps_warm() -> None:
    tried = pool(warm=1, max=20, demand={"min": 4, "dryRun": True})
    planned = plan_pool(snapshot(tried, worker(0)))
    assert planned.creates == ()
    assert planned.status.demand is not None and planned.status.demand.floor == 4


def test_a_surplus_of_single_use_workers_goes_as_soon_as_the_floor_is_down() -> None:
    fresh = NOW - timedelta(seconds=20)
    follows = pool(warm=0, max=20, demand={"min": 1})
    planned = plan_pool(snapshot(follows, worker(0), worker(1, ready_since=fresh), worker(2, ready_since=fresh)))
    assert len(planned.retires) == 2


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"warm": 2, "demand": {}}, "spec.warm"),
        ({"warm": 0, "demand": {"wait": "soon"}}, "spec.demand.wait"),
        ({"warm": 0, "demand": {"min": 9}}, "spec.demand.min"),
        ({"warm": 0, "demand": {"max": 9}}, "spec.demand.max"),
        ({"warm": 0, "demand": {"scaleDownAfter": "2h"}}, "spec.demand.scaleDownAfter"),
        ({"warm": 0, "demand": {"schedules": [{"cron": "daily", "min": 1}]}}, "spec.demand.schedules[0].cron"),
        (
            {"warm": 0, "demand": {"schedules": [{"cron": "* * * * *", "min": 1, "timezone": "Mars"}]}},
            "spec.demand.schedules[0].timezone",
        ),
        ({"fairness": {"weights": {"acme": 0}}}, "spec.fairness.weights.acme"),
    ],
)
def test_a_wrong_demand_names_its_field(spec: dict[str, object], field: str) -> None:
    assert any(problem.startswith(field) for problem in pool(**spec).problems)
