"""Room that placeholder pods keep on nodes, where a node has to come first."""

import pytest

from drydock import NodeTemplate, Script
from hawser.resources import NODES, PODS, PRIORITYCLASSES
from mooring.kinds.resources import WORKERPOOLS
from mooring.model import names
from mooring.model.claim_request import ClaimRequest
from mooring.model.headroom import USUAL_CLASS
from packages.mooring.tests.scenarios.harbour import NAMESPACE, harbour, play

START_SECONDS = 10.0
NODE_SECONDS = 90.0  # that a new node takes
HEADROOM = 3  # more claims than idle workers
TEMPLATE = {
    "spec": {
        "containers": [{"name": "main", "image": "worker", "resources": {"requests": {"cpu": "7", "memory": "1Gi"}}}]
    }
}
DEMAND = {"wait": "500ms", "min": 1, "scaleDownAfter": "120s"}
world_with_one_node = pytest.mark.world(nodes=1, scripts=lambda _: Script(start_seconds=START_SECONDS))


async def autoscale(world):
    """An autoscaler: a node for each pod that finds none, and no node without pods for a minute."""
    made, empty = 0, {}
    while True:
        await world.clock.sleep(5.0)
        pods = await world.pods()
        if pending := [pod for pod in pods if not pod.spec.node_name and not pod.metadata.deletion_timestamp]:
            await world.clock.sleep(NODE_SECONDS)
            for _ in pending:
                made += 1
                await world.sandbox.fleet.add_node(f"made-{made}", NodeTemplate())
            continue
        used = {pod.spec.node_name for pod in pods}
        for node in (await world.client.list(NODES)).items:
            name = node.metadata.name
            empty[name] = 0 if name in used else empty.get(name, 0) + 1
            if name.startswith("made-") and empty[name] >= 12:
                await world.client.delete(NODES, name)


async def placeholders(world):
    return [pod for pod in await world.pods() if names.HEADROOM in pod.metadata.labels]


async def use(world, replica, every, count, hold=20.0):
    """Claims at a steady pace, each held for a while; how long each waited."""
    desk, waits = replica.mooring.claims.desk, []

    async def one():
        began = world.clock.monotonic()
        claim = await desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("acme", ttl_seconds=600, wait=500.0))
        waits.append(world.clock.monotonic() - began)
        await world.clock.sleep(hold)
        await desk.release(claim.id, claim.epoch)

    tasks = []
    for _ in range(count):
        tasks.append(world.enter(one()))
        await world.clock.sleep(every)
    for task in tasks:
        await task
    return waits


async def settle(world, **demand):
    """A pool in use, whose nodes come and go."""
    replica = world.start("a")
    world.enter(autoscale(world))
    await world.pool("elastic", max=30, template=TEMPLATE, demand={**DEMAND, **demand})
    await world.until_idle(1, name="elastic")
    await use(world, replica, every=60.0, count=12)
    return replica


async def worst_wait_of_a_burst(headroom):
    demand = {"headroom": {"workers": HEADROOM}} if headroom else {}
    async with harbour(nodes=1, scripts=lambda _: Script(start_seconds=START_SECONDS)) as world:
        replica = await settle(world, **demand)
        await world.clock.sleep(60)
        claims = (await world.status("elastic"))["idle"] + HEADROOM
        return max(await use(world, replica, every=0.1, count=claims, hold=300.0))


def test_a_claim_waits_for_a_start_and_not_for_a_node_where_headroom_is_kept():
    without = play(lambda: worst_wait_of_a_burst(headroom=False))
    with_headroom = play(lambda: worst_wait_of_a_burst(headroom=True))
    assert without > NODE_SECONDS, "a node had to come first"
    assert with_headroom < START_SECONDS + 10.0


@world_with_one_node
async def test_placeholders_are_shown_and_are_no_workers_and_go_when_no_claim_is_expected(world):
    await settle(world, headroom={"workers": 2})
    await world.clock.sleep(60)
    found = await placeholders(world)
    assert len(found) == 2
    assert all(names.POOL not in pod.metadata.labels and pod.spec.priority < 0 for pod in found)
    status = await world.status("elastic")
    assert status["demand"]["headroom"] == {
        "wanted": 2,
        "holding": 2,
        "waiting": 0,
        "because": "room for 2 more workers is kept on nodes",
    }
    workers = [pod for pod in await world.pods() if names.POOL in pod.metadata.labels]
    assert status["replicas"] == len([pod for pod in workers if not pod.metadata.deletion_timestamp])
    kept = next(one for one in status["conditions"] if one["type"] == "HeadroomKept")
    assert (kept["status"], kept["reason"]) == ("True", "RoomKept")

    await world.clock.sleep(4000)
    assert await placeholders(world) == []
    made = {node.metadata.name for node in (await world.client.list(NODES)).items} - {"node-1"}
    assert made <= {pod.spec.node_name for pod in await world.pods()}, "nothing holds an empty node back"


@world_with_one_node
async def test_placeholders_go_when_headroom_is_no_longer_asked_for_and_with_their_pool(world):
    await settle(world, headroom={"workers": 2})
    await world.change({"demand": {"headroom": {"workers": 1}}}, "elastic")
    await world.clock.sleep(80)
    assert len(await placeholders(world)) == 1
    await world.change({"demand": {"headroom": None}}, "elastic")
    await world.clock.sleep(80)
    assert await placeholders(world) == []
    assert "headroom" not in (await world.status("elastic"))["demand"]

    await world.change({"demand": {"headroom": {"workers": 2}}}, "elastic")
    await world.clock.sleep(30)
    assert len(await placeholders(world)) == 2
    await world.client.delete(WORKERPOOLS, "elastic", NAMESPACE)
    await world.clock.sleep(30)
    assert await placeholders(world) == []


@world_with_one_node
async def test_a_class_that_workers_would_not_preempt_or_that_is_missing_is_refused_with_the_reason(world):
    ordinary = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 5}
    await world.client.create(PRIORITYCLASSES, {**ordinary, "metadata": {"name": "ordinary"}})
    await settle(world, headroom={"workers": 2, "priorityClassName": "ordinary"})
    status = await world.status("elastic")
    kept = next(one for one in status["conditions"] if one["type"] == "HeadroomKept")
    assert (kept["status"], kept["reason"]) == ("False", "CreateFailed")
    assert "has the value 5, so workers would not preempt" in kept["message"]
    assert await placeholders(world) == []

    await world.change({"demand": {"headroom": {"priorityClassName": "absent"}}}, "elastic")
    await world.clock.sleep(90)
    status = await world.status("elastic")
    assert "there is no PriorityClass absent" in status["demand"]["headroom"]["because"]

    await world.change({"demand": {"headroom": {"priorityClassName": USUAL_CLASS}}}, "elastic")
    await use(world, world.replicas[0], every=20.0, count=5)
    assert len(await placeholders(world)) == 2


@world_with_one_node
async def test_an_evicted_or_ended_placeholder_is_replaced(world):
    await settle(world, headroom={"workers": 1})
    (first,) = await placeholders(world)
    await world.client.delete(PODS, first.metadata.name, NAMESPACE)
    await world.clock.sleep(30)
    (second,) = await placeholders(world)
    assert second.metadata.uid != first.metadata.uid
    await world.client.merge_patch(
        PODS, second.metadata.name, {"status": {"phase": "Failed"}}, NAMESPACE, subresource="status"
    )
    await use(world, world.replicas[0], every=20.0, count=3)
    (third,) = await placeholders(world)
    assert third.metadata.uid != second.metadata.uid
