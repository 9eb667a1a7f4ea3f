"""Nodes rotate under a dataset on a real control plane, hurried twenty times; only the containers are simulated."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from drydock import Drift, Naming, plain_nodes
from hawser.resources import NODES
from mooring.incidents.real_stage import open_real_stage
from mooring.incidents.storage import Storage
from packages.mooring.tests.requirements import require_kubernetes
from packages.mooring.tests.scenarios.datasets import Dataset

pytestmark = pytest.mark.kubernetes

HURRY = 20.0  # a blink is three seconds
SHARDS = 4
ALL = [str(number) for number in range(SHARDS)]
Act = Callable[[Dataset], Awaitable[None]]


def stop_start(naming: Naming, return_seconds: float) -> Act:
    async def act(dataset: Dataset) -> None:
        names = dataset.stage.sandbox.fleet.node_names
        await dataset.drift.stop_start(names, naming=naming, down_seconds=2.0, return_seconds=return_seconds)

    return act


async def replace_one(dataset: Dataset) -> None:
    node = (await dataset.status())["shards"][2]["node"]
    await dataset.stage.sandbox.fleet.remove_node(node)
    await dataset.stage.sandbox.fleet.add_node("a-fresh-one")


async def flap(dataset: Dataset) -> None:
    """Unknown for a second, as the node controller would say it, then back; and a cordon of a second."""
    client, node = dataset.stage.client, (await dataset.status())["shards"][0]["node"]
    await dataset.stage.sandbox.fleet.pause(node)
    conditions = (await client.get(NODES.raw(), node))["status"]["conditions"]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for condition in conditions:
        if condition["type"] == "Ready":
            condition |= {"status": "Unknown", "lastTransitionTime": now}
    await client.merge_patch(NODES, node, {"status": {"conditions": conditions}}, subresource="status")
    await dataset.watch(1)
    await dataset.stage.sandbox.fleet.resume(node)
    await client.merge_patch(NODES, node, {"spec": {"unschedulable": True}})
    await dataset.watch(1)
    await client.merge_patch(NODES, node, {"spec": {"unschedulable": None}})
    await dataset.watch(5)


ACTS: dict[str, tuple[Act, int]] = {
    "new names": (stop_start("new", 0.5), SHARDS),
    "same names, new uids": (stop_start("same", 0.5), SHARDS),
    "one replaced": (replace_one, 1),
    "a flapping node": (flap, 0),
    "one by one": (stop_start("new", 6.0), SHARDS),
}


@pytest.fixture(scope="module")
def story() -> dict[str, dict[str, Any]]:
    """All rotations one after another on one cluster: what was fetched again, and the way through the phases."""
    require_kubernetes()
    return asyncio.run(_play())


async def _play() -> dict[str, dict[str, Any]]:
    storage = Storage(fetch_seconds=0.5)
    told: dict[str, dict[str, Any]] = {}
    async with open_real_stage(HURRY, plain_nodes(SHARDS + 1), storage.script) as stage:
        world = Dataset(stage, storage, Drift(stage.client, stage.sandbox.fleet, stage.clock, stage.entropy), [])
        stage.start()
        await world.warmup(shards=SHARDS, propagationSeconds=0)
        await world.until("Ready", within=180)
        world.lost()
        for name, (act, lost) in ACTS.items():
            world.phases.clear()
            moving = asyncio.create_task(act(world))
            async with asyncio.timeout(60):
                while not moving.done() or (lost and "Stale" not in world.phases):  # a Ready from before says nothing
                    await world.status()
                    await stage.clock.sleep(0.2)
                await moving
            await world.until("Ready", within=180)
            status = await world.status()
            told[name] = {"lost": world.lost(), "phases": list(world.phases), "status": status}
    return told


@pytest.mark.parametrize("rotation", ACTS)
def test_the_dataset_is_ready_again_and_exactly_what_was_lost_is_fetched(story, rotation):
    told, lost = story[rotation], ACTS[rotation][1]
    assert len(told["lost"]) == lost and len(set(told["lost"])) == lost
    assert told["status"]["nodesReady"] == SHARDS
    assert len({shard["nodeUID"] for shard in told["status"]["shards"]}) == SHARDS
    assert told["phases"][-1] == "Ready"
    assert ("Stale" in told["phases"]) is (lost > 0)
