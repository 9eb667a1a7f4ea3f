"""Where pods may run: selector and tolerations that follow from what the nodes really carry."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mooring.model.names import DISRUPTION_TAINTS, LIFECYCLE_TAINT_PREFIX, SYSTEM_TAINT
from mooring.model.node import Node, Taint
from mooring.model.pool import Placement

# How node pools are named: by Karpenter, the clouds, and by hand.
NODE_POOL_LABELS = (
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "node-pool",
    "workload",
)


@dataclass(frozen=True, slots=True)
class Placed:
    """Selector, tolerations and nodes to avoid, to put on a pod, and how many nodes they reach."""

    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[dict[str, Any], ...] = ()
    nodes: int = 0
    problem: str = ""
    fix: str = ""
    avoid: tuple[str, ...] = ()  # names of nodes that are closed for new workers


def plan_placement(placement: Placement, nodes: Iterable[Node]) -> Placed:
    """Turn a pool's wish into a selector and the tolerations its nodes ask for."""
    candidates = [node for node in nodes if not node.is_system]
    if placement.node_pool:
        label = _pool_label(placement.node_pool, candidates)
        if label is None:
            return Placed(
                problem=f"no node belongs to a pool named {placement.node_pool!r}",
                fix=f"label its nodes {NODE_POOL_LABELS[0]}={placement.node_pool}, or name another nodePool",
            )
        selector = {label: placement.node_pool}
    else:
        selector = dict(placement.node_selector)
    if not selector:
        return Placed(tolerations=tuple(placement.tolerations), nodes=len(candidates))
    matching = [node for node in candidates if selector.items() <= node.labels.items()]
    derived = {_key(taint): _toleration(taint) for node in matching for taint in node.taints if _may_tolerate(taint)}
    own = [dict(toleration) for toleration in placement.tolerations]
    added = [toleration for _, toleration in sorted(derived.items()) if toleration not in own]
    return Placed(selector, (*own, *added), len(matching))


def _pool_label(name: str, nodes: list[Node]) -> str | None:
    for label in NODE_POOL_LABELS:
        if any(node.labels.get(label) == name for node in nodes):
            return label
    return None


def _may_tolerate(taint: Taint) -> bool:
    lifecycle = taint.key.startswith(LIFECYCLE_TAINT_PREFIX) or taint.key in DISRUPTION_TAINTS
    return taint.effect in ("NoSchedule", "NoExecute") and not lifecycle and taint.key != SYSTEM_TAINT


def _key(taint: Taint) -> tuple[str, str, str]:
    return (taint.key, taint.value, taint.effect)


def _toleration(taint: Taint) -> dict[str, Any]:
    if taint.value:
        return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}
