"""Which nodes are closed for new workers, when, for how long, and what that means for a pool."""

from datetime import timedelta

import pytest

from mooring.model.node import Quarantine, Taint
from mooring.planning.placement import Placed
from mooring.planning.pools.plan import plan_pool
from mooring.planning.quarantine import (
    QuarantineSnapshot,
    StartFailure,
    describe_failed_start,
    plan_avoidance,
    plan_quarantine,
    proves_template,
)
from packages.mooring.tests.planning.fleets import (
    NOW,
    created,
    node,
    pool,
    snapshot,
    stamped,
    starting,
    terminating,
    worker,
)

TEMPLATE = ("runners/linux", "current")
NODES = {name: node(name) for name in ("node-1", "node-2", "node-3", "node-4")}


def failures(count, on="node-1-uid", minutes_ago=1.0, template=TEMPLATE):
    at = NOW - timedelta(minutes=minutes_ago)
    return [StartFailure(f"{on}-{template[0]}-{n}", on, template, at, "CrashLoopBackOff") for n in range(count)]


def closed(*found, **changes):
    base = {"now": NOW, "nodes": NODES, "failures": tuple(found)}
    return plan_quarantine(QuarantineSnapshot(**{**base, **changes}))


def plan_of(*workers, **changes):
    return plan_pool(snapshot(pool(), *workers, **changes))


def quarantine(minutes_ago=1.0):
    since = NOW - timedelta(minutes=minutes_ago)
    return Quarantine(since, since + timedelta(minutes=10), "3 workers failed")


def test_three_failed_starts_within_ten_minutes_close_a_node_for_ten_minutes():
    (found,) = closed(*failures(3)).items()
    assert found[0] == "node-1-uid"
    assert (found[1].since, found[1].until) == (NOW, NOW + timedelta(minutes=10))
    assert "3 workers failed to start within 10 min, the last one with CrashLoopBackOff" in found[1].reason


@pytest.mark.parametrize(
    "found",
    [
        failures(2),
        [*failures(2), *failures(1, "node-2-uid")],
        [*failures(2), *failures(1, minutes_ago=10.1)],
        failures(5, "node-that-is-gone"),
    ],
    ids=["two", "spread over nodes", "too long ago", "node gone"],
)
def test_fewer_older_or_scattered_failures_close_nothing(found):
    assert closed(*found, started=frozenset({TEMPLATE})) == {}


def test_a_closed_node_stays_closed_until_its_time_is_over():
    assert closed(active={"node-1-uid": quarantine(9.9)}) == {"node-1-uid": quarantine(9.9)}
    assert closed(active={"node-1-uid": quarantine(10)}) == {}
    assert closed(active={"another-uid": quarantine(1)}) == {}


def test_a_template_that_fails_everywhere_and_runs_nowhere_is_at_fault_itself():
    everywhere = [*failures(4), *failures(4, "node-2-uid")]
    assert closed(*everywhere) == {}
    assert set(closed(*everywhere, started=frozenset({TEMPLATE}))) == {"node-1-uid", "node-2-uid"}
    other = failures(3, template=("queries/duck", "x"))
    assert set(closed(*everywhere, *other)) == {"node-1-uid"}


def test_a_node_that_was_closed_for_a_faulty_template_is_opened_again():
    everywhere = [*failures(3), *failures(1, "node-2-uid")]
    assert closed(*everywhere, active={"node-1-uid": quarantine()}) == {}


def test_never_more_than_half_of_the_nodes_are_closed_and_the_worst_come_first():
    found = [*failures(3), *failures(5, "node-2-uid"), *failures(4, "node-3-uid")]
    assert set(closed(*found, started=frozenset({TEMPLATE}))) == {"node-2-uid", "node-3-uid"}
    assert closed(*failures(9), nodes={"node-1": node("node-1")}) == {}
    system = {name: node(name, taints=(Taint("CriticalAddonsOnly"),)) for name in ("a", "b", "c")}
    assert closed(*failures(9), nodes={"node-1": node("node-1"), **system}) == {}


