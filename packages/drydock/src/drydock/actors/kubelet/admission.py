"""Whether a node takes a pod that was bound to it. A scheduler asked the same before; `spec.nodeName` asks nobody."""

from collections.abc import Iterable
from dataclasses import dataclass

from drydock.actors.machinery.objects import Object
from hawser.fitting.capacity import state_of
from hawser.fitting.matching import matches_node
from hawser.fitting.needs import PodNeeds
from hawser.fitting.obstacles import NOT_SELECTED, PORTS_TAKEN

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
        return _failed("NodePorts", PORTS_TAKEN.reason)
    if not matches_node(pod, state.name, state.labels):
        return _failed("NodeAffinity", NOT_SELECTED.reason)
    return None


def _failed(predicate: str, description: str) -> Rejection:
    return Rejection(predicate, f"Predicate {predicate} failed: {description}")
