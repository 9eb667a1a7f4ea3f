"""Does an object fit its shape: unknown fields, and the type errors of built-in kinds as a Go decoder reports them.

Custom kinds are held to their constraints by `constraints.py`.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from drydock.api.schema.shape import Schema

_QUANTITY = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_GO_TYPES = {"string": "string", "boolean": "bool", "number": "float64", "int-or-string": "int32"}
_RANGES = {"int32": 2**31, "int64": 2**63}


def unknown_fields(schema: Schema, value: Any) -> list[str]:
    """The paths of fields that the shape does not know, in the order of the object."""
    # Nearly every object has none, and finding that out is three times as fast without paths.
    return list(_unknown(schema, value, "")) if _has_unknown(schema, value) else []


def _has_unknown(schema: Schema, value: Any) -> bool:
    if isinstance(value, dict):
        properties, additional = schema.properties, schema.additional
        for key, item in value.items():
            known = properties.get(key) or additional
            if known is None:
                if not schema.preserve_unknown:
                    return True
            elif isinstance(item, dict | list) and _has_unknown(known, item):
                return True
    elif isinstance(value, list) and schema.items is not None:
        return any(_has_unknown(schema.items, item) for item in value)
    return False


def _unknown(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        if schema.items is not None:
            for index, item in enumerate(value):
                yield from _unknown(schema.items, item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}" if path else key
            known = schema.properties.get(key) or schema.additional
            if known is not None:
                yield from _unknown(known, item, here)
            elif not schema.preserve_unknown:
                yield here


class _Misfit(Exception):
    """Carries the decoder's sentence out of the recursion."""


def decoding_error(schema: Schema, value: Any) -> str:
    """Why a Go decoder could not read the value into this shape; empty when it could."""
    if _surely_fits(schema, value):
        return ""
    try:
        _decode(schema, value, _go_name(schema), "")
    except _Misfit as misfit:
        return str(misfit)
    return ""


def _surely_fits(schema: Schema, value: Any) -> bool:
    """The common case, without paths: everything has the plain type it should have."""
    match schema.type:
        case "string":
            return type(value) is str and (not schema.format or _text_fits(schema, value))
        case "object":
            if type(value) is not dict:
                return False
            properties, additional = schema.properties, schema.additional
            for key, item in value.items():
                known = properties.get(key) or additional
                if known is not None and not _surely_fits(known, item):
                    return False
            return True
        case "array":
            items = schema.items or Schema()
            return type(value) is list and all(_surely_fits(items, item) for item in value)
        case "boolean":
            return type(value) is bool
        case "integer":
            return type(value) is int and abs(value) < _RANGES[schema.format]
        case kind:
            return kind == "any"


def _text_fits(schema: Schema, value: str) -> bool:
    match schema.format:
        case "quantity":
            return _QUANTITY.fullmatch(value) is not None
        case "date-time":
            return is_time(value)
        case "byte":
            return _BASE64.fullmatch(value) is not None
        case _:
            return True


def _decode(schema: Schema, value: Any, owner: str, path: str) -> None:
    """`owner` is the struct that holds the field at `path`; a path has no indices and no map keys, as in Go."""
    if value is None:
        return
    match schema.type:
        case "any":
            return
        case "object":
            _decode_object(schema, value, owner, path)
        case "array":
            if not isinstance(value, list):
                raise _cannot(value, schema, owner, path)
            for item in value:
                _decode(schema.items or Schema(), item, owner, path)
        case _:
            _decode_scalar(schema, value, owner, path)


def _decode_object(schema: Schema, value: Any, owner: str, path: str) -> None:
    if not isinstance(value, dict):
        raise _cannot(value, schema, owner, path)
    inner = _go_name(schema) if schema.name else owner
    for key, item in value.items():
        if field := schema.properties.get(key):
            _decode(field, item, inner, f"{path}.{key}" if path else key)
        elif schema.additional is not None:
            _decode(schema.additional, item, owner, path)


def _decode_scalar(schema: Schema, value: Any, owner: str, path: str) -> None:
    match schema.type, value:
        case "boolean", bool():
            return
        case _, bool():
            raise _cannot(value, schema, owner, path)
        case "string", _ if schema.format == "quantity":
            if not isinstance(value, str | int | float) or not _text_fits(schema, str(value)):
                raise _Misfit(
                    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                )
        case "string", str():
            _check_text(schema, value)
        case "int-or-string", str():
            return
        case (("integer" | "int-or-string"), int()) if abs(value) < _RANGES[schema.format or "int32"]:
            return
        case "number", int() | float():
            return
        case (("integer" | "int-or-string"), int() | float()):
            raise _cannot(value, schema, owner, path, shown=f"number {value}")
        case _:
            raise _cannot(value, schema, owner, path)


def _check_text(schema: Schema, value: str) -> None:
    if _text_fits(schema, value):
        return
    if schema.format == "byte":
        good = re.match(r"[A-Za-z0-9+/]*", value)
        raise _Misfit(f"illegal base64 data at input byte {good.end() if good else 0}")
    if schema.format == "date-time":
        raise _Misfit(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"')


def is_time(text: str) -> bool:
    """Is it a date and time of RFC 3339?"""
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text[:19])
    except ValueError:
        return False
    return True


def _cannot(value: Any, schema: Schema, owner: str, path: str, shown: str = "") -> _Misfit:
    got = shown or _json_type(value)
    return _Misfit(f"json: cannot unmarshal {got} into Go struct field {owner}.{path} of type {_go_type(schema)}")


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def _go_type(schema: Schema) -> str:
    match schema.type:
        case "array":
            return f"[]{_go_type(schema.items or Schema())}"
        case "object" if schema.name:
            return f"v1.{_go_name(schema)}"
        case "object":
            return f"map[string]{_go_type(schema.additional or Schema())}"
        case "integer":
            return schema.format
        case "any":
            return "interface {}"
        case _:
            return _GO_TYPES[schema.type]


def _go_name(schema: Schema) -> str:
    return schema.name.rpartition(".")[2]
