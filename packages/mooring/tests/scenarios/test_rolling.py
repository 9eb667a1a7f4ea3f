"""A new generation rolls over a cluster that is not at its best, and nobody who reads the old one notices."""

import pytest

from hawser.resources import NODES
from mooring.ledger.records import AuditFilter
from mooring.model import names
from packages.mooring.tests.scenarios.datasets import Dataset
from packages.mooring.tests.scenarios.harbour import NAMESPACE
from packages.testing.lanes import fast_first


async def watch_roll(dataset: Dataset, seconds: int) -> tuple[int, int]:
    """The fewest shards that were warm, and the most that were fetched at a time."""
    fewest, most = 1000, 0
    for _ in range(seconds):
        status = await dataset.status()
        fewest = min(fewest, status["nodesReady"])
        most = max(most, sum(shard["state"] in ("fetching", "verifying") for shard in status["shards"]))
        await dataset.stage.clock.sleep(1)
    return fewest, most


@pytest.mark.slow
@pytest.mark.parametrize("wish", fast_first(["generation", "rewarm"], 1))
@pytest.mark.world(nodes=5)
async def test_a_cordoned_node_does_not_cost_its_shard(dataset, wish):
    await dataset.warmed(shards=5)
    await dataset.stage.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    await dataset.stage.clock.sleep(90)
    if wish == "generation":
        await dataset.edit({"spec": {"generation": "2"}})
    else:
        requests = dataset.stage.replicas[0].mooring.warmups.commands
        await requests.rewarm(NAMESPACE, "core", actor="ana", reason="doubt")
    assert await watch_roll(dataset, 300) == (5, 1)
    assert len(dataset.lost()) == 4
    await dataset.stage.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": False}})
    await dataset.until("Ready", within=120)
    assert len(dataset.lost()) == 1


@pytest.mark.slow
@pytest.mark.world(nodes=5)
async def test_a_generation_that_comes_with_other_permissions_rolls_shard_by_shard(dataset):
    await dataset.warmed(shards=5)
    await dataset.edit({"spec": {"generation": "2", "env": [{"name": "TOKEN", "value": "new"}]}})
    await dataset.stage.clock.sleep(50)
    assert len(await dataset.jobs()) == 5
    assert await watch_roll(dataset, 300) == (5, 1)
    assert (await dataset.status())["phase"] == "Ready"


@pytest.mark.slow
@pytest.mark.world(nodes=5)
async def test_a_generation_that_cannot_be_fetched_costs_no_copy_of_the_old_one(dataset):
    dataset.storage.fetch_seconds = 5
    await dataset.warmed(shards=5, deadlineSeconds=20)
    dataset.storage.fetch_seconds = 10_000
    await dataset.edit({"spec": {"generation": "2"}})
    await dataset.stage.clock.sleep(600)
    status = await dataset.status()
    assert status["circuit"]["state"] == "open" and status["nodesReady"] == 5
    old = [job for job in await dataset.jobs() if job.metadata.annotations[names.GENERATION] == "1" and job.complete]
    assert len(old) == 4
    dataset.storage.fetch_seconds = 5
    assert await watch_roll(dataset, 1900) == (5, 1)
    assert (await dataset.status())["phase"] == "Ready"


@pytest.mark.world(nodes=3)
async def test_a_rewarm_that_waits_for_nodes_outlives_a_replaced_object(dataset):
    await dataset.warmed(shards=3)
    for node in dataset.stage.sandbox.fleet.node_names:
        await dataset.stage.sandbox.fleet.remove_node(node)
    await dataset.stage.clock.sleep(30)
    requests = dataset.stage.replicas[0].mooring.warmups.commands
    asked = await requests.rewarm(NAMESPACE, "core", actor="ana", reason="doubt")
    await dataset.stage.clock.sleep(10)
    await dataset.edit({"metadata": {"annotations": {names.REWARM: None}}})
    await dataset.stage.clock.sleep(30)
    assert (await requests.rewarm(NAMESPACE, "core", actor="ana", reason="again")).id == asked.id
    for number in range(3):
        await dataset.stage.sandbox.fleet.add_node(f"fresh-{number}")
    await dataset.until("Ready", within=120)
    assert (await dataset.status())["rewarm"]["id"] == asked.id


