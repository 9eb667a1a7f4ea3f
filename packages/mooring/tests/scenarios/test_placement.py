"""Placement in a whole cluster: it follows the nodes, and the node pools of which no node is up."""

import pytest

from drydock import NodeTemplate
from hawser.resources import CRDS, NODES
from mooring.kinds.karpenter import NODEPOOLS

NODE_POOL_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "nodepools.karpenter.sh"},
    "spec": {
        "group": "karpenter.sh",
        "names": {"plural": "nodepools", "singular": "nodepool", "kind": "NodePool"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
            }
        ],
    },
}
BLAST = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "blast"},
    "spec": {"template": {"spec": {"taints": [{"key": "workload", "value": "blast", "effect": "NoSchedule"}]}}},
}


async def schedulable(world):
    conditions = (await world.status()).get("conditions") or ()
    return next((one for one in conditions if one["type"] == "Schedulable"), {"status": "Unknown", "message": ""})


@pytest.mark.world(nodes=1)
async def test_a_pool_without_a_node_gets_its_workers_as_soon_as_karpenter_could_make_one(world):
    replica = world.start()
    await world.pool(warm=1, max=2, placement={"nodePool": "blast"})
    await world.clock.sleep(5)
    assert not replica.mooring.readiness.obstacles, "a cluster without Karpenter is a cluster like any other"
    assert "no node belongs to a pool named 'blast'" in (await schedulable(world))["message"]
    assert await world.pods() == []

    await world.client.create(CRDS, NODE_POOL_CRD)
    await world.client.create(NODEPOOLS, BLAST)
    await world.clock.sleep(70)
    (waiting,) = await world.pods()
    assert waiting.spec.node_selector == {"karpenter.sh/nodepool": "blast"}

    taint = {"key": "workload", "value": "blast", "effect": "NoSchedule"}
    await world.sandbox.fleet.add_node("made", NodeTemplate({"karpenter.sh/nodepool": "blast"}, taints=(taint,)))
    await world.until_idle(1)
    (running,) = await world.pods()
    assert (running.metadata.uid, running.spec.node_name) == (waiting.metadata.uid, "made")


@pytest.mark.world(nodes=1)
async def test_workers_that_wait_on_old_terms_are_made_again_when_the_taints_of_their_nodes_change(world):
    world.start()
    labels = {"metadata": {"labels": {"workload": "blast"}}}
    await world.client.merge_patch(NODES, "node-1", {**labels, "spec": {"unschedulable": True}})
    await world.pool(warm=1, max=2, placement={"nodePool": "blast"})
    await world.clock.sleep(10)
    (waiting,) = await world.pods()
    taint = {"key": "workload", "value": "blast", "effect": "NoSchedule"}
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": None, "taints": [taint]}})
    await world.until_idle(1)

    async def replaced():
        return [pod.metadata.uid for pod in await world.pods()] != [waiting.metadata.uid] and all(
            pod.ready for pod in await world.pods()
        )

    await world.until(replaced, 60, "the waiting worker gives way to one that runs")


@pytest.mark.world(nodes=2)
async def test_a_pool_that_no_node_could_ever_take_says_what_would_help(world):
    world.start()
    big = {"spec": {"containers": [{"name": "m", "image": "w", "resources": {"requests": {"cpu": "64"}}}]}}
    await world.pool(warm=0, max=2, template=big)
    await world.clock.sleep(5)
    told = await schedulable(world)
    assert (told["status"], told["reason"]) == ("False", "NoNodeFits")
    assert "0/2 nodes are available: 2 Insufficient cpu." in told["message"]
    assert "Fix: needs 64 CPU, largest free 8 CPU on node node-1" in told["message"]
    small = {"spec": {"containers": [{"name": "m", "image": "w"}]}}
    await world.change({"template": small})
    await world.clock.sleep(5)
    assert (await schedulable(world))["status"] == "True"
