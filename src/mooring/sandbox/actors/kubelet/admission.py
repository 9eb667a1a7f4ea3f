"""Whether a node takes a pod that was bound to it. A scheduler asked the same before; `spec.nodeName` asks nobody."""

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.model.fitting.capacity import state_of
from mooring.model.fitting.matching import matches_node
from mooring.model.fitting.needs import PodNeeds
from mooring.sandbox.actors.objects import Object

_PODS = "pods"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why the pod fails, in a kubelet's words."""

    reason: str
    message: str


def check_admission(pod: PodNeeds, node: Object, others: Iterable[PodNeeds]) -> Rejection | None:
    """None when the node takes the pod beside the others."""
    state = state_of(node)
    for other in others:
        state.add(other)
    wanted = {_PODS: 1, **pod.requests}
    used = {_PODS: len(state.pods), **state.requested}
    for resource, amount in wanted.items():
        capacity = state.allocatable.get(resource, 0)
        if amount and used.get(resource, 0) + amount > capacity:
            told = f"requested: {amount}, used: {used.get(resource, 0)}, capacity: {capacity}"
            return Rejection(f"OutOf{resource}", f"Node didn't have enough resource: {resource}, {told}")
    if pod.ports and state.ports_clash(pod.ports):
        return _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    if not matches_node(pod, state.name, state.labels):
        return _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    return None


def _failed(predicate: str, description: str) -> Rejection:
    return Rejection(predicate, f"Predicate {predicate} failed: {description}")
