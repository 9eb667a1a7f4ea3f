"""The scheduler in a cluster: it binds, explains, looks again when it may help, and does not spin."""

from typing import Any

from drydock.actors.kubelet.machine import NodeTemplate
from drydock.actors.machinery.objects import condition_is_true, condition_of
from hawser.errors import ObjectNotFound
from hawser.resources import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, PRIORITYCLASSES
from packages.drydock.tests.actors.cluster import Cluster, pod, script

Object = dict[str, Any]
SMALL = NodeTemplate(capacity={"cpu": "2", "memory": "4Gi", "ephemeral-storage": "10Gi", "pods": "10"})


def asking(name: str, cpu: str = "1", **spec: Any) -> Object:
    body = pod(name, **spec)
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return body


async def running(cluster: Cluster, *names: str) -> bool:
    pods = [await cluster.get(PODS, name) for name in names]
    return all(one["status"].get("phase") == "Running" for one in pods)


async def test_a_pod_is_bound_runs_and_an_event_tells_of_it(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(PODS, pod("p"))
    await world.until(lambda: running(world, "p"))
    found = await world.get(PODS, "p")
    assert found["spec"]["nodeName"] == "a"
    assert condition_is_true(found, "PodScheduled")
    [event] = await world.events_about("p", "Scheduled")
    assert (event["message"], event["reportingComponent"]) == (
        "Successfully assigned default/p to a",
        "default-scheduler",
    )


async def test_a_pod_that_fits_nowhere_says_why_and_is_placed_when_a_node_comes(world: Cluster) -> None:
    await world.create(PODS, asking("p", "4"))
    await world.sleep(1)
    condition = condition_of(await world.get(PODS, "p"), "PodScheduled")
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert condition["message"] == "no nodes available to schedule pods"
    await world.add_nodes("small", template=SMALL)
    await world.sleep(20)
    condition = condition_of(await world.get(PODS, "p"), "PodScheduled")
    assert (
        condition is not None and "1 Insufficient cpu" not in condition["message"]
    )  # a node that cannot help is no news
    await world.add_nodes("large")
    assert await world.until(lambda: running(world, "p"), within=20) < 15


async def test_a_waiting_pod_costs_nothing_while_nothing_changes(world: Cluster) -> None:
    await world.add_nodes("small", template=SMALL)
    await world.create(PODS, asking("p", "4"))
    await world.sleep(2)
    before = dict(world.counts)
    await world.sleep(290)
    assert world.counts.get("POST events") == before.get("POST events")
    assert world.counts.get("PATCH pods") == before.get("PATCH pods")
    await world.sleep(60)  # every five minutes it is looked at again
    [event] = await world.events_about("p", "FailedScheduling")
    assert event["series"]["count"] == 2


async def test_room_that_a_pod_leaves_goes_to_the_one_that_waits(world: Cluster) -> None:
    await world.add_nodes("a", template=SMALL)
    await world.create(PODS, asking("first", "2"))
    await world.until(lambda: running(world, "first"))
    await world.create(PODS, asking("second", "2"))
    await world.sleep(5)
    assert "nodeName" not in (await world.get(PODS, "second"))["spec"]
    await world.delete(PODS, "first")
    await world.until(lambda: running(world, "second"), within=20)


async def test_a_pod_that_is_deleted_just_when_its_turn_comes_hands_it_on(world: Cluster) -> None:
    await world.add_nodes("a", template=SMALL)
    await world.create(PODS, asking("first", "2"))
    await world.until(lambda: running(world, "first"))
    await world.create(PODS, asking("next", "2"))
    await world.create(PODS, asking("after", "2"))
    await world.sleep(0.3)
    await world.delete(PODS, "first", grace_seconds=0)
    await world.sleep(0.3)  # the next one waits for the end of its back-off
    assert "nodeName" not in (await world.get(PODS, "next"))["spec"]
    await world.delete(PODS, "next", grace_seconds=0)
    assert await world.until(lambda: running(world, "after"), within=20) < 5


async def test_many_waiting_pods_of_one_shape_are_all_placed_when_room_comes(world: Cluster) -> None:
    for number in range(20):
        await world.create(PODS, asking(f"p{number}"))
    await world.sleep(5)
    await world.add_nodes(*(f"n{number}" for number in range(10)), template=SMALL)
    await world.until(lambda: running(world, *(f"p{number}" for number in range(20))), within=60)
    per_node: dict[str, int] = {}
    for one in await world.pods():
        per_node[one["spec"]["nodeName"]] = per_node.get(one["spec"]["nodeName"], 0) + 1
    assert set(per_node.values()) == {2}


async def test_uncordoning_a_node_lets_pods_in(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.patch(NODES, "a", {"spec": {"unschedulable": True}})
    await world.sleep(1)
    await world.create(PODS, pod("p"))
    await world.sleep(5)
    condition = condition_of(await world.get(PODS, "p"), "PodScheduled")
    assert condition is not None and "1 node(s) were unschedulable" in condition["message"]
    node = await world.node("a")
    assert [one["key"] for one in node["spec"]["taints"]] == ["node.kubernetes.io/unschedulable"]
    await world.patch(NODES, "a", {"spec": {"unschedulable": None}})
    await world.until(lambda: running(world, "p"), within=20)
    assert not (await world.node("a"))["spec"].get("taints")


async def test_a_gated_pod_waits_until_its_gates_are_open(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(PODS, pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    await world.sleep(5)
    found = await world.get(PODS, "p")
    assert "nodeName" not in found["spec"]
    assert not await world.events_about("p", "FailedScheduling")
    assert world.counts["POST pods"] == 1  # nobody tried to bind it
    await world.client.json_patch(PODS.raw(), "p", [{"op": "remove", "path": "/spec/schedulingGates"}], "default")
    await world.until(lambda: running(world, "p"))


async def test_pods_of_other_schedulers_are_left_alone(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(PODS, pod("p", schedulerName="another"))
    await world.sleep(5)
    assert "nodeName" not in (await world.get(PODS, "p"))["spec"]


async def test_a_pod_pinned_to_a_node_by_name_waits_for_that_node(world: Cluster) -> None:
    await world.add_nodes("a")
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    await world.create(PODS, pod("p", affinity=affinity))
    await world.sleep(3)
    condition = condition_of(await world.get(PODS, "p"), "PodScheduled")
    assert condition is not None and "didn't satisfy plugin(s) [NodeAffinity]" in condition["message"]
    await world.add_nodes("b")
    await world.until(lambda: running(world, "p"), within=30)
    assert (await world.get(PODS, "p"))["spec"]["nodeName"] == "b"


async def test_an_important_pod_takes_the_place_of_a_lesser_one(world: Cluster) -> None:
    await world.add_nodes("a", template=SMALL)
    await world.create(PODS, asking("low", "2", annotations=script(stopSeconds=5)))
    await world.until(lambda: running(world, "low"))
    await world.create(PRIORITYCLASSES, {"metadata": {"name": "vip"}, "value": 1000})
    await world.create(PODS, asking("high", "2", priorityClassName="vip"))
    await world.sleep(1)
    waiting = await world.get(PODS, "high")
    assert waiting["status"]["nominatedNodeName"] == "a"
    victim = await world.get(PODS, "low")
    target = condition_of(victim, "DisruptionTarget")
    assert target is not None and target["reason"] == "PreemptionByScheduler"
    await world.until(lambda: running(world, "high"), within=30)
    assert await world.find(PODS, "low") is None


async def test_a_claim_and_its_volume_decide_where_a_pod_goes(world: Cluster) -> None:
    zone = "topology.kubernetes.io/zone"
    for name, place in (("a", "1"), ("b", "2")):
        await world.add_nodes(name, template=NodeTemplate(labels={zone: place}))
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    await world.create(PODS, pod("p", volumes=volumes))
    await world.sleep(3)
    condition = condition_of(await world.get(PODS, "p"), "PodScheduled")
    assert condition is not None and 'persistentvolumeclaim "data" not found' in condition["message"]
    size = {"storage": "1Gi"}
    volume = {"capacity": size, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    await world.create(PERSISTENTVOLUMES, {"metadata": {"name": "v", "labels": {zone: "2"}}, "spec": volume})
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": size}, "volumeName": "v"}
    await world.create(PERSISTENTVOLUMECLAIMS, {"metadata": {"name": "data"}, "spec": claim})

    async def bound() -> bool:
        return bool((await world.get(PODS, "p"))["spec"].get("nodeName"))

    await world.until(bound, within=30)
    assert (await world.get(PODS, "p"))["spec"]["nodeName"] == "b"


async def test_a_pod_deleted_while_it_waits_is_forgotten(world: Cluster) -> None:
    await world.create(PODS, pod("p"))
    await world.sleep(1)
    await world.delete(PODS, "p")
    await world.sleep(1)
    await world.add_nodes("a")
    await world.sleep(20)
    try:
        await world.get(PODS, "p")
        raise AssertionError("the pod should be gone")
    except ObjectNotFound:
        pass
