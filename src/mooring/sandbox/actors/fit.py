"""Feasibility: the verdict of one pod against one node, in kube-scheduler's order and words.

The first filter that fails decides; only resources name several reasons at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mooring.model.fitting.capacity import NodeState
from mooring.model.fitting.matching import UNSCHEDULABLE_TAINT, matches_any_term, matches_node, tolerates, untolerated
from mooring.model.fitting.needs import PodNeeds
from mooring.model.fitting.surroundings import Surroundings
from mooring.model.fitting.volumes import BoundVolume


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
        if volume.terms is not None and not matches_any_term(volume.terms, node.name, node.labels):
            return Verdict(("node(s) didn't match PersistentVolume's node affinity",))
        if not volume.in_zone(node.labels):
            return Verdict(("node(s) had no available volume zone",))
    obstacle = around.obstacle(node.labels)
    return FITS if obstacle is None else Verdict((obstacle.reason,), obstacle.preemptible)


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
