"""Nodes rotate under a dataset: it comes back by itself, and fetches exactly what was lost."""

from contextlib import AbstractAsyncContextManager

import pytest

from hawser.resources import CONFIGMAPS
from mooring.controllers.warmups.manifests import SCRIPTS_NAME, script_data
from mooring.ledger.records import AuditFilter
from mooring.model.warmup import Circuit
from packages.mooring.tests.scenarios.datasets import World, dataset_world
from packages.mooring.tests.scenarios.harbour import NAMESPACE

ALL = [str(number) for number in range(10)]


@pytest.fixture
def world(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[World]:
    return dataset_world(**request.node.get_closest_marker("world").kwargs)


@pytest.mark.parametrize("naming", ["new", "same"])
@pytest.mark.world(nodes=12)
async def test_a_cluster_of_twelve_stops_and_starts(world, naming):
    await world.warmup()
    await world.until("Ready")
    assert world.phases == ["Pending", "Warming", "Ready"]
    assert world.lost() == ALL
    names = world.stage.sandbox.fleet.node_names
    moving = world.stage.enter(world.drift.stop_start(names, naming=naming, down_seconds=120))
    await world.until("Stale", within=30)
    await world.stage.clock.sleep(60)
    release = (await world.status())["release"]
    assert release["status"] == "aborted" and release["errors"] == ["the list of nodes is empty"]
    assert len(await world.jobs()) == 10, "an empty node list deletes nothing"
    await world.until("Ready")
    await moving
    assert world.phases == ["Pending", "Warming", "Ready", "Stale", "Warming", "Ready"]
    assert world.lost() == ALL
    status = await world.status()
    assert (status["nodesReady"], status["nodesTotal"]) == (10, 10)
    assert status["release"]["status"] == "ok" and len(status["release"]["deleted"]) == 10
    page = await world.stage.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Job"), 50, None)
    assert {record.entry.subject.name for record in page.items} == set(status["release"]["deleted"])
    assert len({shard["node"] for shard in status["shards"]}) == 10


@pytest.mark.world(nodes=10)
async def test_one_node_of_ten_is_replaced_and_one_shard_is_fetched(world):
    assert await world.warmed() == ALL
    replacement = await world.drift.replace("node-4")
    await world.until("Stale", within=60)
    await world.until("Ready")
    (again,) = world.lost()
    status = await world.status()
    assert status["shards"][int(again)]["node"] == replacement.new
    assert len(status["release"]["deleted"]) == 1 and len(status["release"]["kept"]) == 9


@pytest.mark.world(nodes=12)
async def test_nodes_return_one_by_one_over_ten_minutes(world):
    await world.warmed()
    names = world.stage.sandbox.fleet.node_names
    world.stage.enter(world.drift.stop_start(names, naming="new", down_seconds=60, return_seconds=600))
    await world.until("Stale", within=30)
    await world.until("Ready", within=900)
    assert world.lost() == ALL


@pytest.mark.world(nodes=10)
async def test_only_some_nodes_return_and_after_fifteen_minutes_those_are_warmed(world):
    await world.warmed()
    for node in ("node-1", "node-2"):
        await world.stage.sandbox.fleet.remove_node(node)
    await world.until("Stale", within=30)
    await world.stage.clock.sleep(1200)
    status = await world.status()
    assert (status["phase"], status["verdict"], status["nodesReady"]) == ("Stale", "too_few_nodes", 8)
    assert world.lost() == [], "what is warm is not fetched again"
    await world.stage.sandbox.fleet.add_node("node-99")
    await world.stage.clock.sleep(120)
    assert (await world.status())["nodesReady"] == 9


@pytest.mark.world(nodes=12)
async def test_a_flapping_node_costs_nothing(world):
    await world.warmed()
    flapping = world.stage.enter(world.drift.flap("node-1", down_seconds=80, up_seconds=60, times=4))
    await world.watch(700)
    assert flapping.done() and world.lost() == []
    assert world.phases[-1] == "Ready" and "Stale" not in world.phases


@pytest.mark.world(nodes=12)
async def test_a_node_that_is_silent_for_long_loses_its_shard_to_a_free_one(world):
    await world.warmed()
    await world.stage.sandbox.fleet.pause("node-1")
    await world.until("Stale", within=180)
    await world.until("Ready")
    assert len(world.lost()) == 1


@pytest.mark.world(nodes=12)
async def test_with_the_rule_paused_nothing_is_deleted_and_it_is_said(world):
    await world.stage.pause(["warm-on-live-node"])
    await world.warmup()
    await world.until("Ready")
    names = world.stage.sandbox.fleet.node_names
    await world.drift.stop_start(names, naming="new", down_seconds=30, return_seconds=30)
    await world.stage.clock.sleep(300)
    status = await world.status()
    assert status["phase"] == "Stale" and len(await world.jobs()) == 10
    assert status["release"]["status"] == "aborted" and "paused" in status["release"]["errors"][0]


@pytest.mark.world(nodes=12)
async def test_a_settled_dataset_makes_no_calls(world):
    await world.warmup()
    await world.until("Ready")
    await world.stage.clock.sleep(30)
    calls = world.stage.replicas[0].process.calls
    before = len(calls)
    await world.stage.clock.sleep(240)
    writes = [call.path for call in calls[before:] if call.method != "GET"]
    reads = [call.path for call in calls[before:] if "/namespaces/" in call.path]  # all else are watches
    assert (writes, reads) == ([], [])


@pytest.mark.world(nodes=5)
async def test_a_generation_rolls_without_losing_a_warm_shard(world):
    await world.warmed(shards=5)
    await world.edit({"spec": {"generation": "2"}})
    await world.until("Stale", within=30)
    ready = set()
    while (status := await world.status())["phase"] != "Ready":
        ready.add(status["nodesReady"])
        assert sum(shard["state"] in ("fetching", "verifying") for shard in status["shards"]) <= 1
        await world.stage.clock.sleep(1)
    assert ready == {5} and world.lost() == ["0", "1", "2", "3", "4"]
    assert {shard["warm"] for shard in status["shards"]} == {"2"}


@pytest.mark.world(nodes=4)
async def test_a_forced_rewarm_survives_the_death_of_whoever_took_it_and_fires_once(world):
    await world.warmed(shards=4)
    first = world.stage.replicas[0]
    asked = await first.mooring.warmups.commands.rewarm(NAMESPACE, "core", actor="ana", reason="doubt")
    await first.kill()
    second = world.stage.start("b")
    await world.until("Stale", within=60)
    await second.kill()
    await world.edit({"spec": {"attempts": 4}})
    world.stage.start("c")
    await world.until("Ready", within=600)
    assert world.lost() == ["0", "1", "2", "3"]
    status = await world.status()
    assert status["rewarm"]["id"] == asked.id
    await world.stage.clock.sleep(600)
    assert world.lost() == []


@pytest.mark.world(nodes=2)
async def test_scripts_that_somebody_broke_are_repaired(world):
    await world.warmup(shards=1)
    await world.until("Ready")
    broken = {"metadata": {"labels": None}, "data": {"warm.sh": "exit 0", "mine": "x"}}
    client = world.stage.client
    await client.merge_patch(CONFIGMAPS, SCRIPTS_NAME, broken, NAMESPACE)
    await world.stage.clock.sleep(5)
    assert (await client.get(CONFIGMAPS, SCRIPTS_NAME, NAMESPACE)).data == script_data()
    await client.delete(CONFIGMAPS, SCRIPTS_NAME, NAMESPACE)
    await world.stage.clock.sleep(5)
    assert (await client.get(CONFIGMAPS, SCRIPTS_NAME, NAMESPACE)).data == script_data()


@pytest.mark.world(nodes=2)
async def test_the_circuit_opens_after_five_dead_jobs_and_a_hand_closes_it(world):
    world.storage.fetch_seconds = 10_000
    await world.warmup(shards=1, deadlineSeconds=20)
    await world.until("Pending", within=5)

    async def circuit() -> Circuit:
        found = world.stage.replicas[0].mooring.queries.warmups.warmup(NAMESPACE, "core")
        return found.status.circuit or Circuit()

    async def is_open() -> bool:
        return (await circuit()).is_open

    await world.stage.until(is_open, 900, "an open circuit")
    assert len((await circuit()).failures) == 5
    assert (await world.status())["phase"] == "Failed"
    made = len(world.lost())
    await world.stage.clock.sleep(1000)
    assert len(world.lost()) == 0 and made == 5
    world.storage.fetch_seconds = 5
    requests = world.stage.replicas[0].mooring.warmups.commands
    await requests.close_circuit(NAMESPACE, "core", actor="ana", reason="the store is back")
    await world.until("Ready", within=60)
    assert not (await circuit()).is_open
