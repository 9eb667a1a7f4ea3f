"""Older warm Jobs of another tool, adopted by a Warmup: gone with their node, never touched while they may run."""

from typing import Any

import pytest

from hawser.errors import ObjectInvalid
from hawser.resources import JOBS
from mooring.ledger.records import AuditFilter
from mooring.model.audit import AuditRecord
from mooring.planning.warmups.jobs import job_name
from packages.mooring.tests.scenarios.datasets import Dataset
from packages.mooring.tests.scenarios.harbour import NAMESPACE

SELECTOR = "app=db-warmup,db=core_nt"
SPEC: dict[str, Any] = {"shards": 2, "propagationSeconds": 0, "adopt": {"selector": SELECTOR}}


def pinned(how: str, node: str) -> dict[str, Any]:
    """The three ways in which tools pin a Job to a node, and none."""
    match how:
        case "nodeName":
            return {"nodeName": node}
        case "hostname":
            return {"nodeSelector": {"kubernetes.io/hostname": node}}
        case "matchFields":
            fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
            term = {"nodeSelectorTerms": [{"matchFields": fields}]}
            return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}}
    return {}


async def older_job(dataset: Dataset, name: str, pod: dict[str, Any], seconds: float = 5, **meta: Any) -> None:
    container = {"name": "old", "image": "old", "command": ["sleep", str(seconds)]}
    script = {"drydock.dev/script": f'{{"runs": [{{"runSeconds": {seconds}}}]}}'}
    template = {
        "metadata": {"annotations": script},
        "spec": {"restartPolicy": "Never", "containers": [container], **pod},
    }
    labels = {"app": "db-warmup", "db": "core_nt"}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels, **meta}}
    await dataset.stage.client.create(JOBS, {**body, "spec": {"template": template, "backoffLimit": 0}}, NAMESPACE)


async def names_of(dataset: Dataset) -> set[str]:
    found = (await dataset.stage.client.list(JOBS, NAMESPACE, label_selector="app=db-warmup")).items
    return {job.metadata.name for job in found}


async def rows(dataset: Dataset) -> dict[str, tuple[str, str]]:
    adoption = (await dataset.status())["adoption"]
    return {row["name"]: (row["state"], row["why"]) for row in adoption["jobs"]}


@pytest.mark.world(nodes=4)
async def test_finished_jobs_on_nodes_that_are_gone_are_deleted_whichever_way_they_are_pinned(dataset):
    for how in ("nodeName", "hostname", "matchFields"):
        await older_job(dataset, f"old-{how.lower()}", pinned(how, "node-1"))
    await older_job(dataset, "old-alive", pinned("hostname", "node-2"))
    await older_job(dataset, "old-anywhere", pinned("", ""))
    await older_job(
        dataset, "of-another-dataset", pinned("nodeName", "node-1"), labels={"app": "db-warmup", "db": "nr"}
    )
    await dataset.stage.clock.sleep(30)
    await dataset.warmed(**SPEC)
    assert len(await names_of(dataset)) == 6, "every node exists: nothing is deleted"
    found = await rows(dataset)
    assert found["old-alive"][0] == "kept" and "nothing proves its generation" in found["old-alive"][1]
    assert found["old-anywhere"] == ("kept", "it is not pinned to a node")
    assert "of-another-dataset" not in found
    await dataset.stage.sandbox.fleet.remove_node("node-1")
    await dataset.stage.clock.sleep(90)
    assert await names_of(dataset) == {"old-alive", "old-anywhere", "of-another-dataset"}
    page = await dataset.stage.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Job"), 50, None)
    adopted = {one.entry.subject.name: one.entry for one in page.items if "adopted" in one.entry.evidence}
    assert set(adopted) == {"old-nodename", "old-hostname", "old-matchfields"}
    assert all(f"adopted by {SELECTOR}" in entry.reason for entry in adopted.values())


@pytest.mark.world(nodes=4)
async def test_a_job_that_runs_or_that_a_controller_manages_is_never_deleted(dataset):
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "u", "controller": True}
    await older_job(dataset, "old-runs", pinned("hostname", "node-2"), seconds=100_000)
    await older_job(dataset, "old-managed", pinned("nodeName", "never-there"), ownerReferences=[owner])
    await dataset.warmed(**SPEC)
    await dataset.stage.clock.sleep(300)
    assert {"old-runs"} <= await names_of(dataset)
    found = await rows(dataset)
    assert found["old-runs"] == ("kept", "it has not finished, and its node exists")
    page = await dataset.stage.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Job"), 50, None)
    assert [one for one in page.items if one.entry.subject.name in ("old-runs", "old-managed")] == []


@pytest.mark.world(nodes=4)
async def test_a_job_that_waits_for_a_node_that_is_gone_is_deleted_as_no_pod_of_it_can_run(dataset):
    await older_job(dataset, "old-stuck", pinned("matchFields", "node-of-last-year"))
    await dataset.warmed(**SPEC)
    await dataset.stage.clock.sleep(30)
    assert await names_of(dataset) == set()


@pytest.mark.world(nodes=4)
async def test_a_job_whose_pod_may_still_run_stays_and_is_not_tried_all_the_time(dataset):
    await older_job(dataset, "old-running", pinned("nodeName", "node-of-last-year"))
    await dataset.warmed(**SPEC)
    release = (await dataset.status())["release"]
    assert (release["status"], release["errors"]) == ("partial", ["old-running: a pod of it may still run"])
    assert await tries(dataset, "old-running") == [] and await names_of(dataset) == {"old-running"}


async def tries(dataset: Dataset, name: str) -> list[AuditRecord]:
    page = await dataset.stage.replicas[0].mooring.queries.fleet.audit(AuditFilter(kind="Job"), 500, None)
    return [one for one in page.items if one.entry.subject.name == name]


@pytest.mark.world(nodes=3)
async def test_a_finished_job_in_the_place_of_our_own_makes_room_and_its_shard_is_warmed(dataset):
    await older_job(dataset, job_name("core_nt", 0), pinned("hostname", "node-1"))
    await dataset.stage.clock.sleep(30)
    await dataset.warmed(**SPEC)
    assert await names_of(dataset) == set() and (await dataset.status())["nodesReady"] == 2


@pytest.mark.parametrize("selector", ["", " ", "!app", "app notin (x)", "app=x,,"])
@pytest.mark.world(nodes=3)
async def test_a_selector_that_selects_everything_is_refused(dataset, selector):
    await older_job(dataset, "old-lost", pinned("nodeName", "never-there"))
    try:
        await dataset.warmup(**{**SPEC, "adopt": {"selector": selector}})
    except ObjectInvalid:
        return
    await dataset.until("Failed", within=30)
    await dataset.stage.clock.sleep(60)
    assert "spec.adopt.selector" in (await dataset.status())["reason"] and await names_of(dataset) == {"old-lost"}


@pytest.mark.world(nodes=3)
async def test_with_the_invariant_paused_adopted_jobs_stay(dataset):
    await dataset.stage.pause(["warm-on-live-node"])
    await older_job(dataset, "old-stuck", pinned("matchFields", "node-of-last-year"))
    await dataset.warmed(**SPEC)
    await dataset.stage.clock.sleep(60)
    assert await names_of(dataset) == {"old-stuck"} and (await rows(dataset))["old-stuck"][0] == "leftover"
