"""Where shards go: sticky, balanced, stable, and never an exception when there is too little room."""

from datetime import timedelta

import msgspec
import pytest

from mooring.model.node import Taint
from mooring.model.warmup import MOST_SHARDS, NodesVerdict
from mooring.planning.warmups.plan import plan_warmup
from packages.mooring.tests.planning.warmups.datasets import (
    GIB,
    NOW,
    Cluster,
    created,
    dataset,
    job,
    nodes,
    released,
    snapshot,
)

SYSTEM = {"taints": (Taint("CriticalAddonsOnly", "true"),)}


def test_each_shard_gets_a_node_of_its_own():
    plan = plan_warmup(snapshot(dataset(shards=3), nodes(5)))
    assert created(plan) == {0: "node-0", 1: "node-1", 2: "node-2"}
    assert plan.status.phase == "Warming"


def test_new_shards_go_where_other_datasets_have_put_the_fewest():
    plan = plan_warmup(snapshot(dataset(shards=2), nodes(3), load={"node-0-uid": 2, "node-1-uid": 1}))
    assert created(plan) == {0: "node-2", 1: "node-1"}


@pytest.mark.parametrize(
    "closed",
    [{"ready": False}, {"unschedulable": True}, SYSTEM, {"taints": (Taint("gpu"),)}, {"terminating": True}],
    ids=["not ready", "cordoned", "system", "tainted", "terminating"],
)
def test_only_nodes_that_take_pods_of_the_placement_are_chosen(closed):
    fleet = nodes(2) | nodes(1, "other", **closed)
    assert set(created(plan_warmup(snapshot(dataset(shards=2), fleet))).values()) == {"node-0", "node-1"}


def test_a_node_pool_by_name_brings_the_tolerations_its_nodes_ask_for():
    blast = nodes(2, "work", labels={"workload": "blast"}, taints=(Taint("workload", "blast"),))
    warmup = dataset(shards=2, placement={"nodePool": "blast"})
    shot = snapshot(warmup, nodes(3) | blast)
    assert set(created(plan_warmup(shot)).values()) == {"work-0", "work-1"}
    assert shot.survey.placed.tolerations[0]["key"] == "workload"


def test_broadcast_goes_to_every_node_and_follows_new_ones():
    cluster = Cluster(dataset(mode="Broadcast", shards=4), nodes(3))
    assert cluster.settle().nodes_ready == 3
    cluster.nodes |= nodes(2, "late")
    status = cluster.settle()
    assert (status.phase, status.nodes_ready, status.nodes_total) == ("Ready", 5, 5)
    assert [create.node.name for create in cluster.made[3:]] == ["late-0", "late-1"]


@pytest.mark.parametrize(
    ("spec", "on", "verdict"),
    [
        ({}, nodes(3), NodesVerdict.OK),
        ({}, {}, NodesVerdict.NO_NODES),
        ({}, nodes(3, ready=False), NodesVerdict.NO_NODES),
        ({}, nodes(2), NodesVerdict.TOO_FEW_NODES),
        ({"size": "90Gi"}, nodes(3), NodesVerdict.OK),  # 30 GiB a shard, half of 64 GiB is 32
        ({"size": "99Gi"}, nodes(3), NodesVerdict.NODE_TOO_SMALL),
        ({"size": "99Gi", "memoryBudget": "0.6"}, nodes(3), NodesVerdict.OK),
        ({"size": "99Gi", "memoryBudget": "20Gi"}, nodes(3), NodesVerdict.NODE_TOO_SMALL),
        ({"memoryBudget": "128Gi"}, nodes(3), NodesVerdict.NODE_TOO_SMALL),
        ({"size": "99Gi"}, nodes(1), NodesVerdict.TOO_FEW_NODES),
        ({"size": "99Gi"}, nodes(2) | nodes(3, "big", allocatable={"memory": 256 * GIB}), NodesVerdict.OK),
        ({"placement": {"nodePool": "nowhere"}}, nodes(3), NodesVerdict.NO_NODES),
        ({"mode": "Broadcast"}, {}, NodesVerdict.NO_NODES),
        ({"mode": "Broadcast", "size": "40Gi"}, nodes(3), NodesVerdict.NODE_TOO_SMALL),
    ],
)
def test_insufficient_nodes_are_a_verdict(spec, on, verdict):
    assert plan_warmup(snapshot(dataset(**spec), on)).status.verdict == verdict


