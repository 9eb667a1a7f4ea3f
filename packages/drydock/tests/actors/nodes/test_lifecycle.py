"""Nodes that fall silent, are tainted, emptied, or gone, in a cluster."""

from typing import Any

from drydock.actors.kubelet.machine import NodeTemplate
from drydock.actors.machinery.objects import condition_of, is_terminating
from drydock.actors.machinery.pods import is_ready
from hawser.resources import NODES, PODS
from packages.drydock.tests.actors.cluster import Cluster, in_cluster, pod

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


@in_cluster
async def test_a_silent_node_becomes_unknown_after_fifty_seconds_and_its_pods_not_ready(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    await placed(cluster, "p", "a")
    await cluster.fleet.pause("a")
    took = await cluster.until(lambda: node_is(cluster, "a", "Unknown"))
    assert 45 <= took <= 62
    await cluster.sleep(1)
    node = await cluster.node("a")
    condition = condition_of(node, "Ready")
    assert condition is not None and condition["message"] == "Kubelet stopped posting node status."
    assert taints(node) == [("unreachable", "NoExecute"), ("unreachable", "NoSchedule")]
    assert not is_ready(await cluster.get(PODS, "p"))
    [event] = await cluster.events_about("a", "NodeNotReady")
    assert event["message"] == "Node a status is now: NodeNotReady"


@in_cluster
async def test_pods_of_a_silent_node_are_evicted_after_five_minutes_and_stay_until_somebody_confirms(
    cluster: Cluster,
) -> None:
    await cluster.add_nodes("a", "b")
    await placed(cluster, "p", "a")
    await cluster.fleet.pause("a")

    async def evicted() -> bool:
        return is_terminating(await cluster.get(PODS, "p"))

    took = await cluster.until(evicted, within=600, every=1)
    assert 345 <= took <= 370
    target = condition_of(await cluster.get(PODS, "p"), "DisruptionTarget")
    assert target is not None
    assert (target["reason"], target["message"]) == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    await cluster.sleep(120)
    assert await cluster.find(PODS, "p") is not None  # only its kubelet can say that it has ended
    await cluster.fleet.resume("a")
    await cluster.until_gone(PODS, "p", within=60)


@in_cluster
async def test_a_node_that_comes_back_in_time_keeps_its_pods(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    await placed(cluster, "p", "a")
    uid = (await cluster.get(PODS, "p"))["metadata"]["uid"]
    await cluster.fleet.pause("a")
    await cluster.until(lambda: node_is(cluster, "a", "Unknown"))
    await cluster.sleep(30)
    await cluster.fleet.resume("a")
    await cluster.sleep(15)
    assert taints(await cluster.node("a")) == []
    await cluster.sleep(400)
    kept = await cluster.get(PODS, "p")
    assert kept["metadata"]["uid"] == uid and is_ready(kept)
    assert await cluster.events_about("p", "TaintManagerEviction")


@in_cluster
async def test_when_every_node_falls_silent_nobody_is_evicted(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b", "c")
    for name in "abc":
        await placed(cluster, f"p{name}", name)
    for name in "abc":
        await cluster.fleet.pause(name)
    await cluster.sleep(900)
    for name in "abc":
        node = await cluster.node(name)
        assert taints(node) == [("unreachable", "NoSchedule")]
        assert not is_terminating(await cluster.get(PODS, f"p{name}"))


@in_cluster
async def test_sick_nodes_are_emptied_one_after_another(cluster: Cluster) -> None:
    names = [f"n{number}" for number in range(6)]
    await cluster.add_nodes(*names)
    for name in names[:2]:
        await cluster.fleet.pause(name)

    async def emptied() -> bool:
        found = [await cluster.node(name) for name in names[:2]]
        return any(("unreachable", "NoExecute") in taints(node) for node in found)

    await cluster.until(emptied, within=90, every=1)
    found = [await cluster.node(name) for name in names[:2]]
    assert sum(("unreachable", "NoExecute") in taints(node) for node in found) == 1
    await cluster.sleep(16)
    found = [await cluster.node(name) for name in names[:2]]
    assert sum(("unreachable", "NoExecute") in taints(node) for node in found) == 2


@in_cluster
async def test_a_taint_of_somebody_else_evicts_by_toleration(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    await placed(cluster, "at-once", "a")
    soon = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}
    await placed(cluster, "soon", "a", tolerations=[soon])
    await placed(cluster, "never", "a", tolerations=[{"key": "maintenance", "operator": "Exists"}])
    await cluster.patch(NODES, "a", {"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}})
    await cluster.until_gone(PODS, "at-once", within=3)
    assert 17 <= await cluster.until_gone(PODS, "soon", within=30) <= 23
    await cluster.sleep(100)
    assert await is_running(cluster, "never")


@in_cluster
async def test_pods_of_a_vanished_node_are_failed_and_removed_within_a_minute(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    await placed(cluster, "p", "a")
    await cluster.fleet.remove_node("a")
    assert await cluster.find(NODES, "a") is None
    await cluster.sleep(30)
    assert await cluster.find(PODS, "p") is not None
    took = await cluster.until_gone(PODS, "p", within=60)
    assert took <= 35


@in_cluster
async def test_pods_of_a_node_that_returns_under_its_name_are_not_collected(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    await placed(cluster, "p", "a")
    await cluster.fleet.remove_node("a")
    await cluster.sleep(25)
    await cluster.fleet.add_node("a", NodeTemplate())
    await cluster.sleep(120)
    assert await cluster.find(PODS, "p") is not None


@in_cluster
async def test_a_cluster_of_ready_nodes_is_not_written_to(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    await cluster.sleep(30)
    versions = [(await cluster.node(name))["metadata"]["resourceVersion"] for name in "ab"]
    await cluster.sleep(200)
    assert [(await cluster.node(name))["metadata"]["resourceVersion"] for name in "ab"] == versions
