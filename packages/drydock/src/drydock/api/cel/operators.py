"""CEL's operators and conversions."""

import math
from datetime import datetime, timedelta
from typing import Any

from drydock.api.cel.functions import FUNCTIONS
from drydock.api.cel.values import (
    CelError,
    TypeName,
    UInt,
    equal,
    joined,
    parse_duration,
    parse_timestamp,
    type_name,
)

define = FUNCTIONS.define
_NUMBERS = ("int", "uint", "double")
_ORDERED = ("string", "bytes", "bool", "timestamp", "duration")


def int64(value: int) -> int:
    """The value, if it fits."""
    if not -(2**63) <= value < 2**63:
        raise CelError("integer overflow")
    return value


def uint64(value: int) -> UInt:
    """The value, if it fits."""
    if not 0 <= value < 2**64:
        raise CelError("unsigned integer overflow")
    return UInt(value)


@define("_+_(int, int) -> int")
def _add(left: int, right: int) -> int:
    return int64(left + right)


@define("_+_(uint, uint) -> uint")
def _add_unsigned(left: int, right: int) -> int:
    return uint64(left + right)


@define(
    "_+_(double, double) -> double",
    "_+_(string, string) -> string",
    "_+_(bytes, bytes) -> bytes",
    "_+_(timestamp, duration) -> timestamp",
    "_+_(duration, timestamp) -> timestamp",
    "_+_(duration, duration) -> duration",
)
def _add_plain(left: Any, right: Any) -> Any:
    return left + right


define("_+_(list, list) -> list(T)")(joined)


@define("_-_(int, int) -> int")
def _subtract(left: int, right: int) -> int:
    return int64(left - right)


@define("_-_(uint, uint) -> uint")
def _subtract_unsigned(left: int, right: int) -> int:
    return uint64(int(left) - int(right))


@define(
    "_-_(double, double) -> double",
    "_-_(timestamp, timestamp) -> duration",
    "_-_(timestamp, duration) -> timestamp",
    "_-_(duration, duration) -> duration",
)
def _subtract_plain(left: Any, right: Any) -> Any:
    return left - right


@define("_*_(int, int) -> int")
def _multiply(left: int, right: int) -> int:
    return int64(left * right)


@define("_*_(uint, uint) -> uint")
def _multiply_unsigned(left: int, right: int) -> int:
    return uint64(int(left) * int(right))


@define("_*_(double, double) -> double")
def _multiply_double(left: float, right: float) -> float:
    return left * right


@define("_/_(int, int) -> int")
def _divide(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return int64(quotient if (left < 0) == (right < 0) else -quotient)


@define("_/_(uint, uint) -> uint")
def _divide_unsigned(left: int, right: int) -> int:
    return uint64(_divide(int(left), int(right)))


@define("_/_(double, double) -> double")
def _divide_double(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


@define("_%_(int, int) -> int")
def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    return int(math.fmod(left, right)) if abs(left) < 2**53 else left - right * _divide(left, right)


@define("_%_(uint, uint) -> uint")
def _remainder_unsigned(left: int, right: int) -> int:
    return uint64(_remainder(int(left), int(right)))


@define("-_(int) -> int")
def _negate(value: int) -> int:
    return int64(-value)


@define("-_(double) -> double")
def _negate_double(value: float) -> float:
    return -value


@define("!_(bool) -> bool")
def _not(value: bool) -> bool:
    return not value


define("_==_(dyn, dyn) -> bool")(equal)


@define("_!=_(dyn, dyn) -> bool")
def _not_equal(left: Any, right: Any) -> bool:
    return not equal(left, right)


_PAIRS = [(left, right) for left in _NUMBERS for right in _NUMBERS] + [(kind, kind) for kind in _ORDERED]


def _comparison(operator: str) -> list[str]:
    return [f"_{operator}_({left}, {right}) -> bool" for left, right in _PAIRS]


@define(*_comparison("<"))
def _less(left: Any, right: Any) -> bool:
    return bool(left < right)


@define(*_comparison("<="))
def _at_most(left: Any, right: Any) -> bool:
    return bool(left <= right)


@define(*_comparison(">"))
def _greater(left: Any, right: Any) -> bool:
    return bool(left > right)


@define(*_comparison(">="))
def _at_least(left: Any, right: Any) -> bool:
    return bool(left >= right)


@define("@in(dyn, list) -> bool")
def _in_list(value: Any, items: list[Any]) -> bool:
    return any(equal(value, item) for item in items)


@define("@in(dyn, map) -> bool")
def _in_map(key: Any, entries: Any) -> bool:
    return key in entries


@define("int(int) -> int", "int(uint) -> int", "int(double) -> int", "int(string) -> int", "int(timestamp) -> int")
def _to_int(value: Any) -> int:
    match value:
        case datetime():
            return int(value.timestamp())
        case str():
            try:
                return int64(int(value, 10))
            except ValueError as problem:
                raise CelError("type conversion error from 'string' to 'int'") from problem
        case float() if not math.isfinite(value):
            raise CelError("integer overflow")
        case _:
            return int64(int(value))


@define("uint(int) -> uint", "uint(uint) -> uint", "uint(double) -> uint", "uint(string) -> uint")
def _to_uint(value: Any) -> UInt:
    try:
        return uint64(int(value))
    except ValueError as problem:
        raise CelError("type conversion error from 'string' to 'uint'") from problem


@define("double(int) -> double", "double(uint) -> double", "double(double) -> double", "double(string) -> double")
def _to_double(value: Any) -> float:
    try:
        return float(value)
    except ValueError as problem:
        raise CelError("type conversion error from 'string' to 'double'") from problem


@define(*(f"string({kind}) -> string" for kind in (*_NUMBERS, *_ORDERED)))
def to_text(value: Any) -> str:
    """A value as text."""
    match value:
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.decode("utf-8", "replace")
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case timedelta():
            seconds = value.total_seconds()
            return f"{int(seconds) if seconds.is_integer() else seconds}s"
        case _:
            return str(value)


@define("bytes(string) -> bytes", "bytes(bytes) -> bytes")
def _to_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


@define("bool(bool) -> bool", "bool(string) -> bool")
def _to_bool(value: Any) -> bool:
    if isinstance(value, str):
        if value not in ("true", "false", "True", "False", "TRUE", "FALSE", "t", "f", "1", "0"):
            raise CelError("type conversion error from 'string' to 'bool'")
        return value.lower() in ("true", "t", "1")
    return bool(value)


@define("dyn(dyn) -> dyn")
def _to_dyn(value: Any) -> Any:
    return value


@define("type(dyn) -> type")
def _type_of(value: Any) -> TypeName:
    return TypeName(type_name(value))


@define("timestamp(string) -> timestamp", "timestamp(timestamp) -> timestamp")
def _to_timestamp(value: Any) -> datetime:
    return parse_timestamp(value) if isinstance(value, str) else value


@define("duration(string) -> duration", "duration(duration) -> duration")
def _to_duration(value: Any) -> timedelta:
    return parse_duration(value) if isinstance(value, str) else value
