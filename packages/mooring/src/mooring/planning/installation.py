"""Where Mooring's own pods can run, and the smallest change of their placement if no node takes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from hawser.fitting.matching import tolerates
from hawser.fitting.needs import read_needs
from mooring.model.names import NODE_POOL_LABELS, SYSTEM_TAINTS
from mooring.model.node import Node, NodeTemplate, Taint
from mooring.model.placement import Placement
from mooring.model.preflight import Preflight
from mooring.planning.fit import UNREAD, Usage, preflight
from mooring.planning.placement import Placed, may_tolerate, plan_placement, toleration_of


@dataclass(frozen=True, slots=True)
class InstallSnapshot:
    """A Deployment's pod, how many of them, the placement asked for, and the cluster."""

    pod_spec: Mapping[str, Any]  # without that placement, with the affinity
    placement: Placement
    nodes: tuple[Node, ...]
    templates: tuple[NodeTemplate, ...] = ()
    usage: Usage = UNREAD
    replicas: int = 2
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """The placement to write, and whether the pods fit with it; if not, placements with which they fit."""

    placed: Placed
    fits: bool
    message: str
    advice: tuple[Placement, ...] = ()  # the smallest change first
    fix: str = ""  # if no placement helps


def plan_install(snapshot: InstallSnapshot) -> InstallPlan:
    """Judge the placement asked for. Each advised placement is simulated on the current nodes."""
    placed = plan_placement(snapshot.placement, snapshot.nodes, snapshot.templates)
    found = None if placed.problem else _judge(snapshot, placed)
    if found is not None and (found.fits or found.makers):
        return InstallPlan(placed, True, found.sentence)
    advice = tuple(_advise(snapshot))
    message = placed.problem if found is None else found.sentence
    fix = placed.fix if found is None else found.fix
    return InstallPlan(placed, False, message, advice, fix)


def _judge(snapshot: InstallSnapshot, placed: Placed) -> Preflight:
    """The verdict on the last replica, after the others have taken their places."""
    pod_spec, usage, found = placed.on(snapshot.pod_spec), snapshot.usage, None
    for _ in range(max(snapshot.replicas, 1)):
        found = preflight(
            pod_spec, snapshot.nodes, usage, snapshot.templates, namespace=snapshot.namespace, labels=snapshot.labels
        )
        taken = next((one.node for one in found.verdicts if one.fits), None)
        if taken is None:
            return found
        pod = {"metadata": {"namespace": snapshot.namespace, "labels": dict(snapshot.labels)}, "spec": pod_spec}
        residents = (*usage.residents.get(taken, ()), read_needs(pod))
        usage = replace(usage, residents={**usage.residents, taken: residents})
    assert found is not None
    return found


def _advise(snapshot: InstallSnapshot) -> Iterable[Placement]:
    """The first placement that fits of each way: tolerations, a node pool, another selector, nodes of the system."""
    wanted = snapshot.placement
    free = msgspec.structs.replace(wanted, node_pool="", node_selector={})
    ways = (
        _tolerating(snapshot, wanted, system=False),
        _pools(snapshot, wanted),
        _tolerating(snapshot, free, system=False),
        _tolerating(snapshot, free, system=True),
    )
    advised: list[Placement] = []
    for way in ways:
        if way is ways[-1] and advised:
            break  # nodes of the system are for others, as long as there are any
        chosen = next((one for one in way if one != wanted and one not in advised and _fits(snapshot, one)), None)
        if chosen is not None:
            advised.append(chosen)
    return advised


def _fits(snapshot: InstallSnapshot, placement: Placement) -> bool:
    placed = plan_placement(placement, snapshot.nodes, snapshot.templates)
    if placed.problem:
        return False
    found = _judge(snapshot, placed)
    return bool(found.fits or found.makers)


def _tolerating(snapshot: InstallSnapshot, base: Placement, *, system: bool) -> Iterable[Placement]:
    """The same placement with tolerations for the taints of its nodes: the fewest first, then what opens most nodes."""
    placed = plan_placement(base, snapshot.nodes, snapshot.templates)
    opened: dict[tuple[Taint, ...], int] = {}
    for node in snapshot.nodes:
        if node.is_system != system or not placed.node_selector.items() <= node.labels.items():
            continue
        asked = (one for one in node.taints if may_tolerate(one) or (system and one.key in SYSTEM_TAINTS))
        missing = tuple(sorted((one for one in asked if not _tolerated(placed, one)), key=str))
        opened[missing] = opened.get(missing, 0) + 1
    for template in snapshot.templates:
        if template.is_system == system and all(template.may_carry(*label) for label in placed.node_selector.items()):
            missing = tuple(sorted((one for one in template.taints if not _tolerated(placed, one)), key=str))
            opened.setdefault(missing, 0)
    for missing in sorted(opened, key=lambda taints: (len(taints), -opened[taints], list(map(str, taints)))):
        added = [toleration_of(taint) for taint in missing]
        yield msgspec.structs.replace(base, tolerations=[*base.tolerations, *added])


def _tolerated(placed: Placed, taint: Taint) -> bool:
    return tolerates(placed.tolerations, {"key": taint.key, "value": taint.value, "effect": taint.effect})


def _pools(snapshot: InstallSnapshot, wanted: Placement) -> Iterable[Placement]:
    """Node pools by name, the largest first; those of which no node is up come last."""
    nodes: dict[str, int] = {template.pool: 0 for template in snapshot.templates if not template.is_system}
    for node in snapshot.nodes:
        if not node.is_system:
            for name in {node.labels[label] for label in NODE_POOL_LABELS if label in node.labels}:
                nodes[name] = nodes.get(name, 0) + 1
    for name in sorted(nodes, key=lambda name: (-nodes[name], name)):
        yield msgspec.structs.replace(wanted, node_pool=name, node_selector={})
