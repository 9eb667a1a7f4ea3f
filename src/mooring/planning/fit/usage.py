"""What one more pod meets on the nodes: the pods there, its volumes, and the labels of namespaces."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mooring.model.fitting.capacity import NodeState
from mooring.model.fitting.needs import PodNeeds, read_needs
from mooring.model.fitting.volumes import BoundVolume, Unbound
from mooring.model.node import Node

_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Usage:
    """Nodes are taken to be empty where residents were not read; the verdict says so."""

    residents: Mapping[str, tuple[PodNeeds, ...]] = field(default_factory=dict)  # by node name
    volumes: Mapping[str, BoundVolume | Unbound] = field(default_factory=dict)  # by claim name
    namespaces: Mapping[str, Mapping[str, str]] | None = None  # their labels; None: not read
    read: bool = True  # whether the residents are known

    @property
    def selects_namespaces(self) -> bool:
        """Whether it takes the labels of namespaces to know whom the residents keep away."""
        return any(
            term.selects_namespaces
            for residents in self.residents.values()
            for resident in residents
            for term in resident.anti_affinity
        )

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """A namespace's labels, as far as they are known."""
        known = (self.namespaces or {}).get(name, {})
        return {"kubernetes.io/metadata.name": name, **known}


UNREAD = Usage(read=False)


def read_residents(pods: Iterable[Mapping[str, Any]]) -> dict[str, tuple[PodNeeds, ...]]:
    """The pods that hold a place on a node, by its name. Those that ended hold none; terminating ones still do."""
    found: dict[str, list[PodNeeds]] = {}
    for pod in pods:
        node = (pod.get("spec") or {}).get("nodeName")
        if node and (pod.get("status") or {}).get("phase") not in _ENDED:
            found.setdefault(node, []).append(read_needs(dict(pod)))
    return {node: tuple(residents) for node, residents in found.items()}


def occupied(node: Node, usage: Usage, but: str = "") -> NodeState:
    """A node with its residents, without the pod of that uid."""
    taints = tuple({"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints)
    state = NodeState(node.name, True, node.labels, taints, node.unschedulable, node.allocatable)
    for resident in usage.residents.get(node.name, ()):
        if not but or resident.uid != but:
            state.add(resident)
    return state
