"""The ground moves: nodes replaced, rolled, stopped, lost, flapping, while pods run on them."""

import asyncio
from typing import Any

from drydock.actors.disruption.drain import DrainPolicy
from drydock.actors.disruption.drift import Drift
from drydock.actors.kubelet.machine import NodeTemplate
from drydock.actors.machinery.objects import condition_of, is_terminating
from drydock.actors.machinery.pods import is_ready
from hawser.resources import BUDGETS, DEPLOYMENTS, NODES, PODS
from packages.drydock.tests.actors.cluster import Cluster, deployment, in_cluster, pod, script

Object = dict[str, Any]
QUICK = DrainPolicy(retry_seconds=1.0, deadline_seconds=60.0)


def drift(cluster: Cluster) -> Drift:
    return Drift(cluster.client, cluster.fleet, cluster.clock, cluster.entropy)


async def node_names(cluster: Cluster) -> list[str]:
    return sorted(node["metadata"]["name"] for node in await cluster.items(NODES))


async def ready_replicas(cluster: Cluster, name: str = "web") -> int:
    return int((await cluster.get(DEPLOYMENTS, name))["status"].get("readyReplicas", 0))


@in_cluster
async def test_a_replaced_node_is_tainted_drained_and_followed_by_one_like_it(cluster: Cluster) -> None:
    template = NodeTemplate(
        labels={"karpenter.sh/nodepool": "gpu"}, capacity={"cpu": "4", "memory": "8Gi", "pods": "9"}
    )
    await cluster.add_nodes("a", template=template)
    await cluster.add_nodes("b")
    await cluster.create(PODS, pod("p", nodeSelector={"karpenter.sh/nodepool": "gpu"}))
    await cluster.sleep(2)
    replaced = await drift(cluster).replace("a", QUICK)
    assert replaced.drain.evicted == [("default", "p")] and replaced.drain.forced == []
    assert replaced.new.startswith("a-r")
    assert await node_names(cluster) == sorted(["b", replaced.new])
    node = await cluster.node(replaced.new)
    assert node["metadata"]["labels"]["karpenter.sh/nodepool"] == "gpu"
    assert node["status"]["capacity"]["cpu"] == "4"
    await cluster.sleep(5)
    assert not (await cluster.node(replaced.new))["spec"].get("taints")


