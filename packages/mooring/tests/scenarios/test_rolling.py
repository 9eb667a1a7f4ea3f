"""A new generation rolls over a cluster that is not at its best, and nobody who reads the old one notices."""

from contextlib import AbstractAsyncContextManager

import pytest

from hawser.resources import NODES
from mooring.ledger.records import AuditFilter
from mooring.model import names
from packages.mooring.tests.scenarios.datasets import World, dataset_world
from packages.mooring.tests.scenarios.harbour import NAMESPACE


async def watch_roll(world: World, seconds: int) -> tuple[int, int]:
    """The fewest shards that were warm, and the most that were fetched at a time."""
    fewest, most = 1000, 0
    for _ in range(seconds):
        status = await world.status()
        fewest = min(fewest, status["nodesReady"])
        most = max(most, sum(shard["state"] in ("fetching", "verifying") for shard in status["shards"]))
        await world.stage.clock.sleep(1)
    return fewest, most


@pytest.fixture
def world(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[World]:
    return dataset_world(**request.node.get_closest_marker("world").kwargs)


@pytest.mark.parametrize("wish", ["generation", "rewarm"])
@pytest.mark.world(nodes=5)
async def test_a_cordoned_node_does_not_cost_its_shard(world, wish):
    await world.warmed(shards=5)
    await world.stage.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    await world.stage.clock.sleep(90)
    if wish == "generation":
        await world.edit({"spec": {"generation": "2"}})
    else:
        requests = world.stage.replicas[0].mooring.warmups.commands
        await requests.rewarm(NAMESPACE, "core", actor="ana", reason="doubt")
    assert await watch_roll(world, 300) == (5, 1)
    assert len(world.lost()) == 4
    await world.stage.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": False}})
    await world.until("Ready", within=120)
    assert len(world.lost()) == 1


@pytest.mark.world(nodes=5)
async def test_a_generation_that_comes_with_other_permissions_rolls_shard_by_shard(world):
    await world.warmed(shards=5)
    await world.edit({"spec": {"generation": "2", "env": [{"name": "TOKEN", "value": "new"}]}})
    await world.stage.clock.sleep(50)
    assert len(await world.jobs()) == 5
    assert await watch_roll(world, 300) == (5, 1)
    assert (await world.status())["phase"] == "Ready"


@pytest.mark.world(nodes=5)
async def test_a_generation_that_cannot_be_fetched_costs_no_copy_of_the_old_one(world):
    world.storage.fetch_seconds = 5
    await world.warmed(shards=5, deadlineSeconds=20)
    world.storage.fetch_seconds = 10_000
    await world.edit({"spec": {"generation": "2"}})
    await world.stage.clock.sleep(600)
    status = await world.status()
    assert status["circuit"]["state"] == "open" and status["nodesReady"] == 5
    old = [job for job in await world.jobs() if job.metadata.annotations[names.GENERATION] == "1" and job.complete]
    assert len(old) == 4
    world.storage.fetch_seconds = 5
    assert await watch_roll(world, 1900) == (5, 1)
    assert (await world.status())["phase"] == "Ready"


@pytest.mark.world(nodes=3)
async def test_a_rewarm_that_waits_for_nodes_outlives_a_replaced_object(world):
    await world.warmed(shards=3)
    for node in world.stage.sandbox.fleet.node_names:
        await world.stage.sandbox.fleet.remove_node(node)
    await world.stage.clock.sleep(30)
    requests = world.stage.replicas[0].mooring.warmups.commands
    asked = await requests.rewarm(NAMESPACE, "core", actor="ana", reason="doubt")
    await world.stage.clock.sleep(10)
    await world.edit({"metadata": {"annotations": {names.REWARM: None}}})
    await world.stage.clock.sleep(30)
    assert (await requests.rewarm(NAMESPACE, "core", actor="ana", reason="again")).id == asked.id
    for number in range(3):
        await world.stage.sandbox.fleet.add_node(f"fresh-{number}")
    await world.until("Ready", within=120)
    assert (await world.status())["rewarm"]["id"] == asked.id


@pytest.mark.world(nodes=4)
async def test_a_broadcast_that_lost_every_node_is_stale_and_comes_back(world):
    await world.warmup(shards=2, mode="Broadcast")
    await world.until("Ready")
    names_before = world.stage.sandbox.fleet.node_names
    world.stage.enter(world.drift.stop_start(names_before, naming="new", down_seconds=120))
    await world.until("Stale", within=30)
    await world.stage.clock.sleep(60)
    status = await world.status()
    assert (status["phase"], status["nodesReady"], status["nodesTotal"]) == ("Stale", 0, 4)
    await world.until("Ready")
    assert world.phases == ["Pending", "Warming", "Ready", "Stale", "Warming", "Ready"]


@pytest.mark.world(nodes=3)
async def test_a_renamed_dataset_leaves_no_jobs_of_its_old_name(world):
    await world.warmed(shards=3)
    await world.edit({"spec": {"dataset": "other_nt"}})
    await world.until("Warming", within=30)
    assert (await world.status())["nodesReady"] == 0, "what is warm is the other dataset"
    await world.until("Ready", within=120)
    await world.stage.clock.sleep(30)
    assert {job.metadata.labels[names.DATASET] for job in await world.jobs()} == {"other_nt"}
    deleted = await world.stage.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Job"), 50, None)
    assert len(deleted.items) == 3


@pytest.mark.world(nodes=4)
async def test_an_edited_placement_moves_the_data_and_readers_do_not_notice(world):
    await world.warmed(shards=2)
    before = {shard["node"] for shard in (await world.status())["shards"]}
    fast = set(world.stage.sandbox.fleet.node_names) - before
    for node in fast:
        await world.stage.client.merge_patch(NODES, node, {"metadata": {"labels": {"tier": "fast"}}})
    await world.edit({"spec": {"placement": {"nodeSelector": {"tier": "fast"}}}})
    fewest, _ = await watch_roll(world, 240)
    status = await world.status()
    assert (fewest, status["phase"], {shard["node"] for shard in status["shards"]}) == (2, "Ready", fast)


@pytest.mark.world(nodes=4)
async def test_a_broadcast_follows_its_placement(world):
    await world.warmup(shards=2, mode="Broadcast")
    await world.until("Ready")
    for node in ("node-1", "node-2"):
        await world.stage.client.merge_patch(NODES, node, {"metadata": {"labels": {"tier": "fast"}}})
    await world.edit({"spec": {"placement": {"nodeSelector": {"tier": "fast"}}}})
    await world.stage.clock.sleep(180)
    status = await world.status()
    assert (status["phase"], status["nodesReady"], status["nodesTotal"]) == ("Ready", 2, 2)
    assert len(await world.jobs()) == 2


@pytest.mark.world(nodes=3)
async def test_a_node_that_is_dedicated_to_others_gives_its_shard_away(world):
    await world.warmed(shards=2)
    home = (await world.status())["shards"][0]["node"]
    taint = {"key": "dedicated", "value": "others", "effect": "NoSchedule"}
    await world.stage.client.merge_patch(NODES, home, {"spec": {"taints": [taint]}})
    fewest, _ = await watch_roll(world, 240)
    status = await world.status()
    assert (fewest, status["phase"]) == (2, "Ready")
    assert home not in {shard["node"] for shard in status["shards"]}
