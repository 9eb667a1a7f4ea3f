"""Faults on real nodes, by name: for tests through `RealCluster`, and for people through `drydock fault`."""

from collections.abc import Awaitable, Callable

from drydock.nodes.cluster import RealCluster
from drydock.nodes.node import RealNode
from drydock.nodes.oom import kill_by_oom, memory_group
from hawser.errors import InvalidInput
from hawser.resources import PODS

OnNode = Callable[[RealNode], Awaitable[None]]

NODE_FAULTS: dict[str, tuple[OnNode, str]] = {
    "pull-cable": (RealNode.pull_cable, "disconnect the node from the network"),
    "plug-cable": (RealNode.plug_cable, "connect it again"),
    "stop-kubelet": (RealNode.stop_kubelet, "stop the kubelet; containers go on"),
    "start-kubelet": (RealNode.start_kubelet, "start it again"),
    "kill-containerd": (RealNode.kill_containerd, "kill containerd; containers go on"),
    "start-containerd": (RealNode.start_containerd, "start it again"),
    "fill-disk": (RealNode.fill_disk, "leave less free space than the kubelet wants: pods are evicted"),
    "free-disk": (RealNode.free_disk, "free the space again"),
    "reboot": (RealNode.reboot, "cut the power and boot: containers end, the boot id is new"),
}
OTHER_FAULTS = {
    "replace": "delete the node and its disk; a new machine joins under its name, with another uid",
    "oom": "fill the memory of a container (NAMESPACE/POD[/CONTAINER]) until the kernel kills it",
}
FAULTS = {**{name: meaning for name, (_, meaning) in NODE_FAULTS.items()}, **OTHER_FAULTS}


async def inject(cluster: RealCluster, fault: str, target: str) -> None:
    """Make the fault happen to a node, or for `oom` to a container. Returns when it has."""
    if fault == "oom":
        await kill_container_by_oom(cluster, target)
        return
    if fault not in FAULTS:
        raise InvalidInput("fault", fault, f"one of {', '.join(FAULTS)}")
    if target not in cluster.nodes:
        raise InvalidInput("node", target, f"one of {', '.join(cluster.nodes)}")
    if fault == "replace":
        await cluster.replace_node(target)
    else:
        await NODE_FAULTS[fault][0](cluster.nodes[target])


async def kill_container_by_oom(cluster: RealCluster, target: str) -> None:
    """`target` is NAMESPACE/POD, or NAMESPACE/POD/CONTAINER for another one than the first."""
    namespace, _, rest = target.partition("/")
    name, _, container = rest.partition("/")
    if not name:
        raise InvalidInput("container", target, "NAMESPACE/POD or NAMESPACE/POD/CONTAINER")
    pod = await cluster.client.get(PODS.raw(), name, namespace)
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    found = next(
        (one for one in statuses if one["name"] == (container or one["name"]) and one.get("containerID")), None
    )
    node = cluster.nodes.get(pod["spec"].get("nodeName", ""))
    if found is None or node is None:
        raise InvalidInput("container", target, "a container that runs on one of the nodes")
    await kill_by_oom(memory_group(node.cgroup, found["containerID"].partition("://")[2]))
