"""Where a pod may run: tolerations, affinities, spreading."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import duplicate, invalid, not_supported, required
from drydock.api.answers.status import Cause
from drydock.api.objects.names import dns_label, label_key, label_value
from drydock.api.strategies.selection import wrong_node_selector, wrong_node_term, wrong_selector

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_OPERATORS = ("Equal", "Exists")
_COMPARING_OPERATORS = ("Equal", "Exists", "Lt", "Gt")


def wrong_tolerations(path: str, tolerations: list[dict[str, Any]]) -> Iterator[Cause]:
    for index, toleration in enumerate(tolerations):
        yield from _wrong_toleration(f"{path}[{index}]", toleration)


def wrong_affinity(path: str, affinity: dict[str, Any]) -> Iterator[Cause]:
    node = affinity.get("nodeAffinity") or {}
    here = f"{path}.nodeAffinity"
    if _REQUIRED in node:
        yield from wrong_node_selector(f"{here}.{_REQUIRED}", node[_REQUIRED])
    for index, preference in enumerate(node.get(_PREFERRED) or ()):
        place = f"{here}.{_PREFERRED}[{index}]"
        yield from _wrong_weight(place, preference)
        yield from wrong_node_term(f"{place}.preference", preference.get("preference") or {}, any_value=True)
    for name in ("podAffinity", "podAntiAffinity"):
        yield from _wrong_pod_affinity(f"{path}.{name}", affinity.get(name) or {})


def wrong_spreading(path: str, constraints: list[dict[str, Any]]) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        here = f"{path}[{index}]"
        if constraint.get("maxSkew", 0) <= 0:
            yield invalid(f"{here}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        if not key:
            yield required(f"{here}.topologyKey", "can not be empty")
        if action not in _UNSATISFIABLE:
            yield not_supported(f"{here}.whenUnsatisfiable", action, _UNSATISFIABLE)
        if (key, action) in seen:
            yield duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        seen.add((key, action))
        yield from wrong_selector(f"{here}.labelSelector", constraint.get("labelSelector") or {})


def _wrong_toleration(path: str, toleration: dict[str, Any]) -> Iterator[Cause]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    effect, value = toleration.get("effect", ""), toleration.get("value", "")
    if key:
        yield from (invalid(f"{path}.key", key, told) for told in label_key(key))
    elif operator != "Exists":
        told = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, told)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    yield from _wrong_operator(path, operator, value)
    if effect and effect not in TAINT_EFFECTS:
        yield not_supported(f"{path}.effect", effect, TAINT_EFFECTS)


def _wrong_operator(path: str, operator: str, value: str) -> Iterator[Cause]:
    match operator:
        case "" | "Equal":
            if wrong := label_value(value):
                yield invalid(f"{path}.operator", value, ";".join(wrong))
        case "Exists":
            if value:
                yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
        case "Lt" | "Gt":
            yield not_supported(f"{path}.operator", operator, _COMPARING_OPERATORS)
        case _:
            yield not_supported(f"{path}.operator", operator, _OPERATORS)


def _wrong_pod_affinity(path: str, affinity: dict[str, Any]) -> Iterator[Cause]:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        yield from _wrong_affinity_term(f"{path}.{_REQUIRED}[{index}]", term)
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        here = f"{path}.{_PREFERRED}[{index}]"
        yield from _wrong_weight(here, weighted)
        yield from _wrong_affinity_term(f"{here}.podAffinityTerm", weighted.get("podAffinityTerm") or {})


def _wrong_affinity_term(path: str, term: dict[str, Any]) -> Iterator[Cause]:
    yield from wrong_selector(f"{path}.labelSelector", term.get("labelSelector") or {})
    yield from wrong_selector(f"{path}.namespaceSelector", term.get("namespaceSelector") or {})
    for name in term.get("namespaces") or ():
        yield from (invalid(f"{path}.namespace", name, told) for told in dns_label(name))
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from (invalid(f"{path}.topologyKey", key, told) for told in label_key(key))


def _wrong_weight(path: str, weighted: dict[str, Any]) -> Iterator[Cause]:
    weight = weighted.get("weight", 0)
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")
