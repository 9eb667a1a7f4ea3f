"""Adoption and the removal of data on a real control plane, with its own Job controller and garbage collector."""

import asyncio
from typing import Any

import pytest

from drydock import Drift, plain_nodes
from hawser.errors import ObjectNotFound
from hawser.resources import JOBS, PODS
from mooring.controllers.pools.adoption import AdoptRequest
from mooring.incidents.older_jobs import OLDER, make_older_jobs, older_jobs
from mooring.incidents.real_stage import open_real_stage
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.incidents.storage import Storage
from mooring.kinds.resources import WARMUPS
from mooring.model import names
from packages.mooring.tests.requirements import require_kubernetes
from packages.mooring.tests.scenarios.datasets import Dataset

pytestmark = pytest.mark.kubernetes

HURRY = 20.0


@pytest.fixture(scope="module")
def story() -> dict[str, Any]:
    """Everything on one cluster, one after another."""
    require_kubernetes()
    return asyncio.run(_play())


async def _play() -> dict[str, Any]:
    storage = Storage(fetch_seconds=0.5)
    async with open_real_stage(HURRY, plain_nodes(5), storage.script) as stage:
        replica = stage.start()
        world = Dataset(stage, storage, Drift(stage.client, stage.sandbox.fleet, stage.clock, stage.entropy), [])
        nodes = stage.sandbox.fleet.node_names
        await make_older_jobs(stage, nodes[:3] + nodes[:1])
        await _until(lambda: _all_complete(stage), "older Jobs that are complete")
        await world.warmup(shards=2, propagationSeconds=0, reclaim="Delete", adopt={"selector": OLDER})
        await world.until("Ready", within=60)
        before = await older_jobs(stage)
        for node in nodes[:3]:
            await stage.sandbox.fleet.remove_node(node)
        await _until(lambda: _is_left(stage, {"db-warmup-none"}), "adopted Jobs that are gone")
        await world.until("Ready", within=60)
        await stage.client.delete(WARMUPS, "core", NAMESPACE)
        await _until(lambda: _is_gone(stage), "a Warmup that is gone")
        pool = await _adopt_a_pod(stage, replica)
        return {"before": before, "pool": pool}


async def _adopt_a_pod(stage: Stage, replica: Any) -> dict[str, Any]:
    await stage.pool(warm=0, max=1, reuse="Always", protection={"graceSeconds": 1})
    meta = {"name": "old-runner", "labels": {"app": "runner"}}
    body = {"metadata": meta, "spec": {"containers": [{"name": "main", "image": "runner"}]}}
    made = await stage.client.create(PODS, body, NAMESPACE)

    async def runs() -> bool:
        return (await stage.client.get(PODS, "old-runner", NAMESPACE)).status.phase == "Running"

    await _until(runs, "a running pod")
    found = await replica.mooring.pools.adoption.adopt(NAMESPACE, "linux", AdoptRequest("app=runner", "why", "ann"))
    await stage.clock.sleep(3)  # a wrong owner would have it collected in under a second
    pod = await stage.client.get(PODS, "old-runner", NAMESPACE)
    stated = AdoptRequest("app=runner", "it is idle", "ann", idle=True)
    proven = await replica.mooring.pools.adoption.adopt(NAMESPACE, "linux", stated)
    await stage.until_idle(1, within=30)
    return {"made": made, "pod": pod, "results": [found[0].result, proven[0].result]}


async def _until(holds: Any, what: str, within: float = 60.0) -> None:
    async with asyncio.timeout(within):
        while not await holds():
            await asyncio.sleep(0.25)


async def _all_complete(stage: Stage) -> bool:
    jobs = (await stage.client.list(JOBS, NAMESPACE, label_selector=OLDER)).items
    return bool(jobs) and all(job.complete for job in jobs)


async def _is_left(stage: Stage, left: set[str]) -> bool:
    return await older_jobs(stage) == left


async def _is_gone(stage: Stage) -> bool:
    try:
        await stage.client.get(WARMUPS, "core", NAMESPACE)
    except ObjectNotFound:
        return True
    return False


def test_adopted_jobs_on_gone_nodes_and_the_deleted_warmup_are_gone(story):
    assert len(story["before"]) == 4


def test_an_adopted_pod_survives_the_garbage_collector_and_becomes_idle(story):
    made, pod = story["pool"]["made"], story["pool"]["pod"]
    assert story["pool"]["results"] == ["adopted", "proven-idle"]
    assert pod.metadata.uid == made.metadata.uid and not pod.terminating
    assert pod.metadata.controller.kind == "WorkerPool" and pod.metadata.annotations[names.DO_NOT_DISRUPT] == "true"
