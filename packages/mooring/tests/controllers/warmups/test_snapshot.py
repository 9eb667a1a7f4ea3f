"""Snapshots of warmups are taken from caches, and keep what the caches held at that moment."""

import pytest

from hawser.resources import NODES
from packages.mooring.tests.scenarios.datasets import dataset_world
from packages.mooring.tests.scenarios.harbour import NAMESPACE


@pytest.fixture
def world():
    return dataset_world(nodes=4)


async def test_what_a_snapshot_holds_stays_the_same_while_the_cluster_changes(world):
    await world.warmed(shards=3)
    replica = world.stage.replicas[0].mooring
    informer = replica.warmups.informer

    def look():
        warmup = informer.find(NAMESPACE, "core")
        unfit_since = informer.survey(warmup, ()).unfit_since
        return [replica.nodes.by_name, informer.pods(warmup), informer.load, unfit_since]

    taken = look()
    before = repr(taken)
    holding = [shard["node"] for shard in (await world.status())["shards"]]
    (spare,) = replica.nodes.by_name.keys() - holding
    await world.stage.client.merge_patch(NODES, spare, {"spec": {"unschedulable": True}})
    await world.drift.replace(holding[0])
    await world.until("Stale", within=60)
    await world.until("Ready")
    assert repr(taken) == before
    assert all(now != then for now, then in zip(look(), taken, strict=True))
