"""What a new pod meets on the nodes: the pods there, its volumes, and the labels of namespaces."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hawser.fitting.capacity import NodeState
from hawser.fitting.needs import PodNeeds, read_needs
from hawser.fitting.volumes import BoundVolume, Unbound
from mooring.model.node import Node

_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of the nodes. If resident pods were not read, nodes count as empty and the verdict says so."""

    residents: Mapping[str, tuple[PodNeeds, ...]] = field(default_factory=dict)  # by node name
    volumes: Mapping[str, BoundVolume | Unbound] = field(default_factory=dict)  # by name of the volume claim
    namespaces: Mapping[str, Mapping[str, str]] | None = None  # their labels; None: not read
    read: bool = True  # whether the resident pods were read

    @property
    def selects_namespaces(self) -> bool:
        """Whether the labels of namespaces are needed to judge the affinity of resident pods."""
        return any(
            term.selects_namespaces
            for residents in self.residents.values()
            for resident in residents
            for term in resident.anti_affinity
        )

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace, as far as they are known."""
        known = (self.namespaces or {}).get(name, {})
        return {"kubernetes.io/metadata.name": name, **known}


UNREAD = Usage(read=False)


def read_residents(pods: Iterable[Mapping[str, Any]]) -> dict[str, tuple[PodNeeds, ...]]:
    """The pods that use a node, by node name. Finished pods use none; terminating pods still do."""
    found: dict[str, list[PodNeeds]] = {}
    for pod in pods:
        node = (pod.get("spec") or {}).get("nodeName")
        if node and (pod.get("status") or {}).get("phase") not in _ENDED:
            found.setdefault(node, []).append(read_needs(dict(pod)))
    return {node: tuple(residents) for node, residents in found.items()}


def occupied(node: Node, usage: Usage, but: str = "") -> NodeState:
    """The state of a node with its resident pods, without the pod of that uid."""
    taints = tuple({"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints)
    state = NodeState(node.name, True, node.labels, taints, node.unschedulable, node.allocatable)
    for resident in usage.residents.get(node.name, ()):
        if not but or resident.uid != but:
            state.add(resident)
    return state
