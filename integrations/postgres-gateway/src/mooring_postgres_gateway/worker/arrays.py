"""Arrays as parameters, as for `= ANY($1)`: one dimension, in text or binary form, as lists for DuckDB. No I/O."""

import re
import struct
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any
from uuid import UUID

from mooring_postgres_gateway.worker import values
from mooring_postgres_gateway.worker.values import decode, oid_of

ELEMENTS = {
    1000: values.BOOL, 1001: values.BYTEA, 1005: values.INT2, 1007: values.INT4, 1009: values.TEXT,
    1015: values.VARCHAR, 1016: values.INT8, 1021: values.FLOAT4, 1022: values.FLOAT8, 1115: values.TIMESTAMP,
    1182: values.DATE, 1185: values.TIMESTAMPTZ, 1231: values.NUMERIC, 2951: values.UUID_OID,
}  # fmt: skip
"""The types of arrays, and of their elements."""

_ARRAYS = {element: array for array, element in ELEMENTS.items()}
_ITEM = re.compile(r'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^,{}"\\]+))\s*(?P<end>,|$)', re.DOTALL)
# Where one value is compared, DuckDB reads its text; in a list it needs the type.
_TYPED: dict[int, Callable[[str], Any]] = {values.DATE: date.fromisoformat, values.UUID_OID: UUID}
_TYPED |= dict.fromkeys((values.TIMESTAMP, values.TIMESTAMPTZ), datetime.fromisoformat)


def parameter_oid(duckdb_type: str) -> int:
    """The type of a parameter that a statement casts to a type of DuckDB."""
    element, bracket, _ = duckdb_type.partition("[")
    return _ARRAYS.get(oid_of(element), values.TEXT) if bracket else oid_of(duckdb_type)


def decode_parameter(raw: bytes | None, oid: int, form: int) -> Any:
    """A parameter of a client as a value for DuckDB; ValueError if it is not one of its type."""
    element = ELEMENTS.get(oid)
    if raw is None or element is None:
        return decode(raw, oid, form)
    try:
        return list(_items(raw.decode(), element) if form == 0 else _binary_items(raw, element))
    except struct.error as error:
        raise ValueError(f"not an array of type {oid}: {error}") from error


def _items(text: str, element: int) -> Iterator[Any]:
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise ValueError(f"{text!r} is not an array of one dimension")
    body, at, more = body[1:-1], 0, bool(body[1:-1].strip())
    while more:
        found = _ITEM.match(body, at)
        if found is None:
            raise ValueError(f"{text!r} is not an array of one dimension")
        at, more = found.end(), bool(found["end"])
        yield _item(found["quoted"], found["plain"], element)


def _item(quoted: str | None, plain: str | None, element: int) -> Any:
    if quoted is None and (plain or "").strip().upper() == "NULL":
        return None
    text = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if quoted is not None else (plain or "").strip()
    return _typed(decode(text.encode(), element, 0), element)


def _typed(value: Any, element: int) -> Any:
    return _TYPED[element](value) if element in _TYPED and isinstance(value, str) else value


def _binary_items(raw: bytes, element: int) -> Iterator[Any]:
    dimensions, _, kind = struct.unpack_from("!iiI", raw)
    if dimensions == 0:
        return
    if dimensions != 1 or kind != element:
        raise ValueError(f"an array of {dimensions} dimensions and type {kind} where one of type {element} is expected")
    (count,) = struct.unpack_from("!i", raw, 12)
    at = 20
    for _ in range(count):
        (size,) = struct.unpack_from("!i", raw, at)
        at += 4
        if size > len(raw) - at:
            raise ValueError("an array that ends early")
        yield _typed(decode(None if size < 0 else raw[at : at + size], element, 1), element)
        at += max(size, 0)
