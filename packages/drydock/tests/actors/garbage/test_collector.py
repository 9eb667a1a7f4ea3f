"""Garbage collection in a cluster: three ways to delete an owner, and owners that never were."""

from typing import Any

from hawser.resources import CONFIGMAPS, CRDS, JOBS, PODS, SECRETS, Resource
from packages.drydock.tests.actors.cluster import Cluster, job, pod, script

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


async def test_in_the_background_the_owner_goes_first_and_all_below_follow(world: Cluster) -> None:
    await family(world)
    await world.delete(CONFIGMAPS, "parent", propagation="Background")
    assert await world.find(CONFIGMAPS, "parent") is None
    assert await world.until_gone(CONFIGMAPS, "grandchild", within=2) < 1
    assert await world.find(SECRETS, "child") is None


async def test_in_the_foreground_the_owner_waits_for_what_blocks_it(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(JOBS, job("j", annotations=script(runSeconds=500, stopSeconds=10)))
    await world.sleep(5)
    await world.delete(JOBS, "j", propagation="Foreground")
    await world.sleep(3)
    waiting = await world.get(JOBS, "j")
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    [going] = await world.pods()
    assert going["metadata"]["deletionTimestamp"]
    await world.until_gone(JOBS, "j", within=30)
    assert await world.pods() == []


async def test_in_the_foreground_nothing_that_does_not_block_is_waited_for(world: Cluster) -> None:
    parent = await world.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    stuck = owned("child", parent, blockOwnerDeletion=False)
    stuck["metadata"]["finalizers"] = ["example.com/stuck"]
    await world.create(CONFIGMAPS, stuck)
    await world.delete(CONFIGMAPS, "parent", propagation="Foreground")
    await world.until_gone(CONFIGMAPS, "parent", within=5)
    assert (await world.get(CONFIGMAPS, "child"))["metadata"]["deletionTimestamp"]


async def test_orphans_stay_without_their_owner(world: Cluster) -> None:
    await family(world)
    await world.delete(CONFIGMAPS, "parent", propagation="Orphan")
    await world.until_gone(CONFIGMAPS, "parent", within=5)
    await world.sleep(5)
    child = await world.get(SECRETS, "child")
    assert not child["metadata"].get("ownerReferences")
    assert await world.find(CONFIGMAPS, "grandchild") is not None


async def test_a_child_with_a_wrong_owner_uid_is_deleted_within_a_second(world: Cluster) -> None:
    await world.add_nodes("a")
    parent = await world.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    body = pod("child")
    body["metadata"]["ownerReferences"] = owned("x", parent, uid="00000000-not-it")["metadata"]["ownerReferences"]
    await world.create(PODS, body)
    await world.sleep(0.5)
    left = await world.find(PODS, "child")
    assert left is None or left["metadata"].get("deletionTimestamp")


async def test_a_child_of_a_kind_nobody_knows_is_kept(world: Cluster) -> None:
    parent = {"metadata": {"name": "who", "uid": "what"}}
    await world.create(CONFIGMAPS, owned("child", parent, kind="Mystery", api="example.com/v1"))
    await world.sleep(300)
    assert await world.find(CONFIGMAPS, "child") is not None


async def test_a_child_keeps_living_while_one_of_its_owners_does(world: Cluster) -> None:
    first = await world.create(CONFIGMAPS, {"metadata": {"name": "first"}})
    second = await world.create(CONFIGMAPS, {"metadata": {"name": "second"}})
    child = owned("child", first)
    child["metadata"]["ownerReferences"] += owned("x", second)["metadata"]["ownerReferences"]
    await world.create(CONFIGMAPS, child)
    await world.delete(CONFIGMAPS, "first")
    await world.sleep(3)
    left = await world.get(CONFIGMAPS, "child")
    assert [one["name"] for one in left["metadata"]["ownerReferences"]] == ["second"]
    await world.delete(CONFIGMAPS, "second")
    await world.until_gone(CONFIGMAPS, "child", within=5)


async def test_custom_kinds_own_and_are_owned_as_soon_as_they_are_defined(world: Cluster) -> None:
    names = {"plural": "boats", "singular": "boat", "kind": "Boat"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    await world.create(CRDS, {"metadata": {"name": "boats.example.com"}, "spec": spec})
    await world.sleep(2)
    boats: Resource[Object] = Resource("example.com", "v1", "boats", "Boat", True, dict)
    boat = await world.create(boats, {"metadata": {"name": "ferry"}})
    await world.create(CONFIGMAPS, owned("cargo", boat, kind="Boat", api="example.com/v1"))
    cargo = await world.get(CONFIGMAPS, "cargo")
    await world.create(boats, owned("tender", cargo))
    await world.sleep(1)
    await world.delete(boats, "ferry")
    await world.until_gone(CONFIGMAPS, "cargo", within=5)
    await world.until_gone(boats, "tender", within=5)


async def test_an_owner_recreated_under_its_old_name_is_no_owner(world: Cluster) -> None:
    parent = await world.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    await world.create(CONFIGMAPS, owned("child", parent))
    await world.delete(CONFIGMAPS, "parent")
    await world.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    await world.until_gone(CONFIGMAPS, "child", within=5)
    assert await world.find(CONFIGMAPS, "parent") is not None
