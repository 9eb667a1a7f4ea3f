"""The constraints of a custom kind's schema, held against an object in kube-apiserver's words."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import msgspec

from drydock.api.answers import causes
from drydock.api.answers.status import Cause
from drydock.api.schema.formats import fits_format
from drydock.api.schema.patterns import compile_pattern
from drydock.api.schema.shape import Schema

ABSENT: Final = object()
_NO_FIELD = "<nil>"  # kube-apiserver's own field of a message that names its field only in its text


def type_errors(schema: Schema, value: Any, old: Any = ABSENT) -> list[Cause]:
    """Everything wrong with a custom object. What was wrong before and did not change is let through."""
    return list(_check(schema, value, old, ""))


def _check(schema: Schema, value: Any, old: Any, path: str) -> Iterator[Cause]:
    if old is not ABSENT and old == value:
        return
    if value is None:
        if not schema.nullable and schema.type != "any":
            yield _wrong_type(path, _expected(schema), "null")
        return
    yield from _check_type(schema, value, path)
    yield from _check_combinations(schema, value, path)
    match value:
        case bool():
            pass
        case str():
            yield from _check_text(schema, value, path)
        case int() | float():
            yield from _check_number(schema, value, path)
        case list():
            yield from _check_list(schema, value, old, path)
        case dict():
            yield from _check_object(schema, value, old, path)
    if schema.enum and not any(_same(value, allowed) for allowed in schema.enum):
        choices = [choice if isinstance(choice, str) else causes.show(choice) for choice in schema.enum]
        yield causes.not_supported(path, value, choices)


def _same(value: Any, allowed: Any) -> bool:
    return bool(value == allowed) and isinstance(value, bool) == isinstance(allowed, bool)


def _expected(schema: Schema) -> str:
    return "integer,string" if schema.type == "int-or-string" else schema.type


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def _wrong_type(path: str, expected: str, got: str) -> Cause:
    message = f'Invalid value: "{got}": {path} in body must be of type {expected}: "{got}"'
    return Cause("FieldValueTypeInvalid", message, path)


def _check_type(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    got = _json_type(value)
    whole = got == "integer" or (isinstance(value, float) and value.is_integer())
    match schema.type:
        case "any":
            fits = True
        case "integer":
            fits = whole
        case "number":
            fits = got in ("integer", "number")
        case "int-or-string":
            fits = whole or got == "string"
        case _:
            fits = got == schema.type
    if fits:
        return
    if schema.format and got not in ("string", "array"):
        # Formats report the wrong type then, and only numbers have one.
        yield _wrong_type(path, schema.format, {"number": "float64", "integer": "int64"}.get(got, ""))
    else:
        yield _wrong_type(path, _expected(schema), got)


def _check_combinations(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    def failures(branch: Schema) -> list[Cause]:
        return list(_check(branch, value, ABSENT, path))

    if schema.any_of:
        tried = [failures(branch) for branch in schema.any_of]
        if all(tried):
            yield _overall(f'"{path}" must validate at least one schema (anyOf)')
            yield from tried[0]
    if schema.one_of:
        yield from _check_one_of([failures(branch) for branch in schema.one_of], path)
    if schema.all_of:
        tried = [failures(branch) for branch in schema.all_of]
        for found in tried:
            yield from found
        if any(tried):
            yield _overall(f'"{path}" must validate all the schemas (allOf){". None validated" if all(tried) else ""}')
    if schema.none_of is not None and not failures(schema.none_of):
        yield _overall(f'"{path}" must not validate the schema (not)')


def _check_one_of(tried: list[list[Cause]], path: str) -> Iterator[Cause]:
    valid = sum(not found for found in tried)
    if valid == 1:
        return
    found = f"Found {valid} valid alternatives" if valid else "Found none valid"
    yield _overall(f'"{path}" must validate one and only one schema (oneOf). {found}')
    if not valid:
        yield from tried[0]


def _overall(detail: str) -> Cause:
    return causes.invalid(_NO_FIELD, "", detail)


def _check_text(schema: Schema, value: str, path: str) -> Iterator[Cause]:
    if schema.max_length is not None and len(value) > schema.max_length:
        yield causes.too_long(path, schema.max_length)
    elif schema.min_length is not None and len(value) < schema.min_length:
        yield causes.invalid(path, value, f"{path} in body should be at least {schema.min_length} chars long")
    elif schema.pattern and compile_pattern(schema.pattern).search(value) is None:
        yield causes.invalid(path, value, f"{path} in body should match '{schema.pattern}'")
    if schema.type == "string" and not fits_format(value, schema.format):
        yield _wrong_type(path, schema.format, value)


def _check_number(schema: Schema, value: int | float, path: str) -> Iterator[Cause]:
    if schema.format == "int32" and not (-(2**31) <= value < 2**31 and float(value).is_integer()):
        yield _overall(f"Checked value must be of type integer with format int32 in {path}")
    if isinstance(value, int):
        # As in Go, where a whole number is only ever compared with a whole number.
        schema = replace(schema, minimum=_whole(schema.minimum), maximum=_whole(schema.maximum))
    bounds: list[tuple[bool, str, float | None]] = [
        (_divides(schema.multiple_of, value), "a multiple of", schema.multiple_of),
        (
            _at_least(schema, value),
            "greater than" if schema.exclusive_minimum else "greater than or equal to",
            schema.minimum,
        ),
        (_at_most(schema, value), "less than" if schema.exclusive_maximum else "less than or equal to", schema.maximum),
    ]
    for fits, relation, bound in bounds:
        if not fits and bound is not None:
            yield causes.invalid(path, value, f"{path} in body should be {relation} {_plain(bound)}")


def _whole(bound: float | None) -> float | None:
    return None if bound is None else int(bound)


def _divides(factor: float | None, value: int | float) -> bool:
    return factor is None or (value / factor).is_integer()


def _at_least(schema: Schema, value: int | float) -> bool:
    if schema.minimum is None:
        return True
    return value > schema.minimum if schema.exclusive_minimum else value >= schema.minimum


def _at_most(schema: Schema, value: int | float) -> bool:
    if schema.maximum is None:
        return True
    return value < schema.maximum if schema.exclusive_maximum else value <= schema.maximum


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def _check_list(schema: Schema, value: list[Any], old: Any, path: str) -> Iterator[Cause]:
    if schema.items is not None:
        previous = correlate(schema, old)
        for index, item in enumerate(value):
            yield from _check(schema.items, item, previous(item), f"{path}[{index}]")
    if schema.min_items is not None and len(value) < schema.min_items:
        yield causes.invalid(path, len(value), f"{path} in body should have at least {schema.min_items} items")
    if schema.max_items is not None and len(value) > schema.max_items:
        yield causes.too_many(path, len(value), schema.max_items)
    yield from _check_duplicates(schema, value, path)


def correlate(schema: Schema, old: Any) -> Callable[[Any], Any]:
    """Only the items of a `map` list have an identity that survives an update."""
    if schema.list_type != "map" or not isinstance(old, list):
        return lambda item: ABSENT
    by_key = {_identity(schema, item): item for item in old if isinstance(item, dict)}
    return lambda item: by_key.get(_identity(schema, item), ABSENT) if isinstance(item, dict) else ABSENT


def _identity(schema: Schema, item: dict[str, Any]) -> bytes:
    return msgspec.json.encode([item.get(key) for key in schema.list_keys])


def _check_duplicates(schema: Schema, value: list[Any], path: str) -> Iterator[Cause]:
    if schema.list_type == "atomic":
        return
    seen: dict[bytes, int] = {}
    for index, item in enumerate(value):
        if schema.list_type == "map":
            if not isinstance(item, dict):
                continue
            item = {key: item[key] for key in schema.list_keys if key in item}
        encoded = msgspec.json.encode(item, order="deterministic")
        seen[encoded] = seen.get(encoded, 0) + 1
        if seen[encoded] == 2:
            yield causes.duplicate(f"{path}[{index}]", item)


def _check_object(schema: Schema, value: dict[str, Any], old: Any, path: str) -> Iterator[Cause]:
    if schema.min_properties is not None and len(value) < schema.min_properties:
        detail = f"{path} in body should have at least {schema.min_properties} properties"
        yield causes.invalid(path, len(value), detail)
    if schema.max_properties is not None and len(value) > schema.max_properties:
        yield causes.too_many(path, len(value), schema.max_properties)
    for key, item in value.items():
        if known := schema.properties.get(key) or schema.additional:
            before = old.get(key, ABSENT) if isinstance(old, dict) else ABSENT
            yield from _check(known, item, before, f"{path}.{key}" if path else key)
    for key in schema.required:
        if key not in value:
            yield causes.required(f"{path}.{key}" if path else key)
