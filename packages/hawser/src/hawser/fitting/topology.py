"""Pod affinity, anti-affinity and topology spread: what placed pods mean for one more, counted once a decision."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from hawser.fitting.capacity import NodeState
from hawser.fitting.matching import matches_node, untolerated
from hawser.fitting.needs import AffinityTerm, PodNeeds, Spread
from hawser.fitting.obstacles import NOT_FAR, NOT_NEAR, REFUSED, SKEWED, UNLABELLED, Obstacle
from hawser.fitting.selectors import match_everything

Topology = tuple[str, str]  # node label, value
NamespaceLabels = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class SpreadCount:
    """One spread constraint with the matching pods counted in each domain."""

    spread: Spread
    matches_itself: bool
    counts: Mapping[str, int]

    @property
    def smallest(self) -> int:
        return min(self.counts.values(), default=0) if len(self.counts) >= self.spread.min_domains else 0


@dataclass(frozen=True, slots=True)
class TopologyConstraints:
    """The affinity and spread constraints of one pod, with the placed pods that they count in each domain."""

    near: tuple[AffinityTerm, ...] = ()
    near_counts: Mapping[Topology, int] = field(default_factory=dict)
    may_be_first: bool = False
    far: tuple[AffinityTerm, ...] = ()
    far_counts: Mapping[Topology, int] = field(default_factory=dict)
    refused: frozenset[Topology] = frozenset()
    spreads: tuple[SpreadCount, ...] = ()

    def obstacle(self, labels: Mapping[str, str]) -> Obstacle | None:
        """What forbids a node with these labels."""
        for counted in self.spreads:
            value = labels.get(counted.spread.topology_key)
            if value is None:
                return UNLABELLED
            if counted.counts.get(value, 0) + counted.matches_itself - counted.smallest > counted.spread.max_skew:
                return SKEWED
        if not self._near_enough(labels):
            return NOT_NEAR
        for term in self.far:
            value = labels.get(term.topology_key)
            if value is not None and self.far_counts.get((term.topology_key, value), 0) > 0:
                return NOT_FAR
        if any(labels.get(key) == value for key, value in self.refused):
            return REFUSED
        return None

    def _near_enough(self, labels: Mapping[str, str]) -> bool:
        found = True
        for term in self.near:
            value = labels.get(term.topology_key)
            if value is None:
                return False
            found = found and self.near_counts.get((term.topology_key, value), 0) > 0
        # The first pod of a group that wants to be near itself has nobody to be near to.
        return found or (self.may_be_first and not self.near_counts)


UNCONSTRAINED = TopologyConstraints()


def count_topology(
    pod: PodNeeds,
    nodes: Iterable[NodeState],
    refusing: Iterable[tuple[NodeState, PodNeeds]],
    namespace_labels: NamespaceLabels,
) -> TopologyConstraints:
    """Count the pods of each domain. `refusing` are the placed pods with required anti-affinity terms of their own."""
    refused = frozenset(_refused_by(pod, refusing, namespace_labels))
    if not pod.has_topology_constraints:
        return TopologyConstraints(refused=refused) if refused else UNCONSTRAINED
    nodes = tuple(nodes)
    required = tuple(spread for spread in pod.spreads if spread.required)
    own_labels = namespace_labels(pod.namespace)
    return TopologyConstraints(
        near=pod.affinity,
        near_counts=_count_matching(pod.affinity, nodes, namespace_labels, together=True),
        may_be_first=all(term.covers(pod.namespace, own_labels, pod.labels) for term in pod.affinity),
        far=pod.anti_affinity,
        far_counts=_count_matching(pod.anti_affinity, nodes, namespace_labels, together=False),
        refused=refused,
        spreads=tuple(count_spread(pod, spread, required, nodes) for spread in required),
    )


def count_spread(
    pod: PodNeeds,
    spread: Spread,
    together: tuple[Spread, ...],
    nodes: Iterable[NodeState],
) -> SpreadCount:
    """The matching pods in each domain; nodes must carry the labels of all constraints that hold `together`."""
    counts: dict[str, int] = {}
    for node in nodes:
        if not all(one.topology_key in node.labels for one in together) or not _takes_part(pod, spread, node):
            continue
        domain = node.labels[spread.topology_key]
        counts[domain] = counts.get(domain, 0) + sum(_counts(pod, spread, other) for other in node.pods.values())
    return SpreadCount(spread, spread.selector(pod.labels), counts)


def _takes_part(pod: PodNeeds, spread: Spread, node: NodeState) -> bool:
    """Whether a node counts for a spread constraint of the pod."""
    if spread.honours_affinity and not matches_node(pod, node.name, node.labels):
        return False
    return not spread.honours_taints or untolerated(pod.tolerations, node.taints) is None


def _counts(pod: PodNeeds, spread: Spread, other: PodNeeds) -> bool:
    """Whether the other one is among those to spread. An empty selector spreads nobody, though it matches all."""
    if other.terminating or other.namespace != pod.namespace or spread.selector is match_everything:
        return False
    return spread.selector(other.labels)


def _refused_by(
    pod: PodNeeds, refusing: Iterable[tuple[NodeState, PodNeeds]], namespace_labels: NamespaceLabels
) -> Iterable[Topology]:
    for node, other in refusing:
        for term in other.anti_affinity:
            value = node.labels.get(term.topology_key)
            if value is not None and term.covers(pod.namespace, namespace_labels(pod.namespace), pod.labels):
                yield term.topology_key, value


def _count_matching(
    terms: tuple[AffinityTerm, ...],
    nodes: tuple[NodeState, ...],
    namespace_labels: NamespaceLabels,
    *,
    together: bool,
) -> Mapping[Topology, int]:
    """Matching pods by topology. With `together` only pods that match every term count (affinity)."""
    counts: dict[Topology, int] = {}
    if not terms:
        return counts
    for node in nodes:
        for other in node.pods.values():
            labels = namespace_labels(other.namespace)
            matched = [term for term in terms if term.covers(other.namespace, labels, other.labels)]
            if together and len(matched) != len(terms):
                continue
            for term in matched:
                value = node.labels.get(term.topology_key)
                if value is not None:
                    counts[term.topology_key, value] = counts.get((term.topology_key, value), 0) + 1
    return counts
