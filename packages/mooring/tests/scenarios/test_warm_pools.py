"""Workers start next to their data."""

import pytest


@pytest.mark.world(nodes=8)
async def test_workers_of_a_pool_go_where_its_dataset_is_warm_and_wait_until_it_is(dataset):
    await dataset.stage.pool(warm=4, max=8, placement={"warmup": "core", "warmupRequired": True})
    await dataset.stage.clock.sleep(30)
    assert (await dataset.stage.status()).get("idle", 0) == 0
    assert "does not exist" in str((await dataset.stage.status())["conditions"])
    await dataset.warmup(shards=2)
    await dataset.until("Ready")
    await dataset.stage.until_idle(4, within=120)
    warm = {shard["node"] for shard in (await dataset.status())["shards"]}
    workers = [pod for pod in await dataset.stage.pods() if pod.metadata.name.startswith("linux-")]
    assert {pod.spec.node_name for pod in workers} == warm


@pytest.mark.world(nodes=8)
async def test_a_preference_is_followed_while_there_is_room(dataset):
    await dataset.warmup(shards=2)
    await dataset.until("Ready")
    await dataset.stage.pool(warm=2, max=8, placement={"warmup": "core"})
    await dataset.stage.until_idle(2)
    warm = {shard["node"] for shard in (await dataset.status())["shards"]}
    workers = [pod for pod in await dataset.stage.pods() if pod.metadata.name.startswith("linux-")]
    assert {pod.spec.node_name for pod in workers} <= warm
