"""What holds for every dataset on every fleet, whatever happens to its nodes."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.model.node import Taint
from packages.mooring.tests.planning.warmups.datasets import Cluster, dataset, nodes

EVENTS = st.lists(
    st.tuples(st.sampled_from(["gone", "new uid", "fresh", "rewarm", "generation"]), st.integers(0, 11)), max_size=8
)


def happen(cluster: Cluster, event: str, number: int) -> None:
    names = sorted(cluster.nodes)
    name = names[number % len(names)]
    match event:
        case "gone" if len(names) > 1:
            del cluster.nodes[name]
        case "new uid":
            cluster.nodes[name] = replace(cluster.nodes[name], uid=f"{cluster.nodes[name].uid}+")
        case "fresh":
            cluster.nodes |= nodes(1, f"fresh{len(cluster.made)}-{number}")
        case "rewarm":
            request = f"r{len(cluster.made)}-{number}"
            cluster.warmup = msgspec.structs.replace(cluster.warmup, rewarm_request=request)
        case "generation":
            cluster.change(generation=f"g{len(cluster.made)}-{number}")


@given(st.integers(1, 6), st.integers(6, 9), EVENTS, st.sampled_from(["Shard", "Broadcast"]))
@settings(max_examples=60, deadline=None)
def test_every_fleet_settles_and_then_nothing_is_planned(shards, count, events, mode):
    cluster = Cluster(dataset(shards=shards, mode=mode), nodes(count))
    for event, number in events:
        cluster.step()
        happen(cluster, event, number)
        used = [job.node for job in cluster.jobs.values()]
        assert len(used) == len(set(used)), "one shard a node"
    for _ in range(16):  # missing nodes are waited for 900 s
        cluster.step(60.0)
    status = cluster.settle()
    enough = mode == "Broadcast" or len(cluster.nodes) >= shards
    assert (status.phase == "Ready") is enough
    alive = {node.uid for node in cluster.nodes.values()}
    assert all(shard.node_uid in alive for shard in status.shards if shard.warm)
    final = cluster.plan()
    assert (final.releases, final.creates, final.status) == ((), (), status)


@given(st.integers(2, 8), st.sets(st.integers(0, 7)), st.booleans())
@settings(max_examples=60, deadline=None)
def test_exactly_the_lost_shards_are_made_again(shards, lost, same_names):
    cluster = Cluster(dataset(shards=shards), nodes(shards))
    cluster.settle()
    lost = {number for number in lost if number < shards}
    for number in lost:
        name = f"node-{number}"
        if same_names:
            cluster.nodes[name] = replace(cluster.nodes[name], uid=f"{name}-again")
        else:
            del cluster.nodes[name]
            cluster.nodes |= nodes(1, f"spare{number}")
    before = {shard.shard: shard.node for shard in cluster.warmup.status.shards}
    status = cluster.settle()
    assert {create.shard for create in cluster.made[shards:]} == lost
    assert len(cluster.made) == shards + len(lost)
    assert all(shard.node == before[shard.shard] for shard in status.shards if shard.shard not in lost)


TROUBLE = st.lists(
    st.tuples(
        st.sampled_from(["cordon", "uncordon", "dedicate", "free", "generation", "rewarm", "access", "fail"]),
        st.integers(0, 7),
        st.integers(1, 90),
    ),
    max_size=10,
)


def befall(cluster: Cluster, event: str, number: int) -> None:
    """Something that takes no copy away from any disk."""
    names = sorted(cluster.nodes)
    name = names[number % len(names)]
    node = cluster.nodes[name]
    match event:
        case "cordon" if not node.unschedulable:
            cluster.cordon(name, 0)
        case "uncordon" if node.unschedulable:
            cluster.uncordon(name)
        case "dedicate":
            cluster.nodes[name] = replace(node, taints=(Taint("dedicated", "others"),))
        case "free":
            cluster.nodes[name] = replace(node, taints=())
        case "access":
            cluster.change(env=({"name": "TOKEN", "value": f"{len(cluster.made)}-{number}"},))
        case "fail":
            for one in [one for one in cluster.jobs.values() if not one.finished]:
                cluster.fail(one.name)
        case "generation" | "rewarm":
            happen(cluster, event, number)


@pytest.mark.slow
@given(st.integers(1, 4), st.integers(0, 3), TROUBLE)
@settings(max_examples=40, deadline=None)
def test_whatever_befalls_a_roll_no_copy_that_serves_is_given_up_before_the_next_one_serves(shards, spare, trouble):
    cluster = Cluster(dataset(shards=shards), nodes(shards + spare))
    cluster.settle()
    cluster.least_warm = None
    for event, number, seconds in trouble:
        befall(cluster, event, number)
        for _ in range(0, seconds, 5):
            cluster.step(5.0)
    for name in sorted(cluster.nodes):
        befall(cluster, "uncordon", sorted(cluster.nodes).index(name))
        cluster.nodes[name] = replace(cluster.nodes[name], taints=())
    for _ in range(40):  # an open circuit is waited for, and permissions
        cluster.step(60.0)
    status = cluster.settle()
    assert (status.phase, status.nodes_ready, cluster.least_warm) == ("Ready", shards, shards)
    assert {shard.warm for shard in status.shards} == {str(cluster.warmup.spec.generation)}
    assert len(cluster.jobs) == shards
