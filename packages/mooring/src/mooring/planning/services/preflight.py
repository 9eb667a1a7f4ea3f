"""Preflight of a service: whether nodes would take its pods, why not, and the placement to add."""

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.model.names import SERVICE
from mooring.model.node import Node, NodeTemplate
from mooring.model.service import Service
from mooring.planning.fit import UNREAD, preflight
from mooring.planning.placement import Placed
from mooring.planning.pod_template import shape_pod
from mooring.planning.services.placement_fix import plan_fix


@dataclass(frozen=True, slots=True)
class PlacementCheck:
    """The placement for the service's pods, and why no node takes them, if none does."""

    placed: Placed
    fits: bool
    reason: str = ""
    fix: str = ""


def check_placement(
    service: Service, placed: Placed, nodes: Iterable[Node], templates: Iterable[NodeTemplate] = ()
) -> PlacementCheck:
    """Whether a node takes the pods: taints, labels, cordons, and what the template asks for."""
    nodes, templates = tuple(nodes), tuple(templates)
    if placed.problem:
        reason = f"0 of {len(nodes)} nodes fit: {placed.problem}"
        return PlacementCheck(placed, False, reason, plan_fix(service, placed, nodes))
    template = service.spec.pod_template
    pod = placed.on(shape_pod(template, {"spec": {"containers": [{"name": "main"}]}})["spec"])
    labels = {**template.labels, SERVICE: service.name}
    found = preflight(pod, nodes, UNREAD, templates, namespace=service.namespace, labels=labels)
    if found.fits or found.makers:
        return PlacementCheck(placed, True)
    message = ", ".join(f"{group.nodes} {group.reason}" for group in found.groups) or "there is no node"
    return PlacementCheck(placed, False, f"0 of {found.total} nodes fit: {message}", plan_fix(service, placed, nodes))
