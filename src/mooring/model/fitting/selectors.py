"""Label selectors as objects carry them (`matchLabels`, `matchExpressions`) and as plain maps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Object = dict[str, Any]
Matcher = Callable[[Mapping[str, str]], bool]


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
    pairs = tuple((selector.get("matchLabels") or {}).items())
    expressions: Sequence[Object] = tuple(selector.get("matchExpressions") or ())
    if not pairs and not expressions:
        return match_everything

    def matches(labels: Mapping[str, str]) -> bool:
        return all(labels.get(name) == value for name, value in pairs) and all(
            requirement_holds(expression, labels) for expression in expressions
        )

    return matches


def requirement_holds(requirement: Object, labels: Mapping[str, str]) -> bool:
    """One expression; `Gt` and `Lt` exist for node selectors only and compare whole numbers."""
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
    if value is None or len(values) != 1:
        return 0
    try:
        left, right = int(value), int(values[0])
    except ValueError:
        return 0
    return (left > right) - (left < right)
