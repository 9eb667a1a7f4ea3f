"""The data of a deleted Warmup is removed with it if `reclaim` is Delete: within bounds, and saying what is left."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from drydock.faults import Answer, Rule
from hawser.errors import ObjectNotFound
from hawser.resources import EVENTS, JOBS, NAMESPACES
from mooring.kinds.resources import WARMUPS
from mooring.ledger.faults import Fault
from mooring.ledger.records import AuditFilter
from mooring.model import names
from packages.mooring.tests.scenarios.datasets import World, dataset_world
from packages.mooring.tests.scenarios.harbour import NAMESPACE

SPEC = {"shards": 3, "propagationSeconds": 0, "reclaim": "Delete", "localPath": "/mnt/core"}


@pytest.fixture
def world(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[World]:
    return dataset_world(**request.node.get_closest_marker("world").kwargs)


async def cleanups(world: World) -> list[Any]:
    return (await world.stage.client.list(JOBS.raw(), NAMESPACE, label_selector=names.RECLAIM)).items


async def watch_cleanups(world: World, seen: dict[str, str]) -> None:
    """Note the node of every cleanup Job."""
    while True:
        for job in await cleanups(world):
            affinity = job["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
            (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
            seen[job["metadata"]["name"]] = term["matchFields"][0]["values"][0]
        await world.stage.clock.sleep(0.5)


async def delete(world: World) -> None:
    await world.stage.client.delete(WARMUPS, "core", NAMESPACE)


async def gone_within(world: World, seconds: float) -> float:
    async def is_gone() -> bool:
        try:
            await world.stage.client.get(WARMUPS, "core", NAMESPACE)
        except ObjectNotFound:
            return True
        return False

    return await world.stage.until(is_gone, seconds, "a Warmup that is gone")


async def audited(world: World) -> dict[str, Any]:
    page = await world.stage.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Warmup"), 50, None)
    (record,) = [one for one in page.items if one.entry.action == "release"]
    assert record.outcome == "done"
    return {"reason": record.entry.reason, **record.entry.evidence}


async def events(world: World) -> dict[str, str]:
    found = (await world.stage.client.list(EVENTS, NAMESPACE)).items
    return {event.reason: event.message for event in found if event.involved_object.kind == "Warmup"}


@pytest.mark.world(nodes=4)
async def test_the_data_of_a_deleted_warmup_is_removed_from_every_node_that_had_some(world):
    await world.warmed(**SPEC)
    seen: dict[str, str] = {}
    world.stage.enter(watch_cleanups(world, seen))
    before = {shard["node"] for shard in (await world.status())["shards"]}
    await delete(world)
    assert await gone_within(world, 60) < 60
    assert set(seen.values()) == before and len(seen) == 3
    assert (await audited(world))["removed"] == sorted(before)
    assert "removed from 3 of 3" in (await events(world))["DataRemoved"]
    await world.stage.clock.sleep(30)
    assert await cleanups(world) == [] and await world.jobs() == [], "nothing of it is left"


@pytest.mark.world(nodes=4)
async def test_a_copy_that_a_shard_left_behind_is_removed_with_the_others(world):
    await world.warmed(**SPEC)
    shard = (await world.status())["shards"][1]
    await world.stage.sandbox.fleet.pause(shard["node"])
    await world.until("Stale", within=180)
    await world.until("Ready")
    await world.stage.sandbox.fleet.resume(shard["node"])
    await world.stage.clock.sleep(120)
    await delete(world)
    await gone_within(world, 120)
    assert (await audited(world))["removed"] == ["node-1", "node-2", "node-3", "node-4"]


@pytest.mark.world(nodes=4)
async def test_with_keep_the_warmup_goes_at_once_and_no_data_is_touched(world):
    await world.warmed(**{**SPEC, "reclaim": "Keep"})
    await delete(world)
    await gone_within(world, 2)
    await world.stage.clock.sleep(60)
    assert await cleanups(world) == []


@pytest.mark.world(nodes=4)
async def test_nodes_that_are_gone_are_skipped_and_silent_ones_are_named_and_given_up(world):
    await world.warmed(**SPEC)
    first, second, third = [shard["node"] for shard in (await world.status())["shards"]]
    await world.stage.sandbox.fleet.pause(first)
    await world.stage.clock.sleep(50)
    await world.stage.sandbox.fleet.remove_node(second)
    await delete(world)
    await world.stage.clock.sleep(60)
    states = {copy["node"]: copy["state"] for copy in (await world.status())["copies"]}
    assert states == {first: "waiting", second: "gone", third: "removed"}
    assert first in (await events(world))["DataWaits"]
    took = await gone_within(world, 1000)
    assert 800 < took < 900
    found = await audited(world)
    assert (found["left"], found["gone"], found["removed"]) == ([first], [second], [third])
    assert f"/mnt/core on {first} (given up after 15 minutes" in (await events(world))["DataLeft"]


@pytest.mark.world(
    nodes=3,
    rules=(
        Rule(Answer(403, "Forbidden", "quota exceeded"), methods=frozenset({"POST"}), path="/jobs$", since_seconds=60),
    ),
)
async def test_a_warmup_whose_cleanup_jobs_are_refused_is_released_in_the_end(world):
    await world.warmed(**SPEC)
    await world.stage.clock.sleep(60)
    await delete(world)
    assert 890 < await gone_within(world, 1000) < 920
    found = await audited(world)
    assert len(found["left"]) == 3 and "quota exceeded" in found["reason"]


@pytest.mark.world(nodes=3)
async def test_a_deleted_namespace_does_not_wait_for_jobs_that_nobody_can_make(world):
    await world.warmed(**SPEC)
    await world.stage.client.delete(NAMESPACES, NAMESPACE)
    await gone_within(world, 30)
    assert "is being deleted" in (await audited(world))["reason"]


@pytest.mark.world(nodes=3)
async def test_changing_to_keep_ends_the_wait(world):
    await world.warmed(**SPEC)
    await world.stage.pause(["warm-on-live-node"])
    await delete(world)
    await world.stage.clock.sleep(60)
    assert {copy["state"] for copy in (await world.status())["copies"]} == {"waiting"}, "the kill switch holds"
    await world.edit({"spec": {"reclaim": "Keep"}})
    await gone_within(world, 5)
    assert await cleanups(world) == []


@pytest.mark.world(nodes=3)
async def test_a_folder_that_another_warmup_uses_is_left_alone(world):
    await world.warmed(**SPEC)
    body = {"apiVersion": WARMUPS.api_version, "kind": "Warmup", "metadata": {"name": "other"}}
    spec = {"dataset": "other", "image": "fetcher", "command": ["fetch"], "localPath": "/mnt/core"}
    await world.stage.client.create(WARMUPS, {**body, "spec": spec}, NAMESPACE)
    await world.stage.clock.sleep(5)
    await delete(world)
    await gone_within(world, 30)
    assert len((await audited(world))["left"]) == 3 and f"{NAMESPACE}/other" in (await audited(world))["reason"]


@pytest.mark.world(nodes=3)
async def test_a_control_plane_that_dies_while_it_removes_data_is_continued(world):
    await world.warmed(**SPEC)
    await delete(world)
    await world.stage.clock.sleep(1)
    await world.stage.replicas[0].kill()
    world.stage.start("b")
    await gone_within(world, 120)


@pytest.mark.world(nodes=4)
async def test_while_the_ledger_is_away_the_status_says_what_the_removal_waits_for(world):
    await world.warmed(**SPEC)
    away = False
    await world.stage.replicas[0].kill()
    world.stage.start("b", fault=lambda call: Fault.AWAY if away and call.noun == "audit" else Fault.NONE)
    await world.stage.clock.sleep(40)
    away = True
    await delete(world)
    await world.stage.clock.sleep(30)
    reason = (await world.status())["reason"]
    assert "nothing is deleted before its audit row is written" in reason and await world.jobs() != []
    away = False
    assert await gone_within(world, 120) < 120