@pytest.mark.world(nodes=4)
async def test_a_broadcast_that_lost_every_node_is_stale_and_comes_back(dataset):
    await dataset.warmup(shards=2, mode="Broadcast")
    await dataset.until("Ready")
    names_before = dataset.stage.sandbox.fleet.node_names
    dataset.stage.enter(dataset.drift.stop_start(names_before, naming="new", down_seconds=120))
    await dataset.until("Stale", within=30)
    await dataset.stage.clock.sleep(60)
    status = await dataset.status()
    assert (status["phase"], status["nodesReady"], status["nodesTotal"]) == ("Stale", 0, 4)
    await dataset.until("Ready")
    assert dataset.phases == ["Pending", "Warming", "Ready", "Stale", "Warming", "Ready"]


@pytest.mark.world(nodes=3)
async def test_a_renamed_dataset_leaves_no_jobs_of_its_old_name(dataset):
    await dataset.warmed(shards=3)
    await dataset.edit({"spec": {"dataset": "other_nt"}})
    await dataset.until("Warming", within=30)
    assert (await dataset.status())["nodesReady"] == 0, "what is warm is the other dataset"
    await dataset.until("Ready", within=120)
    await dataset.stage.clock.sleep(30)
    assert {job.metadata.labels[names.DATASET] for job in await dataset.jobs()} == {"other_nt"}
    deleted = await dataset.stage.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Job"), 50, None)
    assert len(deleted.items) == 3


@pytest.mark.world(nodes=4)
async def test_an_edited_placement_moves_the_data_and_readers_do_not_notice(dataset):
    await dataset.warmed(shards=2)
    before = {shard["node"] for shard in (await dataset.status())["shards"]}
    fast = set(dataset.stage.sandbox.fleet.node_names) - before
    for node in fast:
        await dataset.stage.client.merge_patch(NODES, node, {"metadata": {"labels": {"tier": "fast"}}})
    await dataset.edit({"spec": {"placement": {"nodeSelector": {"tier": "fast"}}}})
    fewest, _ = await watch_roll(dataset, 240)
    status = await dataset.status()
    assert (fewest, status["phase"], {shard["node"] for shard in status["shards"]}) == (2, "Ready", fast)


@pytest.mark.world(nodes=4)
async def test_a_broadcast_follows_its_placement(dataset):
    await dataset.warmup(shards=2, mode="Broadcast")
    await dataset.until("Ready")
    for node in ("node-1", "node-2"):
        await dataset.stage.client.merge_patch(NODES, node, {"metadata": {"labels": {"tier": "fast"}}})
    await dataset.edit({"spec": {"placement": {"nodeSelector": {"tier": "fast"}}}})
    await dataset.stage.clock.sleep(180)
    status = await dataset.status()
    assert (status["phase"], status["nodesReady"], status["nodesTotal"]) == ("Ready", 2, 2)
    assert len(await dataset.jobs()) == 2


@pytest.mark.world(nodes=3)
async def test_a_node_that_is_dedicated_to_others_gives_its_shard_away(dataset):
    await dataset.warmed(shards=2)
    home = (await dataset.status())["shards"][0]["node"]
    taint = {"key": "dedicated", "value": "others", "effect": "NoSchedule"}
    await dataset.stage.client.merge_patch(NODES, home, {"spec": {"taints": [taint]}})
    fewest, _ = await watch_roll(dataset, 240)
    status = await dataset.status()
    assert (fewest, status["phase"]) == (2, "Ready")
    assert home not in {shard["node"] for shard in status["shards"]}
