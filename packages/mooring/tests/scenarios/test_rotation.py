"""Nodes rotate under a dataset: it comes back by itself, and fetches exactly what was lost."""

import pytest

from hawser.resources import CONFIGMAPS
from mooring.controllers.warmups.manifests import SCRIPTS_NAME, script_data
from mooring.ledger.records import AuditFilter
from mooring.model.warmup import Circuit
from packages.mooring.tests.scenarios.harbour import NAMESPACE
from packages.testing.lanes import fast_first

ALL = [str(number) for number in range(10)]


@pytest.mark.slow
@pytest.mark.parametrize("naming", fast_first(["same", "new"], 1))
@pytest.mark.world(nodes=12)
async def test_a_cluster_of_twelve_stops_and_starts(dataset, naming):
    await dataset.warmup()
    await dataset.until("Ready")
    assert dataset.phases == ["Pending", "Warming", "Ready"]
    assert dataset.lost() == ALL
    names = dataset.stage.sandbox.fleet.node_names
    moving = dataset.stage.enter(dataset.drift.stop_start(names, naming=naming, down_seconds=120))
    await dataset.until("Stale", within=30)
    await dataset.stage.clock.sleep(60)
    release = (await dataset.status())["release"]
    assert release["status"] == "aborted" and release["errors"] == ["the list of nodes is empty"]
    assert len(await dataset.jobs()) == 10, "an empty node list deletes nothing"
    await dataset.until("Ready")
    await moving
    assert dataset.phases == ["Pending", "Warming", "Ready", "Stale", "Warming", "Ready"]
    assert dataset.lost() == ALL
    status = await dataset.status()
    assert (status["nodesReady"], status["nodesTotal"]) == (10, 10)
    assert status["release"]["status"] == "ok" and len(status["release"]["deleted"]) == 10
    page = await dataset.stage.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Job"), 50, None)
    assert {record.entry.subject.name for record in page.items} == set(status["release"]["deleted"])
    assert len({shard["node"] for shard in status["shards"]}) == 10


@pytest.mark.world(nodes=10)
async def test_one_node_of_ten_is_replaced_and_one_shard_is_fetched(dataset):
    assert await dataset.warmed() == ALL
    replacement = await dataset.drift.replace("node-4")
    await dataset.until("Stale", within=60)
    await dataset.until("Ready")
    (again,) = dataset.lost()
    status = await dataset.status()
    assert status["shards"][int(again)]["node"] == replacement.new
    assert len(status["release"]["deleted"]) == 1 and len(status["release"]["kept"]) == 9


@pytest.mark.slow
@pytest.mark.world(nodes=12)
async def test_nodes_return_one_by_one_over_ten_minutes(dataset):
    await dataset.warmed()
    names = dataset.stage.sandbox.fleet.node_names
    dataset.stage.enter(dataset.drift.stop_start(names, naming="new", down_seconds=60, return_seconds=600))
    await dataset.until("Stale", within=30)
    await dataset.until("Ready", within=900)
    assert dataset.lost() == ALL


@pytest.mark.slow
@pytest.mark.world(nodes=10)
async def test_only_some_nodes_return_and_after_fifteen_minutes_those_are_warmed(dataset):
    await dataset.warmed()
    for node in ("node-1", "node-2"):
        await dataset.stage.sandbox.fleet.remove_node(node)
    await dataset.until("Stale", within=30)
    await dataset.stage.clock.sleep(1200)
    status = await dataset.status()
    assert (status["phase"], status["verdict"], status["nodesReady"]) == ("Stale", "too_few_nodes", 8)
    assert dataset.lost() == [], "what is warm is not fetched again"
    await dataset.stage.sandbox.fleet.add_node("node-99")
    await dataset.stage.clock.sleep(120)
    assert (await dataset.status())["nodesReady"] == 9


@pytest.mark.slow
@pytest.mark.world(nodes=12)
async def test_a_flapping_node_costs_nothing(dataset):
    await dataset.warmed()
    flapping = dataset.stage.enter(dataset.drift.flap("node-1", down_seconds=80, up_seconds=60, times=4))
    await dataset.watch(700)
    assert flapping.done() and dataset.lost() == []
    assert dataset.phases[-1] == "Ready" and "Stale" not in dataset.phases


@pytest.mark.world(nodes=12)
async def test_a_node_that_is_silent_for_long_loses_its_shard_to_a_free_one(dataset):
    await dataset.warmed()
    await dataset.stage.sandbox.fleet.pause("node-1")
    await dataset.until("Stale", within=180)
    await dataset.until("Ready")
    assert len(dataset.lost()) == 1


