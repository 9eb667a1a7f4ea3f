"""Where pods may run: the node selector and tolerations, derived from the labels and taints of the nodes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from typing import Any

from mooring.model.names import DISRUPTION_TAINTS, LIFECYCLE_TAINT_PREFIXES, NODE_POOL_LABELS, SYSTEM_TAINTS
from mooring.model.node import Node, NodeTemplate, Taint
from mooring.model.placement import Placement


@dataclass(frozen=True, slots=True)
class Placed:
    """The placement of a pod: selector, tolerations and nodes to avoid, and how many nodes match."""

    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    nodes: int = 0
    problem: str = ""
    fix: str = ""
    avoid: tuple[str, ...] = ()  # names of nodes that are quarantined for new workers, or drain without a taint
    templates: tuple[str, ...] = ()  # names of node pools that could create a matching node
    prefer: tuple[str, ...] = ()  # names of preferred nodes
    require: tuple[str, ...] = ()  # names of nodes of which one is required; empty: any node
    settled: bool = True  # whether everything that the placement is derived from has been read

    @property
    def fingerprint(self) -> str:
        """Changes when new pods would get another placement than existing ones.

        Nodes to avoid are not part of it.
        """
        terms = sorted(":".join(str(part) for part in sorted(one.items())) for one in self.tolerations)
        parts = [*map(repr, sorted(self.node_selector.items())), *terms, *self.require]
        return sha256("\n".join(parts).encode()).hexdigest()[:16]

    def on(self, pod_spec: Mapping[str, Any]) -> dict[str, Any]:
        """A pod spec with this placement added."""
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


def place_near(placed: Placed, placement: Placement, warm: tuple[str, ...] | None) -> Placed:
    """A placement drawn to the nodes where its Warmup is warm, or bound to them. `warm` is None without a Warmup."""
    if not placement.warmup or placed.problem:
        return placed
    if not placement.warmup_required:
        return replace(placed, prefer=warm or ())
    if not warm:
        message = "is warm on no node" if warm is not None else "does not exist in this namespace"
        problem = f"warmup {placement.warmup!r} {message}, and placement.warmupRequired is true"
        return replace(placed, problem=problem, fix=f"see 'mooring warmups {placement.warmup}'")
    return replace(placed, require=warm)


def plan_placement(placement: Placement, nodes: Iterable[Node], templates: Iterable[NodeTemplate] = ()) -> Placed:
    """Compute the selector, and the tolerations for the taints of its nodes or of nodes still to be created."""
    candidates = [node for node in nodes if not node.is_system]
    makers = [template for template in templates if not template.is_system]
    if placement.node_pool:
        label = _pool_label(placement.node_pool, candidates, makers)
        if label is None:
            return Placed(
                problem=f"no node belongs to a pool named {placement.node_pool!r}",
                fix=f"label its nodes {NODE_POOL_LABELS[0]}={placement.node_pool}, or name another nodePool",
            )
        selector = {**placement.node_selector, label: placement.node_pool}
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
    """Whether a taint describes the purpose of a node, not its health and not that it is a system node."""
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
    """The toleration for a taint."""
    if taint.value:
        return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def _near(affinity: Mapping[str, Any], require: tuple[str, ...], prefer: tuple[str, ...]) -> dict[str, Any]:
    """The pod's own affinity, restricted to the required nodes, with a weight for the preferred ones."""
    of_nodes: dict[str, Any] = dict(affinity.get("nodeAffinity") or {})
    if require:
        required = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
        own_terms: list[dict[str, Any]] = required.get("nodeSelectorTerms") or [{"matchFields": []}]
        terms = [
            {**term, "matchFields": [*(term.get("matchFields") or []), _named(node)]}
            for term in own_terms
            if term  # an empty term matches no node
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
    """The pod's own affinity, with these nodes excluded from every alternative."""
    # A requirement on a node's field takes exactly one value; several requirements in one term must all hold.
    excluded = [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in nodes]
    of_nodes: dict[str, Any] = affinity.get("nodeAffinity") or {}
    required: dict[str, Any] = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = [
        {**term, "matchFields": [*(term.get("matchFields") or []), *excluded]} if term else term
        for term in required.get("nodeSelectorTerms") or ()  # an empty term matches no node, and must not match any now
    ]
    required = {**required, "nodeSelectorTerms": terms or [{"matchFields": excluded}]}
    return {**affinity, "nodeAffinity": {**of_nodes, "requiredDuringSchedulingIgnoredDuringExecution": required}}
