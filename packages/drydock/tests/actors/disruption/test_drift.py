"""The ground moves: nodes replaced, rolled, stopped, lost, flapping, while pods run on them."""

import asyncio
from typing import Any

from drydock.actors.disruption.drain import DrainPolicy
from drydock.actors.disruption.drift import Drift
from drydock.actors.kubelet.machine import NodeTemplate
from drydock.actors.machinery.objects import condition_of, is_terminating
from drydock.actors.machinery.pods import is_ready
from hawser.resources import BUDGETS, DEPLOYMENTS, NODES, PODS
from packages.drydock.tests.actors.cluster import Cluster, deployment, pod, script

Object = dict[str, Any]
QUICK = DrainPolicy(retry_seconds=1.0, deadline_seconds=60.0)


def drift(cluster: Cluster) -> Drift:
    return Drift(cluster.client, cluster.fleet, cluster.clock, cluster.entropy)


async def node_names(cluster: Cluster) -> list[str]:
    return sorted(node["metadata"]["name"] for node in await cluster.items(NODES))


async def ready_replicas(cluster: Cluster, name: str = "web") -> int:
    return int((await cluster.get(DEPLOYMENTS, name))["status"].get("readyReplicas", 0))


async def test_a_replaced_node_is_tainted_drained_and_followed_by_one_like_it(world: Cluster) -> None:
    template = NodeTemplate(
        labels={"karpenter.sh/nodepool": "gpu"}, capacity={"cpu": "4", "memory": "8Gi", "pods": "9"}
    )
    await world.add_nodes("a", template=template)
    await world.add_nodes("b")
    await world.create(PODS, pod("p", nodeSelector={"karpenter.sh/nodepool": "gpu"}))
    await world.sleep(2)
    replaced = await drift(world).replace("a", QUICK)
    assert replaced.drain.evicted == [("default", "p")] and replaced.drain.forced == []
    assert replaced.new.startswith("a-r")
    assert await node_names(world) == sorted(["b", replaced.new])
    node = await world.node(replaced.new)
    assert node["metadata"]["labels"]["karpenter.sh/nodepool"] == "gpu"
    assert node["status"]["capacity"]["cpu"] == "4"
    await world.sleep(5)
    assert not (await world.node(replaced.new))["spec"].get("taints")


async def test_a_node_replaced_under_its_own_name_is_another_node(world: Cluster) -> None:
    await world.add_nodes("a")
    before = (await world.node("a"))["metadata"]["uid"]
    replaced = await drift(world).replace("a", QUICK, naming="same")
    assert replaced.new == "a"
    assert (await world.node("a"))["metadata"]["uid"] != before


