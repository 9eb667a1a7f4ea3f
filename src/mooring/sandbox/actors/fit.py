"""Feasibility: the verdict of one pod against one node, in kube-scheduler's order and words.

The first filter that fails decides; only resources name several reasons at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mooring.sandbox.actors.capacity import NodeState
from mooring.sandbox.actors.needs import PodNeeds
from mooring.sandbox.actors.objects import Object
from mooring.sandbox.actors.selectors import requirement_holds
from mooring.sandbox.actors.surroundings import Surroundings
from mooring.sandbox.actors.volumes import BoundVolume

UNSCHEDULABLE_TAINT: Object = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a pod cannot go to a node; no reasons means it can."""

    reasons: tuple[str, ...] = ()
    preemptible: bool = False  # fewer pods on the node might help

    @property
    def fits(self) -> bool:
        return not self.reasons


FITS = Verdict()


def judge(pod: PodNeeds, node: NodeState, around: Surroundings, volumes: Sequence[BoundVolume] = ()) -> Verdict:
    """Whether the pod may run on the node, and why not."""
    if node.unschedulable and not tolerates(pod.tolerations, UNSCHEDULABLE_TAINT):
        return Verdict(("node(s) were unschedulable",))
    if untolerated(pod.tolerations, node.taints):
        return Verdict(("node(s) had untolerated taint(s)",))
    if not matches_node(pod, node.name, node.labels):
        return Verdict(("node(s) didn't match Pod's node affinity/selector",))
    if pod.ports and node.ports_clash(pod.ports):
        return Verdict(("node(s) didn't have free ports for the requested pod ports",), preemptible=True)
    lacking = _judge_resources(pod, node)
    if lacking is not None:
        return lacking
    for volume in volumes:
        if volume.terms is not None and not _any_term(volume.terms, node.name, node.labels):
            return Verdict(("node(s) didn't match PersistentVolume's node affinity",))
        if not volume.in_zone(node.labels):
            return Verdict(("node(s) had no available volume zone",))
    obstacle = around.obstacle(node.labels)
    return FITS if obstacle is None else Verdict((obstacle.reason,), obstacle.preemptible)


def tolerates(tolerations: Iterable[Object], taint: Object) -> bool:
    """Whether any toleration covers the taint."""
    return any(covers(toleration, taint) for toleration in tolerations)


def covers(toleration: Object, taint: Object) -> bool:
    """Whether this toleration covers the taint: an empty effect or key means every one."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    match toleration.get("operator") or "Equal":
        case "Exists":
            return True
        case "Equal":
            return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")
    return False


def untolerated(tolerations: Sequence[Object], taints: Iterable[Object]) -> Object | None:
    """The first taint that keeps the pod away."""
    for taint in taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not tolerates(tolerations, taint):
            return taint
    return None


def matches_node(pod: PodNeeds, name: str, labels: Mapping[str, str]) -> bool:
    """The pod's node selector and required node affinity."""
    if any(labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    return pod.required_terms is None or _any_term(pod.required_terms, name, labels)


def matches_term(term: Object, name: str, labels: Mapping[str, str]) -> bool:
    """One node selector term: all expressions and fields; an empty term matches nothing."""
    expressions: Sequence[Object] = term.get("matchExpressions") or ()
    fields: Sequence[Object] = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(requirement_holds(one, labels) for one in expressions) and all(
        requirement_holds(one, {"metadata.name": name}) for one in fields
    )


def _any_term(terms: Iterable[Object], name: str, labels: Mapping[str, str]) -> bool:
    return any(matches_term(term, name, labels) for term in terms)


def _judge_resources(pod: PodNeeds, node: NodeState) -> Verdict | None:
    reasons: list[str] = []
    hopeless = False
    if len(node.pods) + 1 > node.allocatable.get("pods", 0):
        reasons.append("Too many pods")
    for name, wanted in pod.requests.items():
        offered = node.allocatable.get(name, 0)
        if wanted > 0 and wanted > offered - node.requested.get(name, 0):
            reasons.append(f"Insufficient {name}")
            hopeless = hopeless or wanted > offered
    return Verdict(tuple(reasons), preemptible=not hopeless) if reasons else None
