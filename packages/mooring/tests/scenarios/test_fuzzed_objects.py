"""No object, however wrong, stops a loop: the whole application in virtual time beside objects that are fuzzed.

`MOORING_FUZZ_SEEDS=40 MOORING_FUZZ_OBJECTS=2500` makes it 100,000 objects: about 4 minutes of one core.
"""

import dataclasses
import os
from typing import Any

import pytest

from hawser.clock import Entropy
from hawser.errors import KubeError
from hawser.resources import DEPLOYMENTS, JOBS, NAMESPACES, NODES, PODS, SERVICEACCOUNTS, Resource
from mooring.kinds.resources import MANAGEDSERVICES, SUBMISSIONS, WARMUPS, WORKERPOOLS
from mooring.model import names
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.fuzz import Body, FuzzingTransport
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour
from packages.mooring.tests.scenarios.test_forged_marks import bugs, stranger
from packages.testing.lanes import fast_first

FUZZED = "fuzzed"
SEEDS = int(os.environ.get("MOORING_FUZZ_SEEDS", "2"))
OBJECTS = int(os.environ.get("MOORING_FUZZ_OBJECTS", "800"))  # a seed
POOL = f"{NAMESPACE}/linux"
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
KINDS: dict[Resource[Any], Body] = {
    WORKERPOOLS: {"warm": 2, "max": 3, "serviceAccount": "PerWorker", "health": {"port": 80}, "template": TEMPLATE},
    WARMUPS: {"dataset": "core_nt", "image": "fetch", "shards": 2, "command": ["fetch"]},
    SUBMISSIONS: {"key": "k", "program": "blastn", "batches": [{"name": "a", "args": ["x"]}]},
    MANAGEDSERVICES: {"image": "web", "port": 80},
}


def is_chosen(found: Body) -> bool:
    metadata = found.get("metadata") or {}
    return metadata.get("namespace") == FUZZED or str(metadata.get("name", "")).startswith("fuzzed-")


async def furnish(world: Harbour) -> None:
    await world.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": FUZZED}})
    for resource, spec in KINDS.items():
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "linux"}, "spec": spec}
        await world.client.create(resource.raw(), body, FUZZED)
    await world.client.create(PODS.raw(), stranger("00000000-0000-4000-8000-000000000000"), FUZZED)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "fuzzed-1", "labels": {"node-pool": "x"}}}
    await world.client.create(NODES.raw(), node)
    labels = {names.SUBMISSION: "gone", names.DATASET: "core_nt", names.RECLAIM: "gone"}
    job = {"metadata": {"name": "leftover", "labels": labels}, "spec": {"suspend": True, "template": _job_template()}}
    await world.client.create(JOBS.raw(), {"apiVersion": "batch/v1", "kind": "Job", **job}, FUZZED)


def _job_template() -> Body:
    return {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}


async def poke(world: Harbour, number: int) -> None:
    """Every fuzzed object changes, and so is sent again."""
    patch = {"metadata": {"annotations": {"example.com/poke": str(number)}}}
    for resource in (*KINDS, PODS, JOBS, SERVICEACCOUNTS, DEPLOYMENTS):
        for found in (await world.client.list(resource.raw(), FUZZED)).items:
            try:
                await world.client.merge_patch(resource.raw(), found["metadata"]["name"], patch, FUZZED)
            except KubeError:
                continue  # Mooring or a controller was faster
    await world.client.merge_patch(NODES.raw(), "fuzzed-1", patch)


async def assert_all_loops_live(world: Harbour, replica: Replica) -> None:
    """Each of them does its work for objects that are sound."""
    assert not replica.task.done()
    assert replica.mooring.leadership.leading and not replica.mooring.readiness.obstacles
    before = world.clock.now()
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", wait=30))
    await world.clock.sleep(130)
    pod = await world.client.get(PODS, claim.pod_name or "", NAMESPACE)
    assert pod.metadata.annotations[names.DO_NOT_DISRUPT] == "true"
    for check in (await world.ledger.invariants.all()).values():
        if check.id not in ("adopted", "warm-on-live-node", "schedulable", "warm-floor"):
            assert check.checked_at is not None and check.checked_at > before, check.id
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.until_idle(2, within=300)


@pytest.mark.parametrize("seed", fast_first(range(SEEDS), 1))
async def test_fuzzed_objects_stop_no_loop(seed: int) -> None:
    async with harbour(seed) as world:
        fuzzing = FuzzingTransport(world.sandbox.transport, Entropy(seed), is_chosen)
        world.sandbox = dataclasses.replace(world.sandbox, transport=fuzzing)
        failures = bugs()
        replica = world.start()
        await world.pool(warm=2, max=4, reuse="Always")
        await world.until_idle(2)
        await furnish(world)
        number = 0
        while fuzzing.changed < OBJECTS:
            number += 1
            await poke(world, number)
            await world.clock.sleep(3)
            assert not replica.task.done()
        await assert_all_loops_live(world, replica)
        assert bugs() == failures, "an unexpected error is contained, and yet a bug"
