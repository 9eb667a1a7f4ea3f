"""Everything that keeps one pod off one node, each with the change that removes it and what that change asks for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hawser.fitting import judge, obstacles
from hawser.fitting.capacity import NodeState
from hawser.fitting.needs import PodNeeds
from hawser.fitting.obstacles import Kind
from hawser.fitting.selectors import Object
from hawser.fitting.topology import TopologyConstraints
from hawser.fitting.volumes import BoundVolume
from mooring.model.names import LIFECYCLE_TAINT_PREFIXES, SYSTEM_TAINTS
from mooring.model.node import Taint
from mooring.model.preflight import HeldClaim
from mooring.planning.placement import may_tolerate

__all__ = ["Obstacle", "find_obstacles", "hold"]


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
    pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Sequence[BoundVolume]
) -> tuple[Obstacle, ...]:
    """All of them, not only the first: the smallest change must get past every one."""
    return tuple(_remedied(one, pod, node) for one in judge.find_obstacles(pod, node, topology, volumes))


def hold(claim: HeldClaim) -> Obstacle:
    """What stands before every node alike, and before anything of the node is looked at."""
    return Obstacle(Kind.VOLUME, claim.reason, claim.fix, _VOLUME)


def _remedied(found: obstacles.Obstacle, pod: PodNeeds, node: NodeState) -> Obstacle:
    if found.taint is not None:
        return _taint(
            found, Taint(found.taint["key"], found.taint.get("value") or "", found.taint["effect"]), node.name
        )
    change, cost = _remedy(found, pod, node)
    return Obstacle(found.kind, found.reason, change, cost, found.resource)


def _remedy(found: obstacles.Obstacle, pod: PodNeeds, node: NodeState) -> tuple[str, int]:
    match found.kind:
        case Kind.CORDON:
            return f"kubectl uncordon {node.name}", _CORDON
        case Kind.NODE_NAME:
            return f"remove nodeName {pod.node_name}", _PINNED
        case Kind.SELECTOR:
            return _selector(found, pod)
        case Kind.PORTS:
            return f"take other host ports than {', '.join(str(port) for _, _, port in pod.ports)}", _PORTS
        case Kind.RESOURCE if found is obstacles.TOO_MANY_PODS:
            return "make room for one more pod", _CROWDED
        case Kind.RESOURCE:
            return f"request less {found.resource}", _CROWDED if found.preemptible else _TOO_SMALL
        case Kind.VOLUME if found is obstacles.VOLUME_ZONE:
            return "add a node in the zone of its volume", _VOLUME
        case Kind.VOLUME:
            return "add a node where its volume is", _VOLUME
        case Kind.SPREAD:
            return "relax the topology spread constraints", _NEIGHBOURS
        case Kind.AFFINITY:
            return "relax the pod (anti-)affinity", _NEIGHBOURS
    raise AssertionError(f"no remedy for {found.kind}")


def _taint(found: obstacles.Obstacle, taint: Taint, node: str) -> Obstacle:
    reason = f"{found.reason} {{{taint.key}: {taint.value}}}"
    if may_tolerate(taint):
        return Obstacle(Kind.TAINT, reason, f"add toleration {taint}", _TOLERATION)
    if taint.key in SYSTEM_TAINTS:
        change = f"name a node pool that is not for the cluster's own parts ({taint})"
        return Obstacle(Kind.TAINT, reason, change, _SYSTEM)
    state = "recovers" if taint.key.startswith(LIFECYCLE_TAINT_PREFIXES[0]) else "is replaced"
    return Obstacle(Kind.TAINT, reason, f"wait until {node} {state} (it carries {taint})", _LIFECYCLE)


def _selector(found: obstacles.Obstacle, pod: PodNeeds) -> tuple[str, int]:
    if not found.missing:
        return f"relax the required node affinity ({_terms(pod)})", _SELECTOR + 1
    missing = ", ".join(f"{key}={value}" for key, value in found.missing)
    return f"remove {missing} from the nodeSelector, or label a node with it", _SELECTOR * len(found.missing)


def _terms(pod: PodNeeds) -> str:
    return " or ".join(" and ".join(_requirements(term)) or "nothing" for term in pod.required_terms or ()) or "nothing"


def _requirements(term: Object) -> Iterable[str]:
    for one in (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())):
        values = ",".join(one.get("values") or ())
        yield f"{one['key']} {one['operator']} {values}".strip()
