"""The values of CEL: how JSON becomes one along its schema, and what is equal to what."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from drydock.api.schema.shape import Schema
from hawser.errors import InvalidInput
from hawser.quantity import parse_quantity


class CelError(Exception):
    """An evaluation that has no value."""


class UInt(int):
    """An unsigned integer; Python's own int is CEL's int."""


class SetList(list[Any]):
    """A list whose order does not matter."""


class MapList(list[Any]):
    """A list of objects that are identified by their keys; their order does not matter."""

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key_of(self, item: Any) -> tuple[Any, ...]:
        return tuple(item.get(key) if key in item else None for key in self.keys)


@dataclass(frozen=True, slots=True)
class TypeName:
    """What `type(x)` gives."""

    name: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A Kubernetes resource quantity."""

    value: Fraction


NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """A value that may be absent."""

    value: Any = NOTHING

    @property
    def present(self) -> bool:
        return self.value is not NOTHING


class ObjectValue:
    """An object of known fields, read through its schema. A field that is null is not there."""

    __slots__ = ("data", "schema")

    def __init__(self, schema: Schema, data: dict[str, Any]) -> None:
        self.schema = schema
        self.data = data

    def __contains__(self, key: str) -> bool:
        return self.data.get(key) is not None and key in self.schema.properties

    def get(self, key: str) -> Any:
        return from_json(self.schema.child(key), self.data[key])

    def __iter__(self) -> Iterator[str]:
        return (key for key in self.data if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


_DURATION_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def from_json(schema: Schema, value: Any) -> Any:
    """A JSON value as CEL sees it: times and durations by their format, objects by their fields."""
    match value:
        case str() if schema.type == "string":
            return _from_text(schema.format, value)
        case bool():
            return value
        case int() if schema.type == "number":
            return float(value)
        case list():
            items = [from_json(schema.items or Schema(), item) for item in value]
            if schema.list_type == "map":
                return MapList(items, schema.list_keys)
            return SetList(items) if schema.list_type == "set" else items
        case dict() if schema.additional is None:
            return ObjectValue(schema, value)
        case dict():
            return {key: from_json(schema.child(key), item) for key, item in value.items()}
        case _:
            return value


def _from_text(format: str, text: str) -> Any:
    match format:
        case "date-time":
            return parse_timestamp(text)
        case "date":
            return parse_timestamp(f"{text}T00:00:00Z")
        case "duration":
            return parse_duration(text)
        case "byte":
            return base64.b64decode(text)
        case _:
            return text


def parse_timestamp(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as problem:
        raise CelError(f"parsing time {text!r}: {problem}") from problem
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_duration(text: str) -> timedelta:
    body = text.lstrip("+-")
    parts = _DURATION_PART.findall(body)
    if body != "0" and (not parts or "".join(number + unit for number, unit in parts) != body):
        raise CelError(f'time: invalid duration "{text}"')
    seconds = sum(float(number) * _DURATION_UNITS[unit] for number, unit in parts)
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)


def to_quantity(text: str) -> Quantity:
    try:
        return Quantity(parse_quantity(text))
    except InvalidInput as error:
        raise CelError(error.message) from error


def type_name(value: Any) -> str:
    """The name of a value's type."""
    match value:
        case None:
            return "null_type"
        case bool():
            return "bool"
        case UInt():
            return "uint"
        case int():
            return "int"
        case float():
            return "double"
        case str():
            return "string"
        case bytes():
            return "bytes"
        case list():
            return "list"
        case dict() | ObjectValue():
            return "map"
        case datetime():
            return "timestamp"
        case timedelta():
            return "duration"
        case Quantity():
            return "quantity"
        case OptionalValue():
            return "optional_type"
        case _:
            return "type"


_NUMBERS = ("int", "uint", "double")


def equal(left: Any, right: Any) -> bool:
    """CEL's `==`: numbers across types, everything else only within its own."""
    left_type, right_type = type_name(left), type_name(right)
    if left_type != right_type and not (left_type in _NUMBERS and right_type in _NUMBERS):
        return False
    match left_type:
        case "list":
            return _equal_lists(left, right)
        case "map":
            return _equal_maps(left, right)
        case _:
            return bool(left == right)


def _equal_lists(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, SetList | MapList):
        return all(any(equal(item, other) for other in right) for item in left)
    return all(equal(item, other) for item, other in zip(left, right, strict=True))


def _equal_maps(left: Any, right: Any) -> bool:
    keys = set(left)
    if keys != set(right):
        return False
    return all(equal(left.get(key), right.get(key)) for key in keys)


def joined(left: list[Any], right: list[Any]) -> list[Any]:
    """CEL's `+` of lists: sets unite, maps take over what has the same key."""
    if isinstance(left, SetList):
        return SetList([*left, *(item for item in right if not any(equal(item, other) for other in left))])
    if isinstance(left, MapList):
        merged = {left.key_of(item): item for item in left} | {left.key_of(item): item for item in right}
        return MapList(list(merged.values()), left.keys)
    return [*left, *right]
