"""Everything that keeps one pod off one node, in the order in which kube-scheduler looks, each with its remedy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mooring.model.fitting.capacity import NodeState
from mooring.model.fitting.matching import UNSCHEDULABLE_TAINT, matches_any_term, tolerates
from mooring.model.fitting.needs import PodNeeds
from mooring.model.fitting.selectors import Object
from mooring.model.fitting.surroundings import Surroundings
from mooring.model.fitting.volumes import BoundVolume
from mooring.model.names import LIFECYCLE_TAINT_PREFIXES, SYSTEM_TAINTS
from mooring.model.node import Taint
from mooring.model.preflight import HeldClaim
from mooring.planning.placement import may_tolerate


class Kind(StrEnum):
    """What stands in the way."""

    CORDON = "cordon"
    NODE_NAME = "node_name"
    TAINT = "taint"
    SELECTOR = "selector"
    PORTS = "ports"
    RESOURCE = "resource"
    VOLUME = "volume"
    SPREAD = "spread"
    AFFINITY = "affinity"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason, in the scheduler's words, the change that removes it, and how much that change asks for."""

    kind: Kind
    reason: str
    change: str
    cost: int
    resource: str = ""  # of which there is too little


# A toleration is a line; a smaller request is a decision; a node that is on its way out is nothing to build on.
_TOLERATION, _SELECTOR, _PORTS, _CROWDED, _TOO_SMALL = 1, 4, 6, 5, 12
_NEIGHBOURS, _VOLUME, _CORDON, _LIFECYCLE, _SYSTEM, _PINNED = 8, 15, 30, 35, 60, 40


def find_obstacles(
    pod: PodNeeds, node: NodeState, around: Surroundings, volumes: Sequence[BoundVolume]
) -> tuple[Obstacle, ...]:
    """All of them, not only the first: the smallest change must get past every one."""
    return (
        *_closed(pod, node),
        *_taints(pod, node),
        *_selector(pod, node),
        *_ports(pod, node),
        *_resources(pod, node),
        *_volumes(node, volumes),
        *_neighbours(around, node),
    )


def hold(claim: HeldClaim) -> Obstacle:
    """What stands before every node alike, and before anything of the node is looked at."""
    return Obstacle(Kind.VOLUME, claim.reason, claim.fix, _VOLUME)


def _closed(pod: PodNeeds, node: NodeState) -> Iterable[Obstacle]:
    if node.unschedulable and not tolerates(pod.tolerations, UNSCHEDULABLE_TAINT):
        yield Obstacle(Kind.CORDON, "node(s) were unschedulable", f"kubectl uncordon {node.name}", _CORDON)
    if pod.node_name and pod.node_name != node.name:
        change = f"remove nodeName {pod.node_name}"
        yield Obstacle(Kind.NODE_NAME, "node(s) didn't match the requested node name", change, _PINNED)


def _taints(pod: PodNeeds, node: NodeState) -> Iterable[Obstacle]:
    for taint in node.taints:
        cordoned = node.unschedulable and taint["key"] == UNSCHEDULABLE_TAINT["key"]
        keeps_away = taint.get("effect") in ("NoSchedule", "NoExecute")
        if keeps_away and not cordoned and not tolerates(pod.tolerations, taint):
            yield _taint(Taint(taint["key"], taint.get("value") or "", taint["effect"]), node.name)


def _taint(taint: Taint, node: str) -> Obstacle:
    reason = f"node(s) had untolerated taint(s) {{{taint.key}: {taint.value}}}"
    if may_tolerate(taint):
        return Obstacle(Kind.TAINT, reason, f"add toleration {taint}", _TOLERATION)
    if taint.key in SYSTEM_TAINTS:
        change = f"name a node pool that is not for the cluster's own parts ({taint})"
        return Obstacle(Kind.TAINT, reason, change, _SYSTEM)
    state = "recovers" if taint.key.startswith(LIFECYCLE_TAINT_PREFIXES[0]) else "is replaced"
    return Obstacle(Kind.TAINT, reason, f"wait until {node} {state} (it carries {taint})", _LIFECYCLE)


def _selector(pod: PodNeeds, node: NodeState) -> Iterable[Obstacle]:
    reason = "node(s) didn't match Pod's node affinity/selector"
    if missing := [f"{key}={value}" for key, value in pod.node_selector.items() if node.labels.get(key) != value]:
        change = f"remove {', '.join(missing)} from the nodeSelector, or label a node with it"
        yield Obstacle(Kind.SELECTOR, reason, change, _SELECTOR * len(missing))
    if pod.required_terms is not None and not matches_any_term(pod.required_terms, node.name, node.labels):
        yield Obstacle(Kind.SELECTOR, reason, f"relax the required node affinity ({_terms(pod)})", _SELECTOR + 1)


def _terms(pod: PodNeeds) -> str:
    return " or ".join(" and ".join(_requirements(term)) or "nothing" for term in pod.required_terms or ()) or "nothing"


def _requirements(term: Object) -> Iterable[str]:
    for one in (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())):
        values = ",".join(one.get("values") or ())
        yield f"{one['key']} {one['operator']} {values}".strip()


def _ports(pod: PodNeeds, node: NodeState) -> Iterable[Obstacle]:
    if pod.ports and node.ports_clash(pod.ports):
        taken = ", ".join(str(port) for _, _, port in pod.ports)
        reason = "node(s) didn't have free ports for the requested pod ports"
        yield Obstacle(Kind.PORTS, reason, f"take other host ports than {taken}", _PORTS)


def _resources(pod: PodNeeds, node: NodeState) -> Iterable[Obstacle]:
    if len(node.pods) + 1 > node.allocatable.get("pods", 0):
        yield Obstacle(Kind.RESOURCE, "Too many pods", "make room for one more pod", _CROWDED, "pods")
    for name, wanted in pod.requests.items():
        offered = node.allocatable.get(name, 0)
        if wanted > 0 and wanted > offered - node.requested.get(name, 0):
            cost = _TOO_SMALL if wanted > offered else _CROWDED
            yield Obstacle(Kind.RESOURCE, f"Insufficient {name}", f"request less {name}", cost, name)


def _volumes(node: NodeState, volumes: Sequence[BoundVolume]) -> Iterable[Obstacle]:
    for volume in volumes:
        if volume.terms is not None and not matches_any_term(volume.terms, node.name, node.labels):
            reason = "node(s) didn't match PersistentVolume's node affinity"
            yield Obstacle(Kind.VOLUME, reason, "add a node where its volume is", _VOLUME)
        elif not volume.in_zone(node.labels):
            reason = "node(s) had no available volume zone"
            yield Obstacle(Kind.VOLUME, reason, "add a node in the zone of its volume", _VOLUME)


def _neighbours(around: Surroundings, node: NodeState) -> Iterable[Obstacle]:
    obstacle = around.obstacle(node.labels)
    if obstacle is None:
        return
    if "topology spread" in obstacle.reason:
        yield Obstacle(Kind.SPREAD, obstacle.reason, "relax the topology spread constraints", _NEIGHBOURS)
    else:
        yield Obstacle(Kind.AFFINITY, obstacle.reason, "relax the pod (anti-)affinity", _NEIGHBOURS)
