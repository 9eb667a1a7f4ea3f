"""Which of the nodes a pod fits on is best: weighted scores of 0 to 100, as kube-scheduler weighs them.

Counted: taints the pod would rather avoid (3), preferred node and pod affinity (2), soft topology spread (2) and
free cpu and memory (1). Left out: balanced allocation and image locality.
"""

from collections.abc import Sequence

from hawser.fitting.capacity import NodeState
from hawser.fitting.matching import matches_term, tolerates
from hawser.fitting.needs import ASSUMED_CPU, ASSUMED_MEMORY, AffinityTerm, PodNeeds
from hawser.fitting.topology import NamespaceLabels, count_spread

_TAINTS, _NODE_AFFINITY, _POD_AFFINITY, _SPREAD = 3, 2, 2, 2


def best_nodes(
    pod: PodNeeds,
    feasible: Sequence[NodeState],
    everyone: Sequence[NodeState],
    namespace_labels: NamespaceLabels,
) -> list[NodeState]:
    """The nodes with the highest score, in their order."""
    totals = [_free_share(pod, node) for node in feasible]

    def add(weight: int, shares: Sequence[int]) -> None:
        for place, share in enumerate(shares):
            totals[place] += weight * share

    avoided = [_avoided_taints(pod, node) for node in feasible]
    if any(avoided):
        add(_TAINTS, _scaled(avoided, reverse=True))
    if pod.preferred_terms:
        add(_NODE_AFFINITY, _scaled([_preferred_weight(pod, node) for node in feasible]))
    if pod.preferred_affinity or pod.preferred_anti_affinity:
        add(_POD_AFFINITY, _stretched(_company(pod, feasible, everyone, namespace_labels)))
    for spread in pod.spreads:
        if not spread.required:
            counts = count_spread(pod, spread, (spread,), everyone).counts
            crowds = [counts.get(node.labels.get(spread.topology_key, ""), 0) for node in feasible]
            add(_SPREAD, _scaled(crowds, reverse=True))
    highest = max(totals)
    return [node for node, total in zip(feasible, totals, strict=True) if total == highest]


def _free_share(pod: PodNeeds, node: NodeState) -> int:
    """The mean of the shares of cpu and memory that would be left."""
    shares: list[int] = []
    for name, taken, wanted in (
        ("cpu", node.assumed_cpu, pod.requests.get("cpu") or ASSUMED_CPU),
        ("memory", node.assumed_memory, pod.requests.get("memory") or ASSUMED_MEMORY),
    ):
        offered = node.allocatable.get(name, 0)
        if offered:
            shares.append(max(0, offered - taken - wanted) * 100 // offered)
    return sum(shares) // len(shares) if shares else 0


def _avoided_taints(pod: PodNeeds, node: NodeState) -> int:
    return sum(
        1
        for taint in node.taints
        if taint.get("effect") == "PreferNoSchedule" and not tolerates(pod.tolerations, taint)
    )


def _preferred_weight(pod: PodNeeds, node: NodeState) -> int:
    return sum(
        preferred["weight"]
        for preferred in pod.preferred_terms
        if matches_term(preferred["preference"], node.name, node.labels)
    )


def _company(
    pod: PodNeeds, feasible: Sequence[NodeState], everyone: Sequence[NodeState], namespace_labels: NamespaceLabels
) -> list[int]:
    """Pods of the domain that affinity wants minus those it does not, by each term's weight."""
    weights: dict[tuple[str, str], int] = {}

    def weigh(term: AffinityTerm, sign: int) -> None:
        for node in everyone:
            domain = node.labels.get(term.topology_key)
            if domain is None:
                continue
            for other in node.pods.values():
                if term.covers(other.namespace, namespace_labels(other.namespace), other.labels):
                    place = (term.topology_key, domain)
                    weights[place] = weights.get(place, 0) + sign * term.weight

    for term in pod.preferred_affinity:
        weigh(term, 1)
    for term in pod.preferred_anti_affinity:
        weigh(term, -1)
    return [sum(weights.get(pair, 0) for pair in node.labels.items()) for node in feasible]


def _scaled(values: Sequence[int], *, reverse: bool = False) -> list[int]:
    """Values from 0 on a scale to 100, or from 100 down."""
    largest = max(values)
    shares = [100 * value // largest if largest else 0 for value in values]
    return [100 - share for share in shares] if reverse else shares


def _stretched(values: Sequence[int]) -> list[int]:
    """The smallest value becomes 0, the largest 100."""
    low, high = min(values), max(values)
    return [100 * (value - low) // (high - low) if high > low else 0 for value in values]
