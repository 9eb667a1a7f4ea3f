"""Label selectors: as objects carry them (`matchLabels`, `matchExpressions`), as requirements, as plain maps."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Object = dict[str, Any]
Matcher = Callable[[Mapping[str, str]], bool]

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")  # int() would take "1_0" and " 1" too


def match_everything(labels: Mapping[str, str]) -> bool:
    return True


def match_nothing(labels: Mapping[str, str]) -> bool:
    return False


def compile_map(wanted: Mapping[str, str] | None) -> Matcher:
    """A Service's selector: every pair must be there; no selector selects nothing."""
    if not wanted:
        return match_nothing
    pairs = tuple(wanted.items())
    return lambda labels: all(labels.get(name) == value for name, value in pairs)


def compile_selector(selector: Object | None) -> Matcher:
    """A LabelSelector: absent selects nothing, empty selects everything."""
    if selector is None:
        return match_nothing
    return compile_requirements(selector.get("matchExpressions") or (), selector.get("matchLabels") or {})


def compile_requirements(requirements: Iterable[Object], labels: Mapping[str, str]) -> Matcher:
    """All requirements and all labels must hold; none at all match everything."""
    pairs = tuple(labels.items())
    expressions = tuple(requirements)
    if not pairs and not expressions:
        return match_everything

    def matches(labels: Mapping[str, str]) -> bool:
        for name, value in pairs:
            if labels.get(name) != value:
                return False
        for expression in expressions:  # noqa: SIM110 - called for every object of a list; a generator is slower
            if not requirement_holds(expression, labels):
                return False
        return True

    return matches


def requirement_holds(requirement: Object, labels: Mapping[str, str]) -> bool:
    """One expression; `Gt` and `Lt`, of node selectors and of queries, compare whole numbers."""
    value = labels.get(requirement["key"])
    values: Sequence[str] = requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _compare(value, values) > 0
        case "Lt":
            return _compare(value, values) < 0
    return False


def _compare(value: str | None, values: Sequence[str]) -> int:
    if value is None or len(values) != 1 or not is_whole_number(value) or not is_whole_number(values[0]):
        return 0
    left, right = int(value), int(values[0])
    return (left > right) - (left < right)


def is_whole_number(text: str) -> bool:
    """Whether `Gt` and `Lt` can compare it."""
    return _WHOLE_NUMBER.fullmatch(text) is not None
