"""Mooring leaves a cluster: protection, budgets and stamps end in this order, and all work goes on."""

import dataclasses
from typing import Any

import pytest

from hawser.resources import BUDGETS, CRDS, DEPLOYMENTS, JOBS, NAMESPACES, PODS, PRIORITYCLASSES, SERVICEACCOUNTS
from mooring.controllers.pools.headroom import placeholder_manifest
from mooring.controllers.pools.translation import pool_from_view
from mooring.kinds.manifests import manifests
from mooring.kinds.release import Release
from mooring.kinds.removal import BINDINGS, BY_KIND, POLICIES, Removal, RemovalOptions
from mooring.kinds.resources import WARMUPS, WORKERPOOLS
from mooring.model import names
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Refused
from mooring.model.headroom import USUAL_CLASS
from mooring.planning.placement import Placed
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

RELEASE = Release("mooring")
MARKS = {names.OWNER, names.BUSY, names.CLAIM, names.EPOCH, names.SEAL, names.DO_NOT_DISRUPT, names.SAFE_TO_EVICT}


async def install(world: Harbour, managed_by: str = RELEASE.managed_by, policy: bool = True) -> None:
    """Mooring's own objects; the replica that worked was one of the stage's."""
    await world.client.create(NAMESPACES, {"metadata": {"name": RELEASE.namespace}})
    for body in manifests(dataclasses.replace(RELEASE, managed_by=managed_by), "mooring:1"):
        if body["kind"] in BY_KIND and (policy or not body["kind"].startswith("Validating")):
            await world.client.apply(BY_KIND[body["kind"]], body, field_manager="test", force=True)


async def busy_fleet(world: Harbour) -> set[str]:
    """A pool with two claimed workers of three, whose replica then dies; the uids of its pods."""
    replica = world.start()
    await world.pool(warm=1, max=5, reuse="Always")
    await world.until_idle(1)
    for owner in ("acme", "umbrella"):
        await replica.mooring.claims.desk.claim(f"{NAMESPACE}/linux", ClaimRequest(owner, wait=60))
    await world.until_idle(1)
    await world.clock.sleep(10)
    await replica.kill()
    return {pod.metadata.uid for pod in await world.pods()}


async def remove(world: Harbour, **options: bool) -> list[str]:
    lines: list[str] = []
    await Removal(world.client, world.clock, RELEASE, lines.append).run(RemovalOptions(**options))
    return lines


def marks(pod: Any) -> set[str]:
    return MARKS & {*pod.metadata.labels, *pod.metadata.annotations}


async def test_workers_go_on_without_protection_budget_and_stamp_and_mooring_is_gone(world):
    before = await busy_fleet(world)
    await install(world)
    assert len([pod for pod in await world.pods() if marks(pod) == MARKS]) == 2
    lines = await remove(world)
    pods = await world.pods()
    assert {pod.metadata.uid for pod in pods} == before and all(pod.status.phase == "Running" for pod in pods)
    assert not any(marks(pod) for pod in pods)
    assert all(pod.metadata.labels[names.POOL] == "linux" for pod in pods), "a reinstalled Mooring finds them again"
    assert (await world.client.list(BUDGETS)).items == []
    for resource in (DEPLOYMENTS, SERVICEACCOUNTS):
        found = (await world.client.list(resource, RELEASE.namespace)).items
        assert [one.metadata.name for one in found if one.metadata.name != "default"] == []
    assert (await world.client.list(POLICIES)).items == (await world.client.list(BINDINGS)).items == []
    assert len((await world.client.list(CRDS)).items) == 4 and (await world.client.list(WORKERPOOLS)).items
    order = [line.split()[0:2] for line in lines]
    firsts = [
        order.index(step)
        for step in (["stop", "Deployment"], ["end", "protection"], ["delete", "PodDisruptionBudget"], ["end", "stamp"])
    ]
    assert firsts == sorted(firsts)


async def test_a_second_run_finds_nothing_to_do(world):
    await busy_fleet(world)
    await install(world)
    await remove(world)
    assert await remove(world) == []


async def test_a_dry_run_names_the_same_acts_and_changes_nothing(world):
    await busy_fleet(world)
    await install(world)
    before = [(pod.metadata.uid, marks(pod)) for pod in await world.pods()]
    would = await remove(world, dry_run=True, crds=True)
    assert [(pod.metadata.uid, marks(pod)) for pod in await world.pods()] == before
    assert len((await world.client.list(CRDS)).items) == 4
    assert would and all(line.startswith("would ") for line in would)
    assert [f"would {line}" for line in await remove(world, crds=True)] == would


async def test_in_a_hook_of_helm_the_objects_are_left_to_helm(world):
    before = await busy_fleet(world)
    await install(world, managed_by="Helm", policy=False)  # the policy lets Mooring's own account do this
    await remove(world, keep_objects=True)
    assert {pod.metadata.uid for pod in await world.pods()} == before
    assert not any(marks(pod) for pod in await world.pods())
    deployment = await world.client.get(DEPLOYMENTS.raw(), "mooring", "mooring")
    assert deployment["spec"]["replicas"] == 0


async def test_objects_of_a_helm_release_are_removed_by_helm_only(world):
    await install(world, managed_by="Helm")
    with pytest.raises(Refused, match="belongs to a Helm release"):
        await remove(world)


async def test_with_the_definitions_pods_and_jobs_stay_and_lose_their_owner(world):
    before = await busy_fleet(world)
    await install(world)
    warmup = {
        "apiVersion": WARMUPS.api_version,
        "kind": "Warmup",
        "metadata": {"name": "core", "finalizers": [names.WARM_DATA_FINALIZER]},
        "spec": {"dataset": "core", "generation": "1", "shards": 1, "image": "busybox", "command": ["true"]},
    }
    made = await world.client.create(WARMUPS.raw(), warmup, NAMESPACE)
    owner = {"apiVersion": WARMUPS.api_version, "kind": "Warmup", "name": "core", "uid": made["metadata"]["uid"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
    job = {"metadata": {"name": "warm-core", "ownerReferences": [owner]}, "spec": {"template": template}}
    await world.client.create(JOBS, job, NAMESPACE)
    await remove(world, crds=True)
    await world.clock.sleep(120)
    assert (await world.client.list(CRDS)).items == []
    pods = [pod for pod in await world.pods() if names.POOL in pod.metadata.labels]
    assert {pod.metadata.uid for pod in pods} == before and not any(pod.metadata.owner_references for pod in pods)
    assert [one.metadata.name for one in (await world.client.list(JOBS, NAMESPACE)).items] == ["warm-core"]
    assert not (await world.client.list(PODS, RELEASE.namespace)).items


async def test_placeholder_pods_and_their_class_go_though_the_pools_stay(world):
    await world.pool("elastic", max=5, demand={"min": 0, "headroom": {"workers": 1}})
    pool = pool_from_view(await world.client.get(WORKERPOOLS, "elastic", NAMESPACE))
    assert pool.spec.demand is not None and pool.spec.demand.headroom is not None
    body = placeholder_manifest(pool, pool.spec.demand.headroom, "elastic-headroom-0", Placed())
    await world.client.create(PODS, body, NAMESPACE)
    await install(world)
    assert "delete placeholder Pod runners/elastic-headroom-0" in await remove(world)
    assert not [pod for pod in await world.pods() if names.HEADROOM in pod.metadata.labels]
    assert (await world.client.list(WORKERPOOLS, NAMESPACE)).items
    assert USUAL_CLASS not in [one.metadata.name for one in (await world.client.list(PRIORITYCLASSES)).items]
