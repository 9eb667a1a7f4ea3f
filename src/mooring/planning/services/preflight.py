"""Before anything is applied: whether nodes would take a service's pods, why not, and the placement to add."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mooring.model.names import SERVICE
from mooring.model.node import Node, NodeTemplate
from mooring.model.pool import Placement
from mooring.model.service import Service
from mooring.planning.fit import UNREAD, preflight
from mooring.planning.placement import NODE_POOL_LABELS, Placed, plan_placement
from mooring.planning.services.fixes import patch_service


@dataclass(frozen=True, slots=True)
class Berth:
    """Where a service can lie: what would be put on its pods, and why no node takes them, if none does."""

    placed: Placed
    fits: bool
    reason: str = ""
    fix: str = ""


def plan_berth(
    service: Service, placed: Placed, nodes: Iterable[Node], templates: Iterable[NodeTemplate] = ()
) -> Berth:
    """Pods of services request nothing, so that room is no question: taints, labels and cordons are."""
    nodes, templates = tuple(nodes), tuple(templates)
    if placed.problem:
        reason = f"0 of {len(nodes)} nodes fit: {placed.problem}"
        return Berth(placed, False, reason, _what_to_add(service, nodes) or placed.fix)
    pod = placed.on({"containers": [{"name": "main"}]})
    labels = {SERVICE: service.name}
    found = preflight(pod, nodes, UNREAD, templates, namespace=service.namespace, labels=labels)
    if found.fits or found.makers:
        return Berth(placed, True)
    told = ", ".join(f"{group.nodes} {group.reason}" for group in found.groups) or "there is no node"
    return Berth(placed, False, f"0 of {found.total} nodes fit: {told}", _what_to_add(service, nodes) or found.fix)


def _what_to_add(service: Service, nodes: tuple[Node, ...]) -> str:
    """The node pool with the most nodes that would take the service, as a command; empty when there is none."""
    names = Counter(
        name
        for node in nodes
        if not node.is_system
        for name in {node.labels[label] for label in NODE_POOL_LABELS if label in node.labels}
    )
    for name, _ in names.most_common():
        placed = plan_placement(Placement(node_pool=name), nodes)
        if not placed.problem and preflight(placed.on({"containers": [{"name": "main"}]}), nodes).fits:
            placement = {"nodePool": name, **({"nodeSelector": None} if service.spec.placement.node_selector else {})}
            return patch_service(service, placement=placement)
    return ""