@pytest.mark.slow
@pytest.mark.world(nodes=12)
async def test_with_the_rule_paused_nothing_is_deleted_and_it_is_said(dataset):
    await dataset.stage.pause(["warm-on-live-node"])
    await dataset.warmup()
    await dataset.until("Ready")
    names = dataset.stage.sandbox.fleet.node_names
    await dataset.drift.stop_start(names, naming="new", down_seconds=30, return_seconds=30)
    await dataset.stage.clock.sleep(300)
    status = await dataset.status()
    assert status["phase"] == "Stale" and len(await dataset.jobs()) == 10
    assert status["release"]["status"] == "aborted" and "paused" in status["release"]["errors"][0]


@pytest.mark.world(nodes=12)
async def test_a_settled_dataset_makes_no_calls(dataset):
    await dataset.warmup()
    await dataset.until("Ready")
    await dataset.stage.clock.sleep(30)
    calls = dataset.stage.replicas[0].process.calls
    before = len(calls)
    await dataset.stage.clock.sleep(240)
    writes = [call.path for call in calls[before:] if call.method != "GET"]
    reads = [call.path for call in calls[before:] if "/namespaces/" in call.path]  # all else are watches
    assert (writes, reads) == ([], [])


@pytest.mark.world(nodes=5)
async def test_a_generation_rolls_without_losing_a_warm_shard(dataset):
    await dataset.warmed(shards=5)
    await dataset.edit({"spec": {"generation": "2"}})
    await dataset.until("Stale", within=30)
    ready = set()
    while (status := await dataset.status())["phase"] != "Ready":
        ready.add(status["nodesReady"])
        assert sum(shard["state"] in ("fetching", "verifying") for shard in status["shards"]) <= 1
        await dataset.stage.clock.sleep(1)
    assert ready == {5} and dataset.lost() == ["0", "1", "2", "3", "4"]
    assert {shard["warm"] for shard in status["shards"]} == {"2"}


@pytest.mark.slow
@pytest.mark.world(nodes=4)
async def test_a_forced_rewarm_survives_the_death_of_whoever_took_it_and_fires_once(dataset):
    await dataset.warmed(shards=4)
    first = dataset.stage.replicas[0]
    asked = await first.mooring.warmups.commands.rewarm(NAMESPACE, "core", actor="ana", reason="doubt")
    await first.kill()
    second = dataset.stage.start("b")
    await dataset.until("Stale", within=60)
    await second.kill()
    await dataset.edit({"spec": {"attempts": 4}})
    dataset.stage.start("c")
    await dataset.until("Ready", within=600)
    assert dataset.lost() == ["0", "1", "2", "3"]
    status = await dataset.status()
    assert status["rewarm"]["id"] == asked.id
    await dataset.stage.clock.sleep(600)
    assert dataset.lost() == []


@pytest.mark.world(nodes=2)
async def test_scripts_that_somebody_broke_are_repaired(dataset):
    await dataset.warmup(shards=1)
    await dataset.until("Ready")
    broken = {"metadata": {"labels": None}, "data": {"warm.sh": "exit 0", "mine": "x"}}
    client = dataset.stage.client
    await client.merge_patch(CONFIGMAPS, SCRIPTS_NAME, broken, NAMESPACE)
    await dataset.stage.clock.sleep(5)
    assert (await client.get(CONFIGMAPS, SCRIPTS_NAME, NAMESPACE)).data == script_data()
    await client.delete(CONFIGMAPS, SCRIPTS_NAME, NAMESPACE)
    await dataset.stage.clock.sleep(5)
    assert (await client.get(CONFIGMAPS, SCRIPTS_NAME, NAMESPACE)).data == script_data()


@pytest.mark.slow
@pytest.mark.world(nodes=2)
async def test_the_circuit_opens_after_five_dead_jobs_and_a_hand_closes_it(dataset):
    dataset.storage.fetch_seconds = 10_000
    await dataset.warmup(shards=1, deadlineSeconds=20)
    await dataset.until("Pending", within=5)

    async def circuit() -> Circuit:
        found = dataset.stage.replicas[0].mooring.queries.warmups.warmup(NAMESPACE, "core")
        return found.status.circuit or Circuit()

    async def is_open() -> bool:
        return (await circuit()).is_open

    await dataset.stage.until(is_open, 900, "an open circuit")
    assert len((await circuit()).failures) == 5
    assert (await dataset.status())["phase"] == "Failed"
    made = len(dataset.lost())
    await dataset.stage.clock.sleep(1000)
    assert len(dataset.lost()) == 0 and made == 5
    dataset.storage.fetch_seconds = 5
    requests = dataset.stage.replicas[0].mooring.warmups.commands
    await requests.close_circuit(NAMESPACE, "core", actor="ana", reason="the store is back")
    await dataset.until("Ready", within=60)
    assert not (await circuit()).is_open
