"""The command that makes a service schedulable: another placement, an uncordon, or a command to inspect nodes.

Each suggested fix is simulated on the current nodes before it is printed.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from hawser.fitting.matching import UNSCHEDULABLE_TAINT, tolerates
from mooring.model.names import NODE_POOL_LABELS
from mooring.model.node import Node, Taint
from mooring.model.placement import Placement
from mooring.model.service import Service
from mooring.planning.fit import preflight
from mooring.planning.placement import Placed, may_tolerate, plan_placement, toleration_of
from mooring.planning.pod_template import shape_pod
from mooring.planning.services.fixes import patch_service

_POD = {"containers": [{"name": "main"}]}
_SCHEDULING = ("nodeSelector", "resources", "affinity", "topologySpreadConstraints")


def plan_fix(service: Service, placed: Placed, nodes: tuple[Node, ...]) -> str:
    """The command to run if no node takes the service."""
    placement = service.spec.placement
    if placement.warmup_required and placed.problem and not plan_placement(placement, nodes).problem:
        return f"mooring warmups {placement.warmup}"  # the nodes exist, but its Warmup is not warm on them
    if change := _replace(service, nodes):
        return change[0]
    opened = tuple(_uncordoned(node) for node in nodes)
    pod = _pod(service)
    if not placed.problem and (node := _first_cordoned(placed.on(pod), nodes, opened)):
        return f"kubectl uncordon {node}"
    if change := _replace(service, opened):
        command, elsewhere = change
        return f"{command} && kubectl uncordon {_first_cordoned(elsewhere.on(pod), nodes, opened)}"
    return _relax(service, nodes) or _look(placed, nodes)


def _pod(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = shape_pod(service.spec.pod_template, {"spec": _POD})["spec"]
    return found


def _relax(service: Service, nodes: tuple[Node, ...]) -> str:
    """The command that takes out of the template what keeps its pods from every node; empty if that is not it."""
    template = msgspec.to_builtins(service.spec.pod_template)
    asked = {name: None for name in _SCHEDULING if name in template}
    placed = plan_placement(service.spec.placement, nodes)
    if not asked or placed.problem or not preflight(placed.on(_POD), nodes).fits:
        return ""
    return patch_service(service, podTemplate=asked)


def _look(placed: Placed, nodes: Iterable[Node]) -> str:
    """Where no change of Mooring's objects helps: inspect the node that would take the service if it were healthy."""
    work = [node for node in nodes if not node.is_system]
    meant = [node for node in work if placed.node_selector.items() <= node.labels.items()]
    first = min((node.name for node in meant or work), default="")
    return f"kubectl describe node {first}" if first else "kubectl get nodes -o wide"


def _replace(service: Service, nodes: tuple[Node, ...]) -> tuple[str, Placed] | None:
    """Another placement that fits: the node pool with most nodes, or tolerations if no node pool has a label."""
    for placement in (*_pools(nodes), *_tolerating(service, nodes)):
        placed = plan_placement(service.spec.pod_template.placement(placement), nodes)
        change = _difference(service.spec.placement, placement)
        if change and not placed.problem and preflight(placed.on(_pod(service)), nodes).fits:
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
    """The service's own selector, or none, with tolerations for the taints of nodes; the most frequent taints first."""
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
    """A merge patch from one placement to the other; removed fields are null."""
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


def _first_cordoned(pod: dict[str, Any], nodes: tuple[Node, ...], opened: tuple[Node, ...]) -> str:
    """The first node that would take the service if it were not cordoned; empty if there is none."""
    verdicts = preflight(pod, opened).verdicts
    cordoned = {node.name for node in nodes if node.unschedulable}
    return min((one.node for one in verdicts if one.fits and one.node in cordoned), default="")