async def test_a_budget_makes_a_drain_wait_and_the_deadline_ends_the_wait(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await world.create(PODS, pod("p", labels={"app": "x"}, nodeSelector={"kubernetes.io/hostname": "a"}))
    selector = {"matchLabels": {"app": "x"}}
    await world.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": selector, "minAvailable": 1}})
    await world.sleep(3)
    report = await drift(world).drain("a", QUICK)
    assert report.evicted == [] and report.forced == [("default", "p")]
    assert report.refusals >= 10 and 60 <= report.seconds <= 63
    assert await world.find(PODS, "p") is None
    assert await world.find(NODES, "a") is not None


async def test_a_drain_taints_again_a_node_that_a_restored_cluster_shows_without_its_taint(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await world.create(DEPLOYMENTS, deployment("web", 4))
    selector = {"matchLabels": {"app": "web"}}
    await world.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": selector, "maxUnavailable": 1}})
    await world.sleep(5)
    task = asyncio.create_task(drift(world).drain("a", QUICK))
    await world.sleep(0.5)
    await world.client.merge_patch(NODES, "a", {"spec": {"taints": None}})
    await world.sleep(1.5)
    assert [taint["key"] for taint in (await world.node("a"))["spec"].get("taints") or ()] == ["karpenter.sh/disrupted"]
    await task


async def test_a_drain_goes_on_when_the_budget_allows_it(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await world.create(DEPLOYMENTS, deployment("web", 4))
    selector = {"matchLabels": {"app": "web"}}
    await world.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": selector, "maxUnavailable": 1}})
    await world.sleep(5)
    lowest = [4]

    async def watch() -> bool:
        lowest[0] = min(lowest[0], await ready_replicas(world))
        return False

    task = asyncio.create_task(drift(world).drain("a", QUICK))
    while not task.done():
        await watch()
        await world.sleep(0.2)
    assert task.result().forced == [] and lowest[0] >= 3
    nodes = {one["spec"]["nodeName"] for one in await world.pods() if not is_terminating(one)}
    assert nodes == {"b"}


async def test_a_protected_pod_is_left_alone_until_the_deadline(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    annotations = {"karpenter.sh/do-not-disrupt": "true"}
    await world.create(PODS, pod("p", annotations=annotations, nodeSelector={"kubernetes.io/hostname": "a"}))
    await world.sleep(2)
    patient = drift(world).drain("a", DrainPolicy(retry_seconds=1, deadline_seconds=None))

    task = asyncio.create_task(patient)
    await world.sleep(300)
    assert not task.done() and not is_terminating(await world.get(PODS, "p"))
    await world.patch(PODS, "p", {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": None}}})
    report = await task
    assert report.evicted == [("default", "p")]


async def test_rolling_all_nodes_leaves_a_service_up(world: Cluster) -> None:
    names = ["a", "b", "c", "d"]
    await world.add_nodes(*names)
    await world.create(DEPLOYMENTS, deployment("web", 6))
    selector = {"matchLabels": {"app": "web"}}
    await world.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": selector, "minAvailable": 4}})
    await world.sleep(5)

    task = asyncio.create_task(drift(world).roll(names, QUICK, at_once=2, surge=True, pause_seconds=5))
    while not task.done():
        assert await ready_replicas(world) >= 4
        await world.sleep(0.5)
    replaced = task.result()
    assert [one.old for one in replaced] == names
    assert await node_names(world) == sorted(one.new for one in replaced)
    await world.sleep(10)
    assert await ready_replicas(world) == 6


async def test_a_cluster_stopped_overnight_comes_back_under_the_same_names_with_new_uids(world: Cluster) -> None:
    await world.add_nodes("a", "b", "c")
    await world.create(DEPLOYMENTS, deployment("web", 3))
    await world.sleep(5)
    uids = {name: (await world.node(name))["metadata"]["uid"] for name in "abc"}
    pods = {one["metadata"]["uid"] for one in await world.pods()}
    begin = world.clock.monotonic()
    returned = await drift(world).stop_start(["a", "b", "c"], down_seconds=600, return_seconds=60)
    assert returned == {"a": "a", "b": "b", "c": "c"}
    assert 655 <= world.clock.monotonic() - begin <= 670
    assert not {(await world.node(name))["metadata"]["uid"] for name in "abc"} & set(uids.values())
    await world.sleep(30)
    assert await ready_replicas(world) == 3
    assert not pods & {one["metadata"]["uid"] for one in await world.pods()}


async def test_a_cluster_may_also_come_back_under_new_names(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    returned = await drift(world).stop_start(["a", "b"], naming="new", down_seconds=30, return_seconds=10)
    assert await node_names(world) == sorted(returned.values())
    assert not {"a", "b"} & set(returned.values())


async def test_a_spot_node_gives_notice_and_goes(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    here = {"kubernetes.io/hostname": "a"}
    await world.create(PODS, pod("quick", nodeSelector=here))
    await world.create(
        PODS, pod("slow", nodeSelector=here, annotations=script(stopSeconds=500), terminationGracePeriodSeconds=600)
    )
    await world.sleep(2)
    begin = world.clock.monotonic()
    report = await drift(world).lose("a", notice_seconds=120)
    assert world.clock.monotonic() - begin == 120
    assert sorted(report.evicted) == [("default", "quick"), ("default", "slow")]
    assert await world.find(NODES, "a") is None
    assert await world.find(PODS, "quick") is None and await world.find(PODS, "slow") is not None
    await world.until_gone(PODS, "slow", within=90)


async def test_a_node_may_vanish_while_its_object_lingers(world: Cluster) -> None:
    await world.add_nodes("a", "b")

    task = asyncio.create_task(drift(world).lose("a", lingers_seconds=200))
    await world.sleep(100)
    condition = condition_of(await world.node("a"), "Ready")
    assert condition is not None and condition["status"] == "Unknown"
    await task
    assert await node_names(world) == ["b"]


async def test_a_flapping_node_is_ready_in_between(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await world.create(PODS, pod("p", nodeSelector={"kubernetes.io/hostname": "a"}))
    await world.sleep(2)
    await drift(world).flap("a", down_seconds=70, up_seconds=40, times=3)
    condition = condition_of(await world.node("a"), "Ready")
    assert condition is not None and condition["status"] == "True"
    assert is_ready(await world.get(PODS, "p"))
    changes = await world.events_about("a", "NodeNotReady")
    assert sum(event["count"] for event in changes) == 3
