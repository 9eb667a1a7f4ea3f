"""Garbage collection in a cluster: three ways to delete an owner, and owners that never were."""

from typing import Any

from hawser.resources import CONFIGMAPS, CRDS, JOBS, PODS, SECRETS, Resource
from packages.drydock.tests.actors.cluster import Cluster, in_cluster, job, pod, script

Object = dict[str, Any]


def owned(
    name: str, owner: Object, kind: str = "ConfigMap", api: str = "v1", uid: str = "", **reference: Any
) -> Object:
    what = {"apiVersion": api, "kind": kind, "name": owner["metadata"]["name"], "uid": uid or owner["metadata"]["uid"]}
    return {"metadata": {"name": name, "ownerReferences": [{**what, **reference}]}}


async def family(cluster: Cluster, **reference: Any) -> None:
    parent = await cluster.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    child = await cluster.create(SECRETS, owned("child", parent, **reference))
    await cluster.create(CONFIGMAPS, owned("grandchild", child, kind="Secret", **reference))
    await cluster.sleep(0.5)


@in_cluster
async def test_in_the_background_the_owner_goes_first_and_all_below_follow(cluster: Cluster) -> None:
    await family(cluster)
    await cluster.delete(CONFIGMAPS, "parent", propagation="Background")
    assert await cluster.find(CONFIGMAPS, "parent") is None
    assert await cluster.until_gone(CONFIGMAPS, "grandchild", within=2) < 1
    assert await cluster.find(SECRETS, "child") is None


@in_cluster
async def test_in_the_foreground_the_owner_waits_for_what_blocks_it(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    await cluster.create(JOBS, job("j", annotations=script(runSeconds=500, stopSeconds=10)))
    await cluster.sleep(5)
    await cluster.delete(JOBS, "j", propagation="Foreground")
    await cluster.sleep(3)
    waiting = await cluster.get(JOBS, "j")
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    [going] = await cluster.pods()
    assert going["metadata"]["deletionTimestamp"]
    await cluster.until_gone(JOBS, "j", within=30)
    assert await cluster.pods() == []


@in_cluster
async def test_in_the_foreground_nothing_that_does_not_block_is_waited_for(cluster: Cluster) -> None:
    parent = await cluster.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    stuck = owned("child", parent, blockOwnerDeletion=False)
    stuck["metadata"]["finalizers"] = ["example.com/stuck"]
    await cluster.create(CONFIGMAPS, stuck)
    await cluster.delete(CONFIGMAPS, "parent", propagation="Foreground")
    await cluster.until_gone(CONFIGMAPS, "parent", within=5)
    assert (await cluster.get(CONFIGMAPS, "child"))["metadata"]["deletionTimestamp"]


@in_cluster
async def test_orphans_stay_without_their_owner(cluster: Cluster) -> None:
    await family(cluster)
    await cluster.delete(CONFIGMAPS, "parent", propagation="Orphan")
    await cluster.until_gone(CONFIGMAPS, "parent", within=5)
    await cluster.sleep(5)
    child = await cluster.get(SECRETS, "child")
    assert not child["metadata"].get("ownerReferences")
    assert await cluster.find(CONFIGMAPS, "grandchild") is not None


@in_cluster
async def test_a_child_with_a_wrong_owner_uid_is_deleted_within_a_second(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    parent = await cluster.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    body = pod("child")
    body["metadata"]["ownerReferences"] = owned("x", parent, uid="00000000-not-it")["metadata"]["ownerReferences"]
    await cluster.create(PODS, body)
    await cluster.sleep(0.5)
    left = await cluster.find(PODS, "child")
    assert left is None or left["metadata"].get("deletionTimestamp")


@in_cluster
async def test_a_child_of_a_kind_nobody_knows_is_kept(cluster: Cluster) -> None:
    parent = {"metadata": {"name": "who", "uid": "what"}}
    await cluster.create(CONFIGMAPS, owned("child", parent, kind="Mystery", api="example.com/v1"))
    await cluster.sleep(300)
    assert await cluster.find(CONFIGMAPS, "child") is not None


@in_cluster
async def test_a_child_keeps_living_while_one_of_its_owners_does(cluster: Cluster) -> None:
    first = await cluster.create(CONFIGMAPS, {"metadata": {"name": "first"}})
    second = await cluster.create(CONFIGMAPS, {"metadata": {"name": "second"}})
    child = owned("child", first)
    child["metadata"]["ownerReferences"] += owned("x", second)["metadata"]["ownerReferences"]
    await cluster.create(CONFIGMAPS, child)
    await cluster.delete(CONFIGMAPS, "first")
    await cluster.sleep(3)
    left = await cluster.get(CONFIGMAPS, "child")
    assert [one["name"] for one in left["metadata"]["ownerReferences"]] == ["second"]
    await cluster.delete(CONFIGMAPS, "second")
    await cluster.until_gone(CONFIGMAPS, "child", within=5)


@in_cluster
async def test_custom_kinds_own_and_are_owned_as_soon_as_they_are_defined(cluster: Cluster) -> None:
    names = {"plural": "boats", "singular": "boat", "kind": "Boat"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    await cluster.create(CRDS, {"metadata": {"name": "boats.example.com"}, "spec": spec})
    await cluster.sleep(2)
    boats: Resource[Object] = Resource("example.com", "v1", "boats", "Boat", True, dict)
    boat = await cluster.create(boats, {"metadata": {"name": "ferry"}})
    await cluster.create(CONFIGMAPS, owned("cargo", boat, kind="Boat", api="example.com/v1"))
    cargo = await cluster.get(CONFIGMAPS, "cargo")
    await cluster.create(boats, owned("tender", cargo))
    await cluster.sleep(1)
    await cluster.delete(boats, "ferry")
    await cluster.until_gone(CONFIGMAPS, "cargo", within=5)
    await cluster.until_gone(boats, "tender", within=5)


@in_cluster
async def test_an_owner_recreated_under_its_old_name_is_no_owner(cluster: Cluster) -> None:
    parent = await cluster.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    await cluster.create(CONFIGMAPS, owned("child", parent))
    await cluster.delete(CONFIGMAPS, "parent")
    await cluster.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    await cluster.until_gone(CONFIGMAPS, "child", within=5)
    assert await cluster.find(CONFIGMAPS, "parent") is not None
