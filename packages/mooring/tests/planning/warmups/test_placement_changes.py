"""The data goes where the placement says, also when the placement or the nodes change under it."""

from dataclasses import replace

import msgspec
import pytest

from mooring.model.node import Taint
from mooring.model.placement import Placement
from packages.mooring.tests.planning.warmups.datasets import Cluster, dataset, nodes, released

DEDICATED = Taint("dedicated", "x")
PRESSED = Taint("node.kubernetes.io/disk-pressure")
FAST = msgspec.convert({"nodeSelector": {"tier": "fast"}}, Placement)


def warmed(count: int, fast: int = 0, **spec: object) -> Cluster:
    """Warm on slow nodes; the fast ones come after."""
    cluster = Cluster(dataset(**spec), nodes(count))
    cluster.settle()
    cluster.nodes |= nodes(fast, "fast", labels={"tier": "fast"})
    cluster.least_warm = None
    return cluster


def test_an_edited_placement_moves_every_shard_and_never_falls_below_what_was_warm():
    cluster = warmed(2, 2, shards=2)
    cluster.change(placement=FAST)
    for _ in range(60):
        assert released(cluster.step()) == {}, "a blink of a label is not a move"
    assert released(cluster.step()) == {"warm-nt-00": "node_left", "warm-nt-01": "node_left"}
    assert cluster.warmup.status.phase == "Stale"
    assert "its node node-0 is outside the placement" in cluster.warmup.status.reason
    status = cluster.settle()
    assert (status.phase, cluster.least_warm) == ("Ready", 2)
    assert [shard.node for shard in status.shards] == ["fast-0", "fast-1"]


def test_without_a_free_node_inside_the_placement_the_copy_stays_and_says_why():
    cluster = warmed(2, 1, shards=2)
    cluster.change(placement=FAST)
    for _ in range(70):
        cluster.step()
    status = cluster.settle()
    assert (status.phase, status.verdict, status.nodes_ready, cluster.least_warm) == ("Ready", "too_few_nodes", 2, 2)
    assert [shard.node for shard in status.shards] == ["fast-0", "node-1"]
    assert "its node node-1 is outside the placement, and no other is free" in status.reason


@pytest.mark.parametrize(("taint", "home"), [(DEDICATED, "node-1"), (PRESSED, "node-0")], ids=str)
def test_a_taint_that_says_what_a_node_is_for_moves_its_shard_and_one_that_says_how_it_fares_does_not(taint, home):
    cluster = Cluster(dataset(shards=1), nodes(2))
    cluster.settle()
    cluster.least_warm = None
    cluster.nodes["node-0"] = replace(cluster.nodes["node-0"], taints=(taint,))
    for _ in range(70):
        cluster.step()
    status = cluster.settle()
    assert (status.phase, status.shards[0].node, cluster.least_warm) == ("Ready", home, 1)


def test_a_broadcast_leaves_nodes_outside_the_placement_when_all_others_are_warm():
    cluster = warmed(2, 2, mode="Broadcast")
    cluster.settle()
    cluster.change(placement=FAST)
    cluster.nodes |= nodes(3, "fast", labels={"tier": "fast"})
    cluster.least_warm = None
    for _ in range(70):
        cluster.step()
    status = cluster.settle()
    assert (status.phase, status.nodes_ready, status.nodes_total) == ("Ready", 3, 3)
    assert {shard.node for shard in status.shards} == {"fast-0", "fast-1", "fast-2"}
    assert sorted(job.node for job in cluster.jobs.values()) == ["fast-0", "fast-1", "fast-2"]
    assert cluster.least_warm == 3


def test_a_broadcast_with_no_node_inside_the_placement_keeps_what_it_has():
    cluster = warmed(2, mode="Broadcast")
    cluster.change(placement=FAST)
    for _ in range(70):
        cluster.step()
    assert cluster.settle().nodes_ready == 2 and len(cluster.jobs) == 2
