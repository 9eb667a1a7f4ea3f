"""Where pods go, where they do not, and what the scheduler says about it."""

import pytest

from hawser.resources import NODES, PODS
from packages.drydock.tests.conformance.world import GPU_TAINT, HostedCluster, Probe

TOLERATES = [{"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}]


def _affinity(**term: object) -> dict[str, object]:
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _pin(*names: str) -> dict[str, object]:
    return _affinity(matchFields=[{"key": "metadata.name", "operator": "In", "values": list(names)}])


FITS = {
    "a selector": ({"nodeSelector": {"disk": "hdd"}}, "plain-2"),
    "a pin by matchFields": ({"affinity": _pin("plain-1")}, "plain-1"),
    "a toleration and a selector": ({"nodeSelector": {"accelerator": "a100"}, "tolerations": TOLERATES}, "gpu-1"),
    "an expression In": (
        {"affinity": _affinity(matchExpressions=[{"key": "disk", "operator": "In", "values": ["ssd", "tape"]}])},
        "plain-1",
    ),
    "an expression NotIn": (
        {"affinity": _affinity(matchExpressions=[{"key": "disk", "operator": "NotIn", "values": ["ssd"]}])},
        "plain-2",
    ),
    "an expression Exists": (
        {
            "affinity": _affinity(matchExpressions=[{"key": "accelerator", "operator": "Exists"}]),
            "tolerations": [{"operator": "Exists"}],
        },
        "gpu-1",
    ),
    "a node's name": ({"nodeName": "plain-2"}, "plain-2"),
}


@pytest.mark.parametrize("case", FITS)
def test_a_pod_lands_where_it_must(cluster: HostedCluster, case: str) -> None:
    spec, node = FITS[case]

    async def probe(p: Probe) -> None:
        await p.pod(**spec)
        assert (await p.until_running())["spec"]["nodeName"] == node

    cluster.run(probe)


HELD = {
    "taint": (
        {"nodeSelector": {"accelerator": "a100"}},
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), "
        "2 node(s) didn't match Pod's node affinity/selector.",
    ),
    "selector": (
        {"nodeSelector": {"disk": "none"}, "tolerations": TOLERATES},
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
    ),
    "cpu": (
        {"container": {"resources": {"requests": {"cpu": "100"}}}, "tolerations": TOLERATES},
        "0/3 nodes are available: 3 Insufficient cpu.",
    ),
    "memory": (
        {"container": {"resources": {"requests": {"memory": "1000Gi"}}}, "tolerations": TOLERATES},
        "0/3 nodes are available: 3 Insufficient memory.",
    ),
    "a device nobody has": (
        {"container": {"resources": {"limits": {"example.com/gpu": "1"}}}, "tolerations": TOLERATES},
        "0/3 nodes are available: 3 Insufficient example.com/gpu.",
    ),
    "a pin to a node that is gone": (
        {"affinity": _pin("replaced-node"), "tolerations": TOLERATES},
        "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity].",
    ),
}


@pytest.mark.parametrize("case", HELD)
def test_a_pod_that_fits_nowhere_is_told_why(cluster: HostedCluster, case: str) -> None:
    spec, message = HELD[case]

    async def probe(p: Probe) -> None:
        await p.pod(**spec)

        async def told() -> bool:
            return bool(await p.events("p", "FailedScheduling"))

        await p.until(told)
        assert (await p.events("p", "FailedScheduling"))[0].startswith(message)

        async def conditioned() -> bool:
            return bool((await p.get(PODS))["status"].get("conditions"))

        await p.until(conditioned)
        conditions = (await p.get(PODS))["status"]["conditions"]
        scheduled = next(c for c in conditions if c["type"] == "PodScheduled")
        assert (scheduled["status"], scheduled["reason"]) == ("False", "Unschedulable")
        assert scheduled["message"].startswith(message)

    cluster.run(probe)


def test_a_held_pod_is_scheduled_once_a_node_fits(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(nodeSelector={"late": p.namespace})

        async def told() -> bool:
            return bool(await p.events("p", "FailedScheduling"))

        await p.until(told)
        await p.client.merge_patch(NODES, "plain-1", {"metadata": {"labels": {"late": p.namespace}}})
        assert (await p.until_running())["spec"]["nodeName"] == "plain-1"
        await p.client.merge_patch(NODES, "plain-1", {"metadata": {"labels": {"late": None}}})

    cluster.run(probe)


def test_a_cordoned_node_gets_no_pods_and_an_uncordoned_one_does(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.client.merge_patch(NODES, "plain-2", {"spec": {"unschedulable": True}})

        async def tainted() -> bool:
            taints = (await p.get(NODES, "plain-2"))["spec"].get("taints") or []
            return any(taint["key"] == "node.kubernetes.io/unschedulable" for taint in taints)

        await p.until(tainted)
        await p.pod(nodeSelector={"disk": "hdd"})

        async def told() -> bool:
            return bool(await p.events("p", "FailedScheduling"))

        await p.until(told)
        assert "untolerated taint" in (await p.events("p", "FailedScheduling"))[0]
        await p.client.merge_patch(NODES, "plain-2", {"spec": {"unschedulable": None}})
        await p.until_running()

    cluster.run(probe)


def test_a_name_of_a_node_that_does_not_exist_is_accepted_and_never_runs(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        made = await p.pod(nodeName="no-such-node")
        assert made["spec"]["nodeName"] == "no-such-node"
        await p.clock.sleep(1)
        assert not await p.exists(PODS) or await p.phase() == "Pending"

    cluster.run(probe)


def test_a_pod_is_bound_only_once(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(schedulerName="nobody")
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "p"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "plain-1"},
        }
        path = PODS.path(p.namespace, "p", "binding")
        assert await p.send("POST", path, binding) == 201
        assert await p.send("POST", path, binding) == 409

    cluster.run(probe)


def test_the_taints_of_a_node_are_read_as_written(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        assert (await p.get(NODES, "gpu-1"))["spec"]["taints"] == [GPU_TAINT]

    cluster.run(probe)
