"""Before anything is applied: whether nodes would take a service's pods, why not, and the placement to add."""

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.model.names import SERVICE
from mooring.model.node import Node, NodeTemplate
from mooring.model.service import Service
from mooring.planning.fit import UNREAD, preflight
from mooring.planning.placement import Placed
from mooring.planning.services.berthing import plan_fix


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
        return Berth(placed, False, reason, plan_fix(service, placed, nodes))
    pod = placed.on({"containers": [{"name": "main"}]})
    labels = {SERVICE: service.name}
    found = preflight(pod, nodes, UNREAD, templates, namespace=service.namespace, labels=labels)
    if found.fits or found.makers:
        return Berth(placed, True)
    told = ", ".join(f"{group.nodes} {group.reason}" for group in found.groups) or "there is no node"
    return Berth(placed, False, f"0 of {found.total} nodes fit: {told}", plan_fix(service, placed, nodes))
