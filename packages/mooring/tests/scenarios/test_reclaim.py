"""The data of a deleted Warmup is removed with it if `reclaim` is Delete: within bounds, and saying what is left."""

from typing import Any

import pytest

from drydock.faults import Answer, Rule
from hawser.errors import ObjectNotFound
from hawser.resources import EVENTS, JOBS, NAMESPACES
from mooring.kinds.resources import WARMUPS
from mooring.ledger.faults import Fault
from mooring.ledger.records import AuditFilter
from mooring.model import names
from packages.mooring.tests.scenarios.datasets import Dataset
from packages.mooring.tests.scenarios.harbour import NAMESPACE

SPEC = {"shards": 3, "propagationSeconds": 0, "reclaim": "Delete", "localPath": "/mnt/core"}


async def cleanups(dataset: Dataset) -> list[Any]:
    return (await dataset.stage.client.list(JOBS.raw(), NAMESPACE, label_selector=names.RECLAIM)).items


async def watch_cleanups(dataset: Dataset, seen: dict[str, str]) -> None:
    """Note the node of every cleanup Job."""
    while True:
        for job in await cleanups(dataset):
            affinity = job["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
            (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
            seen[job["metadata"]["name"]] = term["matchFields"][0]["values"][0]
        await dataset.stage.clock.sleep(0.5)


async def delete(dataset: Dataset) -> None:
    await dataset.stage.client.delete(WARMUPS, "core", NAMESPACE)


async def gone_within(dataset: Dataset, seconds: float) -> float:
    async def is_gone() -> bool:
        try:
            await dataset.stage.client.get(WARMUPS, "core", NAMESPACE)
        except ObjectNotFound:
            return True
        return False

    return await dataset.stage.until(is_gone, seconds, "a Warmup that is gone")


async def audited(dataset: Dataset) -> dict[str, Any]:
    page = await dataset.stage.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Warmup"), 50, None)
    (record,) = [one for one in page.items if one.entry.action == "release"]
    assert record.outcome == "done"
    return {"reason": record.entry.reason, **record.entry.evidence}


async def events(dataset: Dataset) -> dict[str, str]:
    found = (await dataset.stage.client.list(EVENTS, NAMESPACE)).items
    return {event.reason: event.message for event in found if event.involved_object.kind == "Warmup"}


@pytest.mark.world(nodes=4)
async def test_the_data_of_a_deleted_warmup_is_removed_from_every_node_that_had_some(dataset):
    await dataset.warmed(**SPEC)
    seen: dict[str, str] = {}
    dataset.stage.enter(watch_cleanups(dataset, seen))
    before = {shard["node"] for shard in (await dataset.status())["shards"]}
    await delete(dataset)
    assert await gone_within(dataset, 60) < 60
    assert set(seen.values()) == before and len(seen) == 3
    assert (await audited(dataset))["removed"] == sorted(before)
    assert "removed from 3 of 3" in (await events(dataset))["DataRemoved"]
    await dataset.stage.clock.sleep(30)
    assert await cleanups(dataset) == [] and await dataset.jobs() == [], "nothing of it is left"


@pytest.mark.world(nodes=4)
async def test_a_copy_that_a_shard_left_behind_is_removed_with_the_others(dataset):
    await dataset.warmed(**SPEC)
    shard = (await dataset.status())["shards"][1]
    await dataset.stage.sandbox.fleet.pause(shard["node"])
    await dataset.until("Stale", within=180)
    await dataset.until("Ready")
    await dataset.stage.sandbox.fleet.resume(shard["node"])
    await dataset.stage.clock.sleep(120)
    await delete(dataset)
    await gone_within(dataset, 120)
    assert (await audited(dataset))["removed"] == ["node-1", "node-2", "node-3", "node-4"]


@pytest.mark.world(nodes=4)
async def test_with_keep_the_warmup_goes_at_once_and_no_data_is_touched(dataset):
    await dataset.warmed(**{**SPEC, "reclaim": "Keep"})
    await delete(dataset)
    await gone_within(dataset, 2)
    await dataset.stage.clock.sleep(60)
    assert await cleanups(dataset) == []


@pytest.mark.slow
@pytest.mark.world(nodes=4)
async def test_nodes_that_are_gone_are_skipped_and_silent_ones_are_named_and_given_up(dataset):
    await dataset.warmed(**SPEC)
    first, second, third = [shard["node"] for shard in (await dataset.status())["shards"]]
    await dataset.stage.sandbox.fleet.pause(first)
    await dataset.stage.clock.sleep(50)
    await dataset.stage.sandbox.fleet.remove_node(second)
    await delete(dataset)
    await dataset.stage.clock.sleep(60)
    states = {copy["node"]: copy["state"] for copy in (await dataset.status())["copies"]}
    assert states == {first: "waiting", second: "gone", third: "removed"}
    assert first in (await events(dataset))["DataWaits"]
    took = await gone_within(dataset, 1000)
    assert 800 < took < 900
    found = await audited(dataset)
    assert (found["left"], found["gone"], found["removed"]) == ([first], [second], [third])
    assert f"/mnt/core on {first} (given up after 15 minutes" in (await events(dataset))["DataLeft"]


@pytest.mark.slow
@pytest.mark.world(
    nodes=3,
    rules=(
        Rule(Answer(403, "Forbidden", "quota exceeded"), methods=frozenset({"POST"}), path="/jobs$", since_seconds=60),
    ),
)
async def test_a_warmup_whose_cleanup_jobs_are_refused_is_released_in_the_end(dataset):
    await dataset.warmed(**SPEC)
    await dataset.stage.clock.sleep(60)
    await delete(dataset)
    assert 890 < await gone_within(dataset, 1000) < 920
    found = await audited(dataset)
    assert len(found["left"]) == 3 and "quota exceeded" in found["reason"]


@pytest.mark.world(nodes=3)
async def test_a_deleted_namespace_does_not_wait_for_jobs_that_nobody_can_make(dataset):
    await dataset.warmed(**SPEC)
    await dataset.stage.client.delete(NAMESPACES, NAMESPACE)
    await gone_within(dataset, 30)
    assert "is being deleted" in (await audited(dataset))["reason"]


@pytest.mark.world(nodes=3)
async def test_changing_to_keep_ends_the_wait(dataset):
    await dataset.warmed(**SPEC)
    await dataset.stage.pause(["warm-on-live-node"])
    await delete(dataset)
    await dataset.stage.clock.sleep(60)
    assert {copy["state"] for copy in (await dataset.status())["copies"]} == {"waiting"}, "the kill switch holds"
    await dataset.edit({"spec": {"reclaim": "Keep"}})
    await gone_within(dataset, 5)
    assert await cleanups(dataset) == []


@pytest.mark.world(nodes=3)
async def test_a_folder_that_another_warmup_uses_is_left_alone(dataset):
    await dataset.warmed(**SPEC)
    body = {"apiVersion": WARMUPS.api_version, "kind": "Warmup", "metadata": {"name": "other"}}
    spec = {"dataset": "other", "image": "fetcher", "command": ["fetch"], "localPath": "/mnt/core"}
    await dataset.stage.client.create(WARMUPS, {**body, "spec": spec}, NAMESPACE)
    await dataset.stage.clock.sleep(5)
    await delete(dataset)
    await gone_within(dataset, 30)
    assert len((await audited(dataset))["left"]) == 3 and f"{NAMESPACE}/other" in (await audited(dataset))["reason"]


@pytest.mark.world(nodes=3)
async def test_a_control_plane_that_dies_while_it_removes_data_is_continued(dataset):
    await dataset.warmed(**SPEC)
    await delete(dataset)
    await dataset.stage.clock.sleep(1)
    await dataset.stage.replicas[0].kill()
    dataset.stage.start("b")
    await gone_within(dataset, 120)


@pytest.mark.world(nodes=4)
async def test_while_the_ledger_is_away_the_status_says_what_the_removal_waits_for(dataset):
    await dataset.warmed(**SPEC)
    away = False
    await dataset.stage.replicas[0].kill()
    dataset.stage.start("b", fault=lambda call: Fault.AWAY if away and call.noun == "audit" else Fault.NONE)
    await dataset.stage.clock.sleep(40)
    away = True
    await delete(dataset)
    await dataset.stage.clock.sleep(30)
    reason = (await dataset.status())["reason"]
    assert "nothing is deleted before its audit row is written" in reason and await dataset.jobs() != []
    away = False
    assert await gone_within(dataset, 120) < 120
