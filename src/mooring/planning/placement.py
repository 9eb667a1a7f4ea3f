"""Where pods may run: selector and tolerations that follow from what the nodes really carry."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from typing import Any

from mooring.model.names import DISRUPTION_TAINTS, KARPENTER_POOL, LIFECYCLE_TAINT_PREFIXES, SYSTEM_TAINTS
from mooring.model.node import Node, NodeTemplate, Taint
from mooring.model.pool import Placement

# How node pools are named: by Karpenter, the clouds, and by hand.
NODE_POOL_LABELS = (
    KARPENTER_POOL,
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
    templates: tuple[str, ...] = ()  # node pools that would make a node of this kind
    prefer: tuple[str, ...] = ()  # names of nodes that are better than others
    require: tuple[str, ...] = ()  # names of nodes of which it must be one; empty: any
    settled: bool = True  # whether all that the terms follow from has been read

    @property
    def fingerprint(self) -> str:
        """Changes when pods made now would go elsewhere than pods made before; quarantines have their own."""
        terms = sorted(":".join(str(part) for part in sorted(one.items())) for one in self.tolerations)
        parts = [*map(repr, sorted(self.node_selector.items())), *terms, *self.require]
        return sha256("\n".join(parts).encode()).hexdigest()[:16]

    def on(self, pod_spec: Mapping[str, Any]) -> dict[str, Any]:
        """A pod's spec with this placement added to what it asks for itself."""
        placed = dict(pod_spec)
        if self.node_selector:
            placed["nodeSelector"] = {**(placed.get("nodeSelector") or {}), **self.node_selector}
        own = list(placed.get("tolerations") or ())
        if added := [toleration for toleration in self.tolerations if toleration not in own]:
            placed["tolerations"] = [*own, *added]
        if self.require or self.prefer:
            placed["affinity"] = _near(placed.get("affinity") or {}, self.require, self.prefer)
        if self.avoid:
            placed["affinity"] = _avoiding(placed.get("affinity") or {}, self.avoid)
        return placed


def plan_placement(placement: Placement, nodes: Iterable[Node], templates: Iterable[NodeTemplate] = ()) -> Placed:
    """Turn a wish into a selector and the tolerations that its nodes, or those still to be made, ask for."""
    candidates = [node for node in nodes if not node.is_system]
    makers = [template for template in templates if not template.is_system]
    if placement.node_pool:
        label = _pool_label(placement.node_pool, candidates, makers)
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
    making = [one for one in makers if all(one.may_carry(key, value) for key, value in selector.items())]
    taints = chain(*(node.taints for node in matching), *(template.taints for template in making))
    derived = {_key(taint): toleration_of(taint) for taint in taints if may_tolerate(taint)}
    own = [dict(toleration) for toleration in placement.tolerations]
    added = [toleration for _, toleration in sorted(derived.items()) if toleration not in own]
    return Placed(selector, (*own, *added), len(matching), templates=tuple(one.pool for one in making))


def may_tolerate(taint: Taint) -> bool:
    """Whether a taint says what a node is for, and not how it fares or that it is the cluster's own."""
    lifecycle = taint.key.startswith(LIFECYCLE_TAINT_PREFIXES) or taint.key in DISRUPTION_TAINTS
    return taint.effect in ("NoSchedule", "NoExecute") and not lifecycle and taint.key not in SYSTEM_TAINTS


def _pool_label(name: str, nodes: list[Node], templates: list[NodeTemplate]) -> str | None:
    for label in NODE_POOL_LABELS:
        if any(node.labels.get(label) == name for node in nodes):
            return label
    return NODE_POOL_LABELS[0] if any(template.pool == name for template in templates) else None


def _key(taint: Taint) -> tuple[str, str, str]:
    return (taint.key, taint.value, taint.effect)


def toleration_of(taint: Taint) -> dict[str, Any]:
    """What a pod must carry to be let in."""
    if taint.value:
        return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def _near(affinity: Mapping[str, Any], require: tuple[str, ...], prefer: tuple[str, ...]) -> dict[str, Any]:
    """A pod's own affinity, with every alternative narrowed to the required nodes, and the preferred ones weighed."""
    of_nodes: dict[str, Any] = dict(affinity.get("nodeAffinity") or {})
    if require:
        required = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
        own_terms: list[dict[str, Any]] = required.get("nodeSelectorTerms") or [{"matchFields": []}]
        terms = [
            {**term, "matchFields": [*(term.get("matchFields") or []), _named(node)]}
            for term in own_terms
            if term  # an empty one matches no node
            for node in require
        ]
        of_nodes["requiredDuringSchedulingIgnoredDuringExecution"] = {**required, "nodeSelectorTerms": terms or [{}]}
    if prefer:
        weighed = [{"weight": 100, "preference": {"matchFields": [_named(node)]}} for node in prefer]
        own: list[dict[str, Any]] = of_nodes.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        of_nodes["preferredDuringSchedulingIgnoredDuringExecution"] = [*own, *weighed]
    return {**affinity, "nodeAffinity": of_nodes}


def _named(node: str) -> dict[str, Any]:
    return {"key": "metadata.name", "operator": "In", "values": [node]}


def _avoiding(affinity: Mapping[str, Any], nodes: tuple[str, ...]) -> dict[str, Any]:
    """A pod's own affinity, with these nodes excluded from every alternative it allows."""
    # A requirement on a node's field takes exactly one value; several in one term must all hold.
    excluded = [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in nodes]
    of_nodes: dict[str, Any] = affinity.get("nodeAffinity") or {}
    required: dict[str, Any] = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = [
        {**term, "matchFields": [*(term.get("matchFields") or []), *excluded]} if term else term
        for term in required.get("nodeSelectorTerms") or ()  # an empty one matches no node, and shall not match any now
    ]
    required = {**required, "nodeSelectorTerms": terms or [{"matchFields": excluded}]}
    return {**affinity, "nodeAffinity": {**of_nodes, "requiredDuringSchedulingIgnoredDuringExecution": required}}
