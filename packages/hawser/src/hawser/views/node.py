"""Nodes, as far as a fleet needs to know them."""

from hawser.views.base import Condition, Object, Time, View, is_true


class Taint(View, frozen=True):
    """What keeps pods off a node. `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Time | None = None


class NodeAddress(View, frozen=True):
    """One address of a node."""

    type: str = ""
    address: str = ""


class NodeInfo(View, frozen=True):
    """What runs on the node."""

    kubelet_version: str = ""
    os_image: str = ""
    operating_system: str = ""
    architecture: str = ""


class NodeSpec(View, frozen=True):
    """What is asked of a node."""

    provider_id: str = ""
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(View, frozen=True):
    """How a node fares; quantities as text."""

    conditions: tuple[Condition, ...] = ()
    allocatable: dict[str, str] = {}
    capacity: dict[str, str] = {}
    addresses: tuple[NodeAddress, ...] = ()
    node_info: NodeInfo = NodeInfo()


class Node(Object, frozen=True):
    """A node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        return is_true(self.status.conditions, "Ready")
