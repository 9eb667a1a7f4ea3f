"""The command that gives a service a berth: another placement, a node opened again, or a look at what is there.

Every change is tried in thought on the nodes as they are before it is printed.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mooring.model.fitting.matching import UNSCHEDULABLE_TAINT, tolerates
from mooring.model.node import Node, Taint
from mooring.model.pool import Placement
from mooring.model.service import Service
from mooring.planning.fit import preflight
from mooring.planning.placement import NODE_POOL_LABELS, Placed, may_tolerate, plan_placement, toleration_of
from mooring.planning.services.fixes import patch_service

_POD = {"containers": [{"name": "main"}]}


def plan_fix(service: Service, placed: Placed, nodes: tuple[Node, ...]) -> str:
    """What to run, where no node takes the service."""
    wish = service.spec.placement
    if wish.warmup_required and placed.problem and not plan_placement(wish, nodes).problem:
        return f"mooring warmups {wish.warmup}"  # the nodes are there, and what they are to hold is not
    if change := _replace(service, nodes):
        return change[0]
    opened = tuple(_uncordoned(node) for node in nodes)
    if not placed.problem and (node := _first_cordoned(placed, nodes, opened)):
        return f"kubectl uncordon {node}"
    if change := _replace(service, opened):
        command, elsewhere = change
        return f"{command} && kubectl uncordon {_first_cordoned(elsewhere, nodes, opened)}"
    return _look(placed, nodes)


def _look(placed: Placed, nodes: Iterable[Node]) -> str:
    """Where no change of ours helps: at the node that it would go to, were that well."""
    work = [node for node in nodes if not node.is_system]
    meant = [node for node in work if placed.node_selector.items() <= node.labels.items()]
    first = min((node.name for node in meant or work), default="")
    return f"kubectl describe node {first}" if first else "kubectl get nodes -o wide"


def _replace(service: Service, nodes: tuple[Node, ...]) -> tuple[str, Placed] | None:
    """Another placement that nodes take: the pool of most of them, or tolerations where they have no pool's label."""
    for placement in (*_pools(nodes), *_tolerating(service, nodes)):
        placed, change = plan_placement(placement, nodes), _difference(service.spec.placement, placement)
        if change and not placed.problem and preflight(placed.on(_POD), nodes).fits:
            return patch_service(service, placement=change), placed
    return None


def _pools(nodes: Iterable[Node]) -> Iterable[Placement]:
    names = Counter(
        name
        for node in nodes
        if not node.is_system
        for name in {node.labels[label] for label in NODE_POOL_LABELS if label in node.labels}
    )
    return (Placement(node_pool=name) for name, _ in names.most_common())


def _tolerating(service: Service, nodes: Iterable[Node]) -> Iterable[Placement]:
    """The service's own selector, or none, with the tolerations that a node asks for: what most nodes ask for first."""
    own = service.spec.placement
    asked: Counter[tuple[str, ...]] = Counter()
    placements: dict[tuple[str, ...], Placement] = {}
    for node in nodes:
        if node.is_system:
            continue
        added = [toleration_of(one) for one in node.taints if may_tolerate(one) and not _tolerated(own, one)]
        selector = own.node_selector if own.node_selector.items() <= node.labels.items() else {}
        key = tuple(sorted(map(str, (selector, *added))))
        asked[key] += 1
        placements[key] = Placement(node_selector=selector, tolerations=[*own.tolerations, *added])
    return (placements[key] for key, _ in asked.most_common())


def _tolerated(placement: Placement, taint: Taint) -> bool:
    return tolerates(placement.tolerations, {"key": taint.key, "value": taint.value, "effect": taint.effect})


def _difference(before: Placement, after: Placement) -> dict[str, Any]:
    """A merge patch from one to the other; what goes is null."""
    changed: dict[str, Any] = {}
    if before.node_pool != after.node_pool:
        changed["nodePool"] = after.node_pool or None
    if before.node_selector and before.node_selector != after.node_selector:
        changed["nodeSelector"] = after.node_selector or None
    if after.tolerations and before.tolerations != after.tolerations:
        changed["tolerations"] = after.tolerations
    return changed


def _uncordoned(node: Node) -> Node:
    taints = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE_TAINT["key"])
    return replace(node, unschedulable=False, taints=taints)


def _first_cordoned(placed: Placed, nodes: tuple[Node, ...], opened: tuple[Node, ...]) -> str:
    """The first node that would take it, were it not cordoned; empty when there is none."""
    verdicts = preflight(placed.on(_POD), opened).verdicts
    cordoned = {node.name for node in nodes if node.unschedulable}
    return min((one.node for one in verdicts if one.fits and one.node in cordoned), default="")
