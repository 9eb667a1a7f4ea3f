"""Nodes that drain and to which the scheduler still assigns pods.

A worker that is made there would be deleted as soon as it is ready, and the next one after it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hawser.fitting.matching import UNSCHEDULABLE_TAINT, untolerated
from mooring.model.node import Node
from mooring.planning.placement import Placed


def find_leaving_nodes(nodes: Iterable[Node], placed: Placed, template: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of draining nodes that match the placement and whose taints keep no worker away.

    A NodeClaim can be deleted long before its node is tainted, and a template can tolerate a cordon.
    """
    leaving = [
        node
        for node in nodes
        if node.ready and node.draining_because and placed.node_selector.items() <= node.labels.items()
    ]
    if not leaving:
        return ()
    tolerations = (*((template.get("spec") or {}).get("tolerations") or ()), *placed.tolerations)
    return tuple(sorted(node.name for node in leaving if not _keeps_away(node, tolerations)))


def _keeps_away(node: Node, tolerations: Sequence[Mapping[str, Any]]) -> bool:
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints]
    if node.unschedulable:
        taints.append(dict(UNSCHEDULABLE_TAINT))
    return untolerated(tolerations, taints) is not None
