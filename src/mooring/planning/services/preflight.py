"""Before anything is applied: how many nodes would take a service's pods, why the others do not, and what to add."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mooring.model.node import Node, Taint
from mooring.model.pool import Placement
from mooring.model.service import Service
from mooring.planning.placement import NODE_POOL_LABELS, Placed, plan_placement
from mooring.planning.services.fixes import patch_service


@dataclass(frozen=True, slots=True)
class Preflight:
    """The verdict over all nodes. `placed` is what would be put on the pods."""

    placed: Placed
    fitting: int
    total: int
    reason: str = ""
    fix: str = ""

    @property
    def fits(self) -> bool:
        return self.fitting > 0 or bool(self.placed.templates)


def plan_preflight(service: Service, placed: Placed, nodes: Iterable[Node]) -> Preflight:
    """Whether the pods of a service can be scheduled at all, now or on a node that an autoscaler would make."""
    nodes = tuple(nodes)
    if placed.problem:
        reason = f"0 of {len(nodes)} nodes fit: {placed.problem}"
        return Preflight(placed, 0, len(nodes), reason, _what_to_add(service, nodes) or placed.fix)
    refusals = [refusal for node in nodes if (refusal := _refusal(placed, node))]
    fitting = len(nodes) - len(refusals)
    if fitting or placed.templates:
        return Preflight(placed, fitting, len(nodes))
    told = ", ".join(f"{count} {why}" for why, count in Counter(refusals).most_common()) or "there is no node"
    fix = _what_to_add(service, nodes) or "kubectl get nodes -o wide  # add a node, or take a taint off one"
    return Preflight(placed, 0, len(nodes), f"0 of {len(nodes)} nodes fit: {told}", fix)


def _refusal(placed: Placed, node: Node) -> str:
    if node.unschedulable:
        return "cordoned"
    for taint in node.taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not _tolerated(placed, taint):
            return f"with the taint {taint}"
    if not placed.node_selector.items() <= node.labels.items():
        return "without the labels " + ",".join(f"{key}={value}" for key, value in placed.node_selector.items())
    return ""


def _tolerated(placed: Placed, taint: Taint) -> bool:
    for toleration in placed.tolerations:
        if toleration.get("effect") and toleration["effect"] != taint.effect:
            continue
        if toleration.get("key") and toleration["key"] != taint.key:
            continue
        if toleration.get("operator") == "Exists" or (toleration.get("value") or "") == taint.value:
            return True
    return False


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
        if not placed.problem and any(not _refusal(placed, node) for node in nodes):
            placement = {"nodePool": name, **({"nodeSelector": None} if service.spec.placement.node_selector else {})}
            return patch_service(service, placement=placement)
    return ""
