"""Workers start next to their data."""

from contextlib import AbstractAsyncContextManager

import pytest

from packages.mooring.tests.scenarios.datasets import World, dataset_world


@pytest.fixture
def world(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[World]:
    return dataset_world(**request.node.get_closest_marker("world").kwargs)


@pytest.mark.world(nodes=8)
async def test_workers_of_a_pool_go_where_its_dataset_is_warm_and_wait_until_it_is(world):
    await world.stage.pool(warm=4, max=8, placement={"warmup": "core", "warmupRequired": True})
    await world.stage.clock.sleep(30)
    assert (await world.stage.status()).get("idle", 0) == 0
    assert "does not exist" in str((await world.stage.status())["conditions"])
    await world.warmup(shards=2)
    await world.until("Ready")
    await world.stage.until_idle(4, within=120)
    warm = {shard["node"] for shard in (await world.status())["shards"]}
    workers = [pod for pod in await world.stage.pods() if pod.metadata.name.startswith("linux-")]
    assert {pod.spec.node_name for pod in workers} == warm


@pytest.mark.world(nodes=8)
async def test_a_preference_is_followed_while_there_is_room(world):
    await world.warmup(shards=2)
    await world.until("Ready")
    await world.stage.pool(warm=2, max=8, placement={"warmup": "core"})
    await world.stage.until_idle(2)
    warm = {shard["node"] for shard in (await world.status())["shards"]}
    workers = [pod for pod in await world.stage.pods() if pod.metadata.name.startswith("linux-")]
    assert {pod.spec.node_name for pod in workers} <= warm