@in_cluster
async def test_a_node_replaced_under_its_own_name_is_another_node(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    before = (await cluster.node("a"))["metadata"]["uid"]
    replaced = await drift(cluster).replace("a", QUICK, naming="same")
    assert replaced.new == "a"
    assert (await cluster.node("a"))["metadata"]["uid"] != before


@in_cluster
async def test_a_budget_makes_a_drain_wait_and_the_deadline_ends_the_wait(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    await cluster.create(PODS, pod("p", labels={"app": "x"}, nodeSelector={"kubernetes.io/hostname": "a"}))
    selector = {"matchLabels": {"app": "x"}}
    await cluster.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": selector, "minAvailable": 1}})
    await cluster.sleep(3)
    report = await drift(cluster).drain("a", QUICK)
    assert report.evicted == [] and report.forced == [("default", "p")]
    assert report.refusals >= 10 and 60 <= report.seconds <= 63
    assert await cluster.find(PODS, "p") is None
    assert await cluster.find(NODES, "a") is not None


@in_cluster
async def test_a_drain_goes_on_when_the_budget_allows_it(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    await cluster.create(DEPLOYMENTS, deployment("web", 4))
    selector = {"matchLabels": {"app": "web"}}
    await cluster.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": selector, "maxUnavailable": 1}})
    await cluster.sleep(5)
    lowest = [4]

    async def watch() -> bool:
        lowest[0] = min(lowest[0], await ready_replicas(cluster))
        return False

    task = asyncio.create_task(drift(cluster).drain("a", QUICK))
    while not task.done():
        await watch()
        await cluster.sleep(0.2)
    assert task.result().forced == [] and lowest[0] >= 3
    nodes = {one["spec"]["nodeName"] for one in await cluster.pods() if not is_terminating(one)}
    assert nodes == {"b"}


@in_cluster
async def test_a_protected_pod_is_left_alone_until_the_deadline(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    annotations = {"karpenter.sh/do-not-disrupt": "true"}
    await cluster.create(PODS, pod("p", annotations=annotations, nodeSelector={"kubernetes.io/hostname": "a"}))
    await cluster.sleep(2)
    patient = drift(cluster).drain("a", DrainPolicy(retry_seconds=1, deadline_seconds=None))

    task = asyncio.create_task(patient)
    await cluster.sleep(300)
    assert not task.done() and not is_terminating(await cluster.get(PODS, "p"))
    await cluster.patch(PODS, "p", {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": None}}})
    report = await task
    assert report.evicted == [("default", "p")]


@in_cluster
async def test_rolling_all_nodes_leaves_a_service_up(cluster: Cluster) -> None:
    names = ["a", "b", "c", "d"]
    await cluster.add_nodes(*names)
    await cluster.create(DEPLOYMENTS, deployment("web", 6))
    selector = {"matchLabels": {"app": "web"}}
    await cluster.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": selector, "minAvailable": 4}})
    await cluster.sleep(5)

    task = asyncio.create_task(drift(cluster).roll(names, QUICK, at_once=2, surge=True, pause_seconds=5))
    while not task.done():
        assert await ready_replicas(cluster) >= 4
        await cluster.sleep(0.5)
    replaced = task.result()
    assert [one.old for one in replaced] == names
    assert await node_names(cluster) == sorted(one.new for one in replaced)
    await cluster.sleep(10)
    assert await ready_replicas(cluster) == 6


@in_cluster
async def test_a_cluster_stopped_overnight_comes_back_under_the_same_names_with_new_uids(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b", "c")
    await cluster.create(DEPLOYMENTS, deployment("web", 3))
    await cluster.sleep(5)
    uids = {name: (await cluster.node(name))["metadata"]["uid"] for name in "abc"}
    pods = {one["metadata"]["uid"] for one in await cluster.pods()}
    begin = cluster.clock.monotonic()
    returned = await drift(cluster).stop_start(["a", "b", "c"], down_seconds=600, return_seconds=60)
    assert returned == {"a": "a", "b": "b", "c": "c"}
    assert 655 <= cluster.clock.monotonic() - begin <= 670
    assert not {(await cluster.node(name))["metadata"]["uid"] for name in "abc"} & set(uids.values())
    await cluster.sleep(30)
    assert await ready_replicas(cluster) == 3
    assert not pods & {one["metadata"]["uid"] for one in await cluster.pods()}


@in_cluster
async def test_a_cluster_may_also_come_back_under_new_names(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    returned = await drift(cluster).stop_start(["a", "b"], naming="new", down_seconds=30, return_seconds=10)
    assert await node_names(cluster) == sorted(returned.values())
    assert not {"a", "b"} & set(returned.values())


@in_cluster
async def test_a_spot_node_gives_notice_and_goes(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    here = {"kubernetes.io/hostname": "a"}
    await cluster.create(PODS, pod("quick", nodeSelector=here))
    await cluster.create(
        PODS, pod("slow", nodeSelector=here, annotations=script(stopSeconds=500), terminationGracePeriodSeconds=600)
    )
    await cluster.sleep(2)
    begin = cluster.clock.monotonic()
    report = await drift(cluster).lose("a", notice_seconds=120)
    assert cluster.clock.monotonic() - begin == 120
    assert sorted(report.evicted) == [("default", "quick"), ("default", "slow")]
    assert await cluster.find(NODES, "a") is None
    assert await cluster.find(PODS, "quick") is None and await cluster.find(PODS, "slow") is not None
    await cluster.until_gone(PODS, "slow", within=90)


@in_cluster
async def test_a_node_may_vanish_while_its_object_lingers(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")

    task = asyncio.create_task(drift(cluster).lose("a", lingers_seconds=200))
    await cluster.sleep(100)
    condition = condition_of(await cluster.node("a"), "Ready")
    assert condition is not None and condition["status"] == "Unknown"
    await task
    assert await node_names(cluster) == ["b"]


@in_cluster
async def test_a_flapping_node_is_ready_in_between(cluster: Cluster) -> None:
    await cluster.add_nodes("a", "b")
    await cluster.create(PODS, pod("p", nodeSelector={"kubernetes.io/hostname": "a"}))
    await cluster.sleep(2)
    await drift(cluster).flap("a", down_seconds=70, up_seconds=40, times=3)
    condition = condition_of(await cluster.node("a"), "Ready")
    assert condition is not None and condition["status"] == "True"
    assert is_ready(await cluster.get(PODS, "p"))
    changes = await cluster.events_about("a", "NodeNotReady")
    assert sum(event["count"] for event in changes) == 3
