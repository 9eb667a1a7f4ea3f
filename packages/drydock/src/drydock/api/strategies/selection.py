"""Label selectors of objects, node selectors of pods: their rules. Labels are matched by `hawser.fitting.selectors`."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import forbidden, invalid, required
from drydock.api.answers.status import Cause
from drydock.api.objects.metadata import wrong_labels
from drydock.api.objects.names import dns_subdomain, label_key, label_value
from hawser.fitting.selectors import compile_selector

_NEEDS_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
_TAKES_NONE = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_NO_OPERATOR = "not a valid selector operator"


def wrong_selector(path: str, selector: dict[str, Any]) -> Iterator[Cause]:
    yield from wrong_labels(f"{path}.matchLabels", selector.get("matchLabels"))
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        yield from _wrong_requirement(f"{path}.matchExpressions[{index}]", requirement, numeric=False)


def is_readable(selector: dict[str, Any]) -> bool:
    """Whether anything can be selected with it at all."""
    return not any(wrong_selector("", selector))


def as_shown(selector: dict[str, Any] | None) -> dict[str, Any] | None:
    """A selector in the order in which the server prints its fields."""
    if selector is None:
        return None
    shown: dict[str, Any] = {}
    if labels := selector.get("matchLabels"):
        shown["matchLabels"] = dict(sorted(labels.items()))
    if expressions := selector.get("matchExpressions"):
        fields = ("key", "operator", "values")
        shown["matchExpressions"] = [{name: each[name] for name in fields if name in each} for each in expressions]
    return shown


def leaves_out(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    """Whether the labels are not selected. Nothing is known of a selector that cannot be read."""
    return (selector is None or is_readable(selector)) and not compile_selector(selector)(labels)


def is_empty(selector: dict[str, Any]) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def wrong_node_selector(path: str, selector: dict[str, Any]) -> Iterator[Cause]:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from wrong_node_term(f"{path}.nodeSelectorTerms[{index}]", term)


def wrong_node_term(path: str, term: dict[str, Any], *, any_value: bool = False) -> Iterator[Cause]:
    """`any_value`: preferences may name values that no label can have."""
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        here = f"{path}.matchExpressions[{index}]"
        yield from _wrong_requirement(here, requirement, numeric=True, any_value=any_value)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        yield from _wrong_field(f"{path}.matchFields[{index}]", requirement)


def _wrong_requirement(
    path: str, requirement: dict[str, Any], *, numeric: bool, any_value: bool = False
) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    match operator:
        case "In" | "NotIn":
            if not values:
                yield required(f"{path}.values", _NEEDS_VALUES)
        case "Exists" | "DoesNotExist":
            if values:
                yield forbidden(f"{path}.values", _TAKES_NONE)
        case "Gt" | "Lt" if numeric:
            if len(values) != 1:
                told = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                yield required(f"{path}.values", told)
        case _:
            yield invalid(f"{path}.operator", operator, _NO_OPERATOR)
    key = requirement.get("key", "")
    yield from (invalid(f"{path}.key", key, told) for told in label_key(key))
    for index, value in enumerate(() if any_value else values):
        yield from (invalid(f"{path}.values[{index}]", value, told) for told in label_value(value))


def _wrong_field(path: str, requirement: dict[str, Any]) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, _NO_OPERATOR)
    elif len(values) != 1:
        told = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", told)
    key = requirement.get("key", "")
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from (invalid(f"{path}.values[{index}]", value, told) for told in dns_subdomain(value))
