"""A node as the scheduler sees it: what it offers, what is taken, and by whom."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hawser.fitting.needs import ASSUMED_CPU, ASSUMED_MEMORY, HostPort, PodNeeds
from hawser.fitting.selectors import Object
from hawser.quantity import count_of

_EVERY_ADDRESS = "0.0.0.0"


@dataclass(slots=True)
class NodeState:
    """One node. Kept up to date pod by pod, so that a verdict costs no walk over pods."""

    name: str
    known: bool = False  # pods may name a node that does not exist (yet)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    unschedulable: bool = False
    allocatable: Mapping[str, int] = field(default_factory=dict)
    requested: dict[str, int] = field(default_factory=dict)
    assumed_cpu: int = 0  # with the assumed sizes of pods that request nothing
    assumed_memory: int = 0
    pods: dict[str, PodNeeds] = field(default_factory=dict)  # by uid

    def describe(self, node: Object) -> bool:
        """Take over the Node object; returns whether anything a pod could care about changed."""
        spec = node.get("spec") or {}
        before = (self.known, self.labels, self.taints, self.unschedulable, self.allocatable)
        self.known = True
        self.labels = (node.get("metadata") or {}).get("labels") or {}
        self.taints = tuple(spec.get("taints") or ())
        self.unschedulable = bool(spec.get("unschedulable"))
        offered = (node.get("status") or {}).get("allocatable") or {}
        self.allocatable = {name: count_of(name, text) for name, text in offered.items()}
        return before != (self.known, self.labels, self.taints, self.unschedulable, self.allocatable)

    def forget(self) -> None:
        """The Node object is gone; its pods may outlive it."""
        self.known = False
        self.labels, self.taints, self.allocatable = {}, (), {}
        self.unschedulable = False

    def add(self, pod: PodNeeds) -> None:
        if pod.uid not in self.pods:
            self.pods[pod.uid] = pod
            self._count(pod, 1)

    def remove(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            self._count(pod, -1)

    def copy(self) -> "NodeState":
        """A scratch copy for "what if" questions."""
        return NodeState(
            self.name,
            self.known,
            self.labels,
            self.taints,
            self.unschedulable,
            self.allocatable,
            dict(self.requested),
            self.assumed_cpu,
            self.assumed_memory,
            dict(self.pods),
        )

    def ports_clash(self, wanted: tuple[HostPort, ...]) -> bool:
        """Whether a pod on the node holds one of these host ports."""
        return any(_clash(one, other) for pod in self.pods.values() for one in pod.ports for other in wanted)

    def _count(self, pod: PodNeeds, sign: int) -> None:
        for name, amount in pod.requests.items():
            self.requested[name] = self.requested.get(name, 0) + sign * amount
        self.assumed_cpu += sign * (pod.requests.get("cpu") or ASSUMED_CPU)
        self.assumed_memory += sign * (pod.requests.get("memory") or ASSUMED_MEMORY)


def state_of(node: Object) -> NodeState:
    """A fresh state of a Node object, with no pods."""
    state = NodeState(node["metadata"]["name"])
    state.describe(node)
    return state


def _clash(one: HostPort, other: HostPort) -> bool:
    if one[1:] != other[1:]:
        return False
    return one[0] == other[0] or _EVERY_ADDRESS in (one[0], other[0])