def test_missing_nodes_are_waited_for_and_then_the_present_ones_are_warmed():
    warmup = dataset(shards=3)
    first = plan_warmup(snapshot(warmup, nodes(2)))
    assert created(first) == {} and first.status.phase == "Pending"
    assert first.wake_at == NOW + timedelta(seconds=900)
    waiting = msgspec.structs.replace(warmup, status=first.status)
    early = plan_warmup(snapshot(waiting, nodes(2), now=NOW + timedelta(seconds=899)))
    assert created(early) == {}
    partial = plan_warmup(snapshot(waiting, nodes(2), now=NOW + timedelta(seconds=900)))
    assert created(partial) == {0: "node-0", 1: "node-1"}
    assert "3 node(s) are needed, 2 are there" in partial.status.shards[2].why


def test_when_the_missing_node_comes_all_start_at_once():
    cluster = Cluster(dataset(shards=3), nodes(2))
    cluster.step()
    cluster.nodes = nodes(3)
    assert sorted(created(cluster.step())) == [0, 1, 2]
    assert cluster.settle().phase == "Ready"


def test_a_blink_moves_nothing_and_a_long_absence_moves_one_shard_to_a_free_node():
    warmup, fleet = dataset(shards=2), nodes(3)
    jobs = [job(warmup, number, fleet[f"node-{number}"]) for number in range(2)]
    fleet |= nodes(1, ready=False)
    blink = {"node-0-uid": NOW - timedelta(seconds=59)}
    plan = plan_warmup(snapshot(warmup, fleet, *jobs, unfit_since=blink))
    assert released(plan) == {} and plan.status.nodes_ready == 2
    assert plan.wake_at == NOW + timedelta(seconds=1)
    absent = {"node-0-uid": NOW - timedelta(seconds=60)}
    plan = plan_warmup(snapshot(warmup, fleet, *jobs, unfit_since=absent))
    assert released(plan) == {"warm-nt-00": "node_left"}
    assert (plan.status.phase, plan.status.nodes_ready) == ("Stale", 1)


def test_a_node_that_stays_away_keeps_its_shard_while_no_other_is_free():
    warmup, fleet = dataset(shards=2), nodes(2)
    jobs = [job(warmup, number, fleet[f"node-{number}"]) for number in range(2)]
    fleet |= nodes(1, ready=False)
    plan = plan_warmup(snapshot(warmup, fleet, *jobs, unfit_since={"node-0-uid": NOW - timedelta(hours=1)}))
    assert released(plan) == {} and created(plan) == {}
    assert plan.status.phase == "Stale"
    back = plan_warmup(snapshot(warmup, nodes(2), *jobs))
    assert back.status.phase == "Ready"


def test_a_cordoned_node_still_counts_as_warm_until_its_shard_has_moved():
    warmup, fleet = dataset(shards=2), nodes(2)
    jobs = [job(warmup, number, fleet[f"node-{number}"]) for number in range(2)]
    fleet |= nodes(1, unschedulable=True)
    plan = plan_warmup(snapshot(warmup, fleet, *jobs, unfit_since={"node-0-uid": NOW - timedelta(hours=1)}))
    assert (plan.status.phase, plan.status.nodes_ready) == ("Ready", 2)


@pytest.mark.parametrize("shards", [2**31, 2**63, 10**30])
def test_more_shards_than_a_warmup_may_have_cost_no_more_than_the_most_it_may_have(shards):
    plan = plan_warmup(snapshot(dataset(shards=shards), nodes(3)))
    assert len(plan.status.shards) <= MOST_SHARDS
