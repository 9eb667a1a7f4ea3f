"""A new order rolls shard by shard, only where it can be fetched, and never below the availability the old one had."""

from datetime import timedelta

import msgspec
import pytest

from mooring.model.node import Taint
from mooring.model.warmup import Circuit, Rewarm
from mooring.planning.warmups.plan import plan_warmup
from mooring.planning.warmups.warm_nodes import warm_nodes
from packages.mooring.tests.planning.warmups.datasets import NOW, Cluster, dataset, nodes, released, snapshot


def warmed(shards: int, count: int) -> Cluster:
    """A dataset that is warm, and watched from now on."""
    cluster = Cluster(dataset(shards=shards), nodes(count))
    cluster.settle()
    cluster.least_warm = None
    return cluster


def ask(cluster: Cluster, wish: str) -> None:
    if wish == "generation":
        cluster.change(generation="2")
    else:
        cluster.warmup = msgspec.structs.replace(cluster.warmup, rewarm_request="r1")


@pytest.mark.parametrize("wish", ["generation", "rewarm"])
@pytest.mark.parametrize("for_seconds", [10, 3600])
def test_a_cordoned_node_keeps_its_old_copy_while_the_others_roll(wish, for_seconds):
    cluster = warmed(5, 5)
    cluster.cordon("node-1", for_seconds)
    ask(cluster, wish)
    status = cluster.settle()
    assert (cluster.least_warm, status.nodes_ready, status.phase) == (5, 5, "Stale")
    assert sorted(create.shard for create in cluster.made[5:]) == [0, 2, 3, 4]
    assert "node-1 takes nothing now, and no other node is free" in status.shards[1].why
    cluster.uncordon("node-1")
    status = cluster.settle()
    assert (cluster.least_warm, status.phase, len(cluster.made)) == (5, "Ready", 10)


def test_a_node_cordoned_while_its_shard_has_no_job_stays_its_home_and_counts():
    cluster = warmed(3, 3)
    ask(cluster, "generation")
    assert released(cluster.step()) == {"warm-nt-00": "generation_old"}
    cluster.cordon("node-0", 0)
    blink = cluster.step()
    assert (blink.releases, blink.creates, blink.status.nodes_ready) == ((), (), 3), "the next waits for the first"
    for _ in range(120):
        cluster.step()
    assert cluster.warmup.status.nodes_ready == 3 and cluster.warmup.status.shards[0].warm == "1"
    cluster.uncordon("node-0")
    status = cluster.settle()
    assert (status.phase, cluster.least_warm) == ("Ready", 3)
    assert [(create.shard, create.node.name) for create in cluster.made[-3:] if create.shard == 0] == [(0, "node-0")]


def test_a_shard_that_leaves_a_cordoned_node_counts_there_until_it_is_warm_elsewhere():
    cluster = warmed(3, 4)
    cluster.cordon("node-0", 3600)
    cluster.step()
    moving = cluster.step().status
    assert (moving.nodes_ready, moving.shards[0].node, moving.shards[0].holder) == (
        3,
        "node-3",
        ("node-0", "node-0-uid"),
    )
    assert warm_nodes(moving, nodes(4)) == ("node-0", "node-1", "node-2")
    status = cluster.settle()
    assert (status.phase, cluster.least_warm, status.shards[0].holder) == ("Ready", 3, ("node-3", "node-3-uid"))
    assert status.shards[0].warm_node == ""


def test_a_node_that_only_fares_badly_is_rolled_to_a_free_one():
    cluster = warmed(2, 2)
    pressed = (Taint("node.kubernetes.io/disk-pressure"),)
    cluster.nodes |= nodes(1, taints=pressed)
    ask(cluster, "generation")
    status = cluster.settle()
    assert (status.nodes_ready, status.shards[0].warm, status.shards[1].warm) == (2, "1", "2")
    cluster.nodes |= nodes(1, "spare")
    status = cluster.settle()
    assert (status.phase, status.shards[0].node, cluster.least_warm) == ("Ready", "spare-0", 2)


def test_nothing_is_rolled_while_permissions_get_their_time():
    cluster = warmed(5, 5)
    cluster.change(generation="2", env=({"name": "TOKEN", "value": "x"},))
    for _ in range(58):
        assert released(cluster.step()) == {}
    assert "permissions get until" in cluster.warmup.status.shards[0].why
    in_work = 0
    for _ in range(60):
        cluster.step()
        in_work = max(in_work, sum(not one.finished for one in cluster.jobs.values()))
    assert (in_work, len(cluster.made), cluster.warmup.status.phase) == (1, 10, "Ready")


def test_an_open_circuit_keeps_every_copy_of_the_old_generation():
    cluster = warmed(5, 5)
    ask(cluster, "generation")
    cluster.step()
    cluster.step()
    broken = msgspec.structs.replace(cluster.warmup.status, circuit=Circuit("open", (), None, NOW + timedelta(hours=1)))
    cluster.warmup = msgspec.structs.replace(cluster.warmup, status=broken)
    cluster.fail("warm-nt-00")
    for _ in range(50):
        plan = cluster.step()
        assert (plan.releases, plan.creates) == ((), ())
    assert plan.status.nodes_ready == 5 and "the circuit is open" in plan.status.shards[1].why


def test_the_roll_goes_on_past_a_name_that_a_stranger_holds():
    cluster = warmed(3, 3)
    del cluster.jobs["warm-nt-00"]
    cluster.change(generation="2")
    shot = snapshot(cluster.warmup, cluster.nodes, *cluster.jobs.values(), taken={"warm-nt-00": "held by a stranger"})
    assert released(plan_warmup(shot)) == {"warm-nt-01": "generation_old"}


def test_a_forced_rewarm_that_waits_outlives_the_annotation_it_came_with():
    warmup = msgspec.structs.replace(dataset(shards=2), rewarm_request="r2")
    fired = Rewarm("r1", NOW - timedelta(days=1))
    warmup = msgspec.structs.replace(warmup, status=msgspec.structs.replace(warmup.status, rewarm=fired))
    waiting = plan_warmup(snapshot(warmup, {})).status
    assert waiting.rewarm == Rewarm("r1", fired.fired_at, "r2")
    for annotation in ("", "r1"):  # replaced by the file it was made from, or by one that was saved before
        replaced = msgspec.structs.replace(warmup, status=waiting, rewarm_request=annotation)
        assert plan_warmup(snapshot(replaced, {})).status.rewarm == waiting.rewarm
        assert plan_warmup(snapshot(replaced, nodes(2))).status.rewarm == Rewarm("r2", NOW)


def test_a_renamed_dataset_is_cold_at_first_and_the_jobs_of_the_old_one_go_when_it_is_warm():
    cluster = warmed(3, 3)
    cluster.change(dataset="other")
    first = cluster.step()
    assert (first.status.nodes_ready, first.releases) == (0, ())
    assert [(create.shard, create.node.name) for create in first.creates] == [(n, f"node-{n}") for n in range(3)]
    status = cluster.settle()
    assert (status.phase, status.nodes_ready) == ("Ready", 3)
    assert sorted(cluster.jobs) == ["warm-other-00", "warm-other-01", "warm-other-02"]
