"""Taints against tolerations, and nodes against selectors and node affinity."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hawser.fitting.needs import PodNeeds
from hawser.fitting.selectors import Object, requirement_holds

Toleration = Mapping[str, Any]

UNSCHEDULABLE_TAINT: Object = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def tolerates(tolerations: Iterable[Toleration], taint: Object) -> bool:
    """Whether any toleration covers the taint."""
    for toleration in tolerations:  # noqa: SIM110 - a generator costs more than the whole check
        if covers(toleration, taint):
            return True
    return False


def covers(toleration: Toleration, taint: Object) -> bool:
    """Whether this toleration covers the taint: an empty effect or key means every one."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    match toleration.get("operator") or "Equal":
        case "Exists":
            return True
        case "Equal":
            return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")
    return False


def untolerated(tolerations: Sequence[Toleration], taints: Iterable[Object]) -> Object | None:
    """The first taint that keeps the pod away."""
    for taint in taints:
        if keeps_away(taint, tolerations):
            return taint
    return None


def keeps_away(taint: Object, tolerations: Sequence[Toleration]) -> bool:
    """Whether the taint forbids the node to a pod with these tolerations."""
    return taint.get("effect") in ("NoSchedule", "NoExecute") and not tolerates(tolerations, taint)


def matches_node(pod: PodNeeds, name: str, labels: Mapping[str, str]) -> bool:
    """The pod's node selector and required node affinity."""
    if any(labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    return pod.required_terms is None or matches_any_term(pod.required_terms, name, labels)


def matches_term(term: Object, name: str, labels: Mapping[str, str]) -> bool:
    """One node selector term: all expressions and fields; an empty term matches nothing."""
    expressions: Sequence[Object] = term.get("matchExpressions") or ()
    fields: Sequence[Object] = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(requirement_holds(one, labels) for one in expressions) and all(
        requirement_holds(one, {"metadata.name": name}) for one in fields
    )


def matches_any_term(terms: Iterable[Object], name: str, labels: Mapping[str, str]) -> bool:
    """Whether one of the alternatives holds; no alternative, no match."""
    return any(matches_term(term, name, labels) for term in terms)