@pytest.mark.parametrize("reason", ["CrashLoopBackOff", "CreateContainerError", "ImagePullBackOff"])
def test_a_container_that_cannot_start_is_a_failed_start(reason):
    assert describe_failed_start(starting(1, node="node-1", waiting=reason)) == reason


def test_a_pod_that_failed_early_is_a_failed_start_and_one_that_served_is_not():
    failed = {"node": "node-1", "phase": "Failed", "started_at": NOW}
    assert (
        describe_failed_start(starting(1, **failed, failure="UnexpectedAdmissionError")) == "UnexpectedAdmissionError"
    )
    assert describe_failed_start(starting(1, **failed, unready_since=NOW + timedelta(seconds=20)))
    assert not describe_failed_start(starting(1, **failed, unready_since=NOW + timedelta(seconds=61)))


@pytest.mark.parametrize(
    "innocent",
    [
        worker(1),
        starting(1),
        starting(1, node="node-1"),
        starting(1, node="node-1", waiting="CreateContainerConfigError"),
        stamped(1, ready=False, phase="Failed"),
        terminating(1, ready=False, phase="Failed"),
        worker(1, ready=False, ready_since=None, phase="Succeeded"),
    ],
    ids=["ready", "no node yet", "starting", "wrong config", "handed out", "deleted", "finished"],
)
def test_everything_else_says_nothing_about_its_node(innocent):
    assert describe_failed_start(innocent) == ""


def test_a_worker_proves_its_template_once_it_is_handed_out_or_ready_for_a_minute():
    assert proves_template(stamped(1, ready=False, ready_since=None), NOW)
    assert proves_template(worker(1, ready_since=NOW - timedelta(seconds=61)), NOW)
    assert not proves_template(worker(1, ready_since=NOW - timedelta(seconds=1)), NOW)
    assert not proves_template(starting(1), NOW)


def test_a_pool_avoids_the_closed_nodes_it_could_reach_unless_no_other_is_left():
    nodes = [node("a", labels={"pool": "x"}), node("b", labels={"pool": "x"}), node("c")]
    in_x = Placed(node_selector={"pool": "x"})
    assert plan_avoidance({"a-uid": quarantine(), "c-uid": quarantine()}, nodes, in_x) == ("a",)
    assert plan_avoidance({"a-uid": quarantine(), "b-uid": quarantine()}, nodes, in_x) == ()
    assert plan_avoidance({"a-uid": quarantine()}, nodes, Placed()) == ("a",)


AVOIDING = {"placed": Placed(nodes=4, avoid=("node-1",)), "nodes": NODES, "quarantined": {"node-1": quarantine()}}


def test_a_worker_that_does_not_start_on_a_closed_node_is_made_again_elsewhere():
    looping = starting(0, node="node-1", phase="Running", waiting="CrashLoopBackOff")
    plan = plan_of(looping, worker(1), worker(2), **AVOIDING)
    assert created(plan) == ["linux-3"]
    (act,) = plan.retires
    assert act.worker is looping and "quarantined" in act.reason and all(act.proofs)
    (ready,) = [condition for condition in plan.status.conditions if condition.type == "Ready"]
    assert "node-1 gets no new workers until 12:09:00Z: 3 workers failed" in ready.message
    assert plan.wake_at == quarantine().until


def test_a_worker_that_is_still_starting_on_a_closed_node_may_go_on():
    plan = plan_of(starting(0, node="node-1"), worker(1), worker(2, node="node-1"), **AVOIDING)
    assert (created(plan), plan.retires) == ([], ())


@pytest.mark.parametrize(
    ("avoids", "avoid", "again"),
    [
        ({"node-1"}, ("node-1",), False),
        ({"node-1"}, (), True),
        ((), ("node-1",), True),
        ({"node-gone"}, (), False),
        ((), (), False),
    ],
)
def test_a_worker_that_waits_for_a_node_on_old_terms_is_made_again(avoids, avoid, again):
    waiting = starting(0, unschedulable="0/4 nodes are available", avoids=frozenset(avoids))
    changes = {**AVOIDING, "placed": Placed(nodes=4, avoid=avoid)}
    plan = plan_of(waiting, worker(1), worker(2), **changes)
    assert bool(plan.retires) is again
