"""The policies of a Job: what a failed pod means, and when enough indexes have succeeded."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import duplicate, invalid, not_supported, required, too_many
from drydock.api.answers.status import Cause
from drydock.api.objects.names import label_key

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MOST_RULES = 20
_MOST_PATTERNS = 20
_MOST_EXIT_CODES = 255


def wrong_failure_policy(path: str, spec: dict[str, Any]) -> Iterator[Cause]:
    policy = spec.get("podFailurePolicy")
    if policy is None:
        return
    rules = policy.get("rules") or []
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {each.get("name") for part in ("containers", "initContainers") for each in pod.get(part) or ()}
    for index, rule in enumerate(rules):
        yield from _wrong_rule(f"{path}.rules[{index}]", rule, spec, names)


def wrong_success_policy(path: str, spec: dict[str, Any]) -> Iterator[Cause]:
    policy = spec.get("successPolicy")
    if policy is None:
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid(path, _as_go_struct(policy), "requires indexed completion mode")
        return
    rules = policy.get("rules") or []
    if not rules:
        yield required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        if rule.get("succeededCount") is None and rule.get("succeededIndexes") is None:
            told = "at least one of succeededCount or succeededIndexes must be specified"
            yield required(f"{path}.rules[{index}]", told)
        elif (rule.get("succeededCount") or 0) < 0:
            told = "must be greater than or equal to 0"
            yield invalid(f"{path}.rules[{index}].succeededCount", rule["succeededCount"], told)


def _wrong_rule(path: str, rule: dict[str, Any], spec: dict[str, Any], names: set[Any]) -> Iterator[Cause]:
    action = rule.get("action", "")
    if not action:
        yield required(f"{path}.action", f"valid values: {_listed(_ACTIONS)}")
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield not_supported(f"{path}.action", action, _ACTIONS)
    codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        yield from _wrong_exit_codes(f"{path}.onExitCodes", codes, names)
    yield from _wrong_patterns(f"{path}.onPodConditions", patterns)
    if codes is not None and patterns:
        yield _unvalued(path, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not patterns:
        yield _unvalued(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _wrong_patterns(path: str, patterns: list[dict[str, Any]]) -> Iterator[Cause]:
    if len(patterns) > _MOST_PATTERNS:
        yield too_many(path, len(patterns), _MOST_PATTERNS)
    for index, pattern in enumerate(patterns):
        kind, status = pattern.get("type", ""), pattern.get("status", "")
        yield from (invalid(f"{path}[{index}].type", kind, told) for told in label_key(kind))
        if status not in _STATUSES:
            yield not_supported(f"{path}[{index}].status", status, _STATUSES)


def _wrong_exit_codes(path: str, codes: dict[str, Any], names: set[Any]) -> Iterator[Cause]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        yield required(f"{path}.operator", f"valid values: {_listed(_OPERATORS)}")
    elif operator not in _OPERATORS:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    name = codes.get("containerName")
    if name is not None and name not in names:
        told = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", name, told)
    if not values:
        yield invalid(f"{path}.values", codes.get("values"), "at least one value is required")
    elif len(values) > _MOST_EXIT_CODES:
        yield too_many(f"{path}.values", len(values), _MOST_EXIT_CODES)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in values[:index]:
            yield duplicate(f"{path}.values[{index}]", value)
    if values != sorted(values):
        yield invalid(f"{path}.values", values, "must be ordered")


def _listed(choices: tuple[str, ...]) -> str:
    quoted = " ".join(f'"{choice}"' for choice in choices)
    return f"[{quoted}]"


def _as_go_struct(policy: dict[str, Any]) -> dict[str, Any]:
    fields = {"SucceededIndexes": "succeededIndexes", "SucceededCount": "succeededCount"}
    return {"Rules": [{go: rule.get(name) for go, name in fields.items()} for rule in policy.get("rules") or ()]}


def _unvalued(path: str, told: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {told}", path)
