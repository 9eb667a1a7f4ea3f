"""The judge of fit: one pod against one node, by kube-scheduler's filters in kube-scheduler's order.

judge           the scheduler's verdict: the first filter that fails decides, the others are not asked
find_obstacles  everything that stands in the way, for explanations
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec

from hawser.fitting.capacity import NodeState
from hawser.fitting.matching import UNSCHEDULABLE_TAINT, keeps_away, matches_any_term, tolerates
from hawser.fitting.needs import PodNeeds
from hawser.fitting.obstacles import (
    CORDONED,
    NOT_SELECTED,
    OTHER_NODE,
    PORTS_TAKEN,
    TOO_MANY_PODS,
    VOLUME_ELSEWHERE,
    VOLUME_ZONE,
    Kind,
    Obstacle,
    insufficient,
    unselected,
    untolerated_taint,
)
from hawser.fitting.selectors import Object
from hawser.fitting.topology import UNCONSTRAINED, TopologyConstraints
from hawser.fitting.volumes import BoundVolume

Volumes = Sequence[BoundVolume]
Obstacles = Sequence[Obstacle]
_Filter = Callable[[PodNeeds, NodeState, TopologyConstraints, Volumes], Obstacles]


class _OfAKind(Protocol):
    @property
    def kind(self) -> Kind: ...


_OfAKindT = TypeVar("_OfAKindT", bound=_OfAKind)


class Verdict(msgspec.Struct, frozen=True):
    """Why a pod cannot go to a node; no obstacles means it can."""

    obstacles: tuple[Obstacle, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.obstacles

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple([obstacle.reason for obstacle in self.obstacles])

    @property
    def preemptible(self) -> bool:
        """Whether fewer pods on the node might help."""
        for obstacle in self.obstacles:
            if not obstacle.preemptible:
                return False
        return bool(self.obstacles)


FITS = Verdict()


def judge(pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Volumes = ()) -> Verdict:
    """Whether the pod may run on the node, and why not, as the scheduler says it."""
    for check in _FILTERS:
        if found := check(pod, node, topology, volumes):
            return Verdict(decisive(found))
    return FITS


def find_obstacles(
    pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Volumes = ()
) -> tuple[Obstacle, ...]:
    """All of them: the smallest change must get past every one."""
    return tuple(obstacle for check in _FILTERS for obstacle in check(pod, node, topology, volumes))


def decisive(obstacles: Sequence[_OfAKindT]) -> tuple[_OfAKindT, ...]:
    """Those that the scheduler names: the first one, or every resource that is short."""
    if not obstacles:
        return ()
    first = obstacles[0]
    if first.kind is not Kind.RESOURCE:
        return (first,)
    return tuple([one for one in obstacles if one.kind is Kind.RESOURCE])


# Filters are called for every node of every pending pod: each begins with the cheapest way to say "no objection".


def _closed(pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Volumes) -> Obstacles:
    if not node.unschedulable and not pod.node_name:
        return ()
    found = []
    if node.unschedulable and not tolerates(pod.tolerations, UNSCHEDULABLE_TAINT):
        found.append(CORDONED)
    if pod.node_name and pod.node_name != node.name:
        found.append(OTHER_NODE)
    return found


def _taints(pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Volumes) -> Obstacles:
    if not node.taints:
        return ()
    found = []
    for taint in node.taints:
        if keeps_away(taint, pod.tolerations) and not (node.unschedulable and _repeats_cordon(taint, pod)):
            found.append(untolerated_taint(taint))
    return found


def _repeats_cordon(taint: Object, pod: PodNeeds) -> bool:
    """Whether the taint of a cordoned node says only what is an obstacle already."""
    return taint["key"] == UNSCHEDULABLE_TAINT["key"] and not tolerates(pod.tolerations, UNSCHEDULABLE_TAINT)


def _node_affinity(pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Volumes) -> Obstacles:
    if not pod.node_selector and pod.required_terms is None:
        return ()
    found = []
    labels = node.labels
    if missing := [pair for pair in pod.node_selector.items() if labels.get(pair[0]) != pair[1]]:
        found.append(unselected(tuple(missing)))
    if pod.required_terms is not None and not matches_any_term(pod.required_terms, node.name, labels):
        found.append(NOT_SELECTED)
    return found


def _ports(pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Volumes) -> Obstacles:
    return (PORTS_TAKEN,) if pod.ports and node.ports_clash(pod.ports) else ()


def _resources(pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Volumes) -> Obstacles:
    found: list[Obstacle] | None = None
    allocatable, requested = node.allocatable, node.requested
    if len(node.pods) + 1 > allocatable.get("pods", 0):
        found = [TOO_MANY_PODS]
    for name, wanted in pod.requests.items():
        offered = allocatable.get(name, 0)
        if wanted > 0 and wanted > offered - requested.get(name, 0):
            found = found or []
            found.append(insufficient(name, wanted <= offered))
    return found or ()


def _volumes(pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Volumes) -> Obstacles:
    return list(_misplaced(node, volumes)) if volumes else ()


def _misplaced(node: NodeState, volumes: Volumes) -> Iterator[Obstacle]:
    for volume in volumes:
        if volume.terms is not None and not matches_any_term(volume.terms, node.name, node.labels):
            yield VOLUME_ELSEWHERE
        elif not volume.in_zone(node.labels):
            yield VOLUME_ZONE


def _topology(pod: PodNeeds, node: NodeState, topology: TopologyConstraints, volumes: Volumes) -> Obstacles:
    if topology is UNCONSTRAINED:
        return ()
    obstacle = topology.obstacle(node.labels)
    return () if obstacle is None else (obstacle,)


_FILTERS: tuple[_Filter, ...] = (
    _closed,
    _taints,
    _node_affinity,
    _ports,
    _resources,
    _volumes,
    _topology,
)
