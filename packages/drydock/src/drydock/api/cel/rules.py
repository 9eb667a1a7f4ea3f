"""CEL rules of custom kinds (x-kubernetes-validations): checked when a CRD is made, evaluated on every write.

What this interpreter cannot run is refused with the CRD, never skipped later.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from drydock.api.answers import causes
from drydock.api.answers.status import Cause
from drydock.api.cel.checker import Type, check, type_of
from drydock.api.cel.evaluator import Evaluate, compile_tree
from drydock.api.cel.parser import parse_expression
from drydock.api.cel.tokens import CelSyntaxError, tokenize
from drydock.api.cel.values import CelError, OptionalValue, from_json
from drydock.api.schema.constraints import ABSENT, correlate
from drydock.api.schema.shape import Rule, Schema

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LONGEST_MESSAGE = 5 * 1024


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression."""

    evaluate: Evaluate
    uses_old_self: bool


@lru_cache(maxsize=1024)
def compile_expression(source: str) -> Program:
    """The expression, ready to run; raises `CelSyntaxError`."""
    uses_old_self = any(token.kind == "name" and token.text == "oldSelf" for token in tokenize(source))
    return Program(compile_tree(parse_expression(source)), uses_old_self)


def check_rule(
    schema: Schema, rule: Rule, declared: Mapping[str, Any], path: str, uncorrelatable: str
) -> Iterator[Cause]:
    """What is wrong with a rule of a new CRD. `uncorrelatable`: the list above it whose items have no identity."""
    if not rule.expression.strip():
        yield causes.required(f"{path}.rule", "rule is not specified")
        return
    if "reason" in declared and declared["reason"] not in _REASONS:
        yield causes.not_supported(f"{path}.reason", declared["reason"], _REASONS)
    if rule.field_path and _resolve(schema, rule.field_path) is None:
        yield causes.invalid(f"{path}.fieldPath", rule.field_path, "must be a valid path")
    yield from _check_expression(schema, rule, rule.expression, f"{path}.rule", "bool")
    if rule.message_expression:
        yield from _check_expression(schema, rule, rule.message_expression, f"{path}.messageExpression", "string")
    if "oldSelf" in rule.expression and uncorrelatable:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
        yield causes.invalid(f"{path}.rule", rule.expression, detail)


def _check_expression(schema: Schema, rule: Rule, source: str, path: str, wanted: str) -> Iterator[Cause]:
    own = type_of(schema)
    scope = {"self": own, "oldSelf": Type("optional_type", own) if rule.optional_old_self else own}
    try:
        found = check(source, parse_expression(source), scope)
        compile_expression(source)
    except CelSyntaxError as problem:
        yield _unusable(rule, path, f"compilation failed: {problem}")
        return
    if found.name not in (wanted, "dyn"):
        subject = "cel expression" if wanted == "bool" else "messageExpression"
        yield _unusable(rule, path, f"{subject} must evaluate to a {wanted}")


def _unusable(rule: Rule, path: str, detail: str) -> Cause:
    shown = {
        "Rule": rule.expression,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": None if rule.reason == "FieldValueInvalid" else rule.reason,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self or None,
    }
    text = msgspec.json.encode(shown).decode()
    for character in "&<>":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Cause("FieldValueInvalid", f"Invalid value: {text}: {detail}", path)


def _resolve(schema: Schema, path: str) -> Schema | None:
    found: Schema | None = schema
    for part in path.removeprefix(".").split("."):
        found = found.properties.get(part) or found.additional if found is not None else None
    return found


def rule_errors(schema: Schema, new: Any, old: Any | None) -> list[Cause]:
    """Which rules an object breaks, at every depth. `old` is None on create."""
    return list(_walk(schema, new, ABSENT if old is None else old, "", unchanged=False))


@lru_cache(maxsize=4096)
def has_rules(schema: Schema) -> bool:
    """Is there a rule in the schema, or anywhere below it? Shapes of our own have none."""
    below = [*schema.properties.values(), *filter(None, (schema.items, schema.additional))]
    return bool(schema.rules) or any(has_rules(child) for child in below if not child.name)


def _walk(schema: Schema, value: Any, old: Any, path: str, *, unchanged: bool) -> Iterator[Cause]:
    if value is None or not has_rules(schema):
        return
    unchanged = unchanged if old is ABSENT else old == value
    for rule in schema.rules:
        yield from _judge(schema, rule, value, old, path, unchanged=unchanged)
    match value:
        case dict():
            for key, item in value.items():
                before = old.get(key, ABSENT) if isinstance(old, dict) else ABSENT
                if field := schema.properties.get(key):
                    yield from _walk(field, item, before, f"{path}.{key}" if path else key, unchanged=unchanged)
                elif schema.additional is not None:
                    yield from _walk(schema.additional, item, before, f"{path}[{key}]", unchanged=unchanged)
        case list() if schema.items is not None:
            previous = correlate(schema, old)
            for index, item in enumerate(value):
                yield from _walk(schema.items, item, previous(item), f"{path}[{index}]", unchanged=unchanged)


def _judge(schema: Schema, rule: Rule, value: Any, old: Any, path: str, *, unchanged: bool) -> Iterator[Cause]:
    program = compile_expression(rule.expression)
    has_old = old is not ABSENT and old is not None
    if program.uses_old_self and not has_old and not rule.optional_old_self:
        return  # a transition rule needs something to come from
    if unchanged and not program.uses_old_self:
        return  # what broke the rule before may stay, as long as it is not touched
    scope = {"self": from_json(schema, value)}
    if rule.optional_old_self:
        scope["oldSelf"] = OptionalValue(from_json(schema, old)) if has_old else OptionalValue()
    elif has_old:
        scope["oldSelf"] = from_json(schema, old)
    try:
        holds = program.evaluate(scope)
    except CelError as error:
        yield _failed(schema, rule, path, str(error))
        return
    if holds is not True:
        yield _broken(schema, rule, value, scope, path)


def _failed(schema: Schema, rule: Rule, path: str, problem: str) -> Cause:
    expression = rule.expression.strip()
    if problem.startswith("no such overload"):
        unmatched = "call arguments did not match a supported operator, function or macro signature for rule"
        detail = f"'{problem}': {unmatched}: {expression}"
    else:
        detail = f"{problem} evaluating rule: {expression}"
    return causes.invalid(path or "<nil>", schema.type, detail)


def _broken(schema: Schema, rule: Rule, value: Any, scope: Mapping[str, Any], path: str) -> Cause:
    detail = _computed_message(rule, scope) or rule.message.strip() or f"failed rule: {rule.expression.strip()}"
    where = f"{path}{rule.field_path}".removeprefix(".") or "<nil>"
    match rule.reason:
        case "FieldValueForbidden":
            return causes.forbidden(where, detail)
        case "FieldValueRequired":
            return causes.required(where, detail)
        case "FieldValueDuplicate":
            return causes.duplicate(where, value)
    if schema.type in ("object", "array"):
        return Cause("FieldValueInvalid", f"Invalid value: {detail}", where)
    return causes.invalid(where, value, detail)


def _computed_message(rule: Rule, scope: Mapping[str, Any]) -> str:
    """What messageExpression says; nothing when it fails, so that the plain message stands in."""
    if not rule.message_expression:
        return ""
    try:
        text = compile_expression(rule.message_expression).evaluate(scope)
    except CelError:
        return ""
    usable = isinstance(text, str) and "\n" not in text.strip() and len(text) <= _LONGEST_MESSAGE
    return text.strip() if usable else ""
