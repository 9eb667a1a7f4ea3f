"""Nodes that fall silent, are tainted, emptied, or gone, in a cluster."""

from typing import Any

from drydock.actors.kubelet.machine import NodeTemplate
from drydock.actors.machinery.objects import condition_of, is_terminating
from drydock.actors.machinery.pods import is_ready
from hawser.resources import NODES, PODS
from packages.drydock.tests.actors.cluster import Cluster, pod

Object = dict[str, Any]


def taints(node: Object) -> list[tuple[str, str]]:
    found = node["spec"].get("taints") or ()
    return sorted((one["key"].removeprefix("node.kubernetes.io/"), one["effect"]) for one in found)


async def placed(cluster: Cluster, name: str, node: str, **spec: Any) -> None:
    await cluster.create(PODS, pod(name, nodeSelector={"kubernetes.io/hostname": node}, **spec))
    await cluster.until(lambda: is_running(cluster, name))


async def is_running(cluster: Cluster, name: str) -> bool:
    return bool((await cluster.get(PODS, name))["status"].get("phase") == "Running")


async def node_is(cluster: Cluster, name: str, status: str) -> bool:
    condition = condition_of(await cluster.node(name), "Ready")
    return condition is not None and condition["status"] == status


async def test_a_silent_node_becomes_unknown_after_fifty_seconds_and_its_pods_not_ready(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await placed(world, "p", "a")
    await world.fleet.pause("a")
    took = await world.until(lambda: node_is(world, "a", "Unknown"))
    assert 45 <= took <= 62
    await world.sleep(1)
    node = await world.node("a")
    condition = condition_of(node, "Ready")
    assert condition is not None and condition["message"] == "Kubelet stopped posting node status."
    assert taints(node) == [("unreachable", "NoExecute"), ("unreachable", "NoSchedule")]
    assert not is_ready(await world.get(PODS, "p"))
    [event] = await world.events_about("a", "NodeNotReady")
    assert event["message"] == "Node a status is now: NodeNotReady"


async def test_pods_of_a_silent_node_are_evicted_after_five_minutes_and_stay_until_somebody_confirms(
    world: Cluster,
) -> None:
    await world.add_nodes("a", "b")
    await placed(world, "p", "a")
    await world.fleet.pause("a")

    async def evicted() -> bool:
        return is_terminating(await world.get(PODS, "p"))

    took = await world.until(evicted, within=600, every=1)
    assert 345 <= took <= 370
    target = condition_of(await world.get(PODS, "p"), "DisruptionTarget")
    assert target is not None
    assert (target["reason"], target["message"]) == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    await world.sleep(120)
    assert await world.find(PODS, "p") is not None  # only its kubelet can say that it has ended
    await world.fleet.resume("a")
    await world.until_gone(PODS, "p", within=60)


async def test_a_node_that_comes_back_in_time_keeps_its_pods(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await placed(world, "p", "a")
    uid = (await world.get(PODS, "p"))["metadata"]["uid"]
    await world.fleet.pause("a")
    await world.until(lambda: node_is(world, "a", "Unknown"))
    await world.sleep(30)
    await world.fleet.resume("a")
    await world.sleep(15)
    assert taints(await world.node("a")) == []
    await world.sleep(400)
    kept = await world.get(PODS, "p")
    assert kept["metadata"]["uid"] == uid and is_ready(kept)
    assert await world.events_about("p", "TaintManagerEviction")


async def test_when_every_node_falls_silent_nobody_is_evicted(world: Cluster) -> None:
    await world.add_nodes("a", "b", "c")
    for name in "abc":
        await placed(world, f"p{name}", name)
    for name in "abc":
        await world.fleet.pause(name)
    await world.sleep(900)
    for name in "abc":
        node = await world.node(name)
        assert taints(node) == [("unreachable", "NoSchedule")]
        assert not is_terminating(await world.get(PODS, f"p{name}"))


async def test_sick_nodes_are_emptied_one_after_another(world: Cluster) -> None:
    names = [f"n{number}" for number in range(6)]
    await world.add_nodes(*names)
    for name in names[:2]:
        await world.fleet.pause(name)

    async def emptied() -> bool:
        found = [await world.node(name) for name in names[:2]]
        return any(("unreachable", "NoExecute") in taints(node) for node in found)

    await world.until(emptied, within=90, every=1)
    found = [await world.node(name) for name in names[:2]]
    assert sum(("unreachable", "NoExecute") in taints(node) for node in found) == 1
    await world.sleep(16)
    found = [await world.node(name) for name in names[:2]]
    assert sum(("unreachable", "NoExecute") in taints(node) for node in found) == 2


async def test_a_taint_of_somebody_else_evicts_by_toleration(world: Cluster) -> None:
    await world.add_nodes("a")
    await placed(world, "at-once", "a")
    soon = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}
    await placed(world, "soon", "a", tolerations=[soon])
    await placed(world, "never", "a", tolerations=[{"key": "maintenance", "operator": "Exists"}])
    await world.patch(NODES, "a", {"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}})
    await world.until_gone(PODS, "at-once", within=3)
    assert 17 <= await world.until_gone(PODS, "soon", within=30) <= 23
    await world.sleep(100)
    assert await is_running(world, "never")


async def test_pods_of_a_vanished_node_are_failed_and_removed_within_a_minute(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await placed(world, "p", "a")
    await world.fleet.remove_node("a")
    assert await world.find(NODES, "a") is None
    await world.sleep(30)
    assert await world.find(PODS, "p") is not None
    took = await world.until_gone(PODS, "p", within=60)
    assert took <= 35


async def test_pods_of_a_node_that_returns_under_its_name_are_not_collected(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await placed(world, "p", "a")
    await world.fleet.remove_node("a")
    await world.sleep(25)
    await world.fleet.add_node("a", NodeTemplate())
    await world.sleep(120)
    assert await world.find(PODS, "p") is not None


async def test_a_cluster_of_ready_nodes_is_not_written_to(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await world.sleep(30)
    versions = [(await world.node(name))["metadata"]["resourceVersion"] for name in "ab"]
    await world.sleep(200)
    assert [(await world.node(name))["metadata"]["resourceVersion"] for name in "ab"] == versions
