"""Values on the wire: the types that DuckDB's are shown as, and their text and binary forms. No I/O."""

import json
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from mooring_postgres_gateway.worker.numerics import decode_numeric, encode_numeric

BOOL, BYTEA, INT8, INT2, INT4, TEXT, JSON, FLOAT4, FLOAT8 = 16, 17, 20, 21, 23, 25, 114, 700, 701
VARCHAR, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC, UUID_OID = (
    1043,
    1082,
    1083,
    1114,
    1184,
    1186,
    1700,
    2950,
)

_OIDS = {
    "BOOLEAN": BOOL, "BOOL": BOOL, "BLOB": BYTEA, "BYTEA": BYTEA, "BIGINT": INT8, "INT8": INT8, "LONG": INT8,
    "UINTEGER": INT8, "SMALLINT": INT2, "INT2": INT2, "SHORT": INT2, "TINYINT": INT2, "UTINYINT": INT2,
    "INTEGER": INT4, "INT4": INT4, "INT": INT4, "USMALLINT": INT4, "UBIGINT": NUMERIC, "HUGEINT": NUMERIC,
    "UHUGEINT": NUMERIC, "DECIMAL": NUMERIC, "NUMERIC": NUMERIC, "BIGNUM": NUMERIC, "FLOAT": FLOAT4, "REAL": FLOAT4,
    "FLOAT4": FLOAT4, "DOUBLE": FLOAT8, "FLOAT8": FLOAT8, "DATE": DATE, "TIME": TIME, "TIMESTAMP": TIMESTAMP,
    "DATETIME": TIMESTAMP, "TIMESTAMP_NS": TIMESTAMP, "TIMESTAMP_MS": TIMESTAMP, "TIMESTAMP_S": TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": TIMESTAMPTZ, "TIMESTAMPTZ": TIMESTAMPTZ, "INTERVAL": INTERVAL, "UUID": UUID_OID,
    "JSON": JSON,
}  # fmt: skip
_NESTED = re.compile(r"(STRUCT|MAP|UNION|LIST|ARRAY|VARIANT)\b|.*\]$", re.IGNORECASE)
_SIZES = {BOOL: 1, INT8: 8, INT2: 2, INT4: 4, FLOAT4: 4, FLOAT8: 8, DATE: 4, TIME: 8, TIMESTAMP: 8, TIMESTAMPTZ: 8,
          INTERVAL: 16, UUID_OID: 16}  # fmt: skip
_NUMBERS = {INT8: "!q", INT2: "!h", INT4: "!i", FLOAT4: "!f", FLOAT8: "!d"}
_EPOCH, _EPOCH_DAY = datetime(2000, 1, 1), date(2000, 1, 1)  # noqa: DTZ001 - as the protocol has it: of no zone
_DAY_MICROSECONDS = 86_400_000_000


def oid_of(duckdb_type: str) -> int:
    """The PostgreSQL type that a type of DuckDB is shown as. Nested ones are JSON, unknown ones text."""
    name = duckdb_type.strip()
    if _NESTED.match(name):
        return JSON
    return _OIDS.get(name.split("(")[0].strip().upper(), TEXT)


def size_of(oid: int) -> int:
    """Bytes of a value; -1 if that varies."""
    return _SIZES.get(oid, -1)


def encode(value: Any, oid: int, form: int) -> bytes | None:
    """A value of DuckDB as a client gets it; `form` 0 is text, 1 is binary."""
    if value is None:
        return None
    if form == 0:
        return to_text(value, oid).encode()
    return _to_binary(value, oid)


def to_text(value: Any, oid: int) -> str:
    """The text form."""
    if isinstance(value, bool):
        return "t" if value else "f"
    if oid == JSON and not isinstance(value, str):
        return json.dumps(value, default=str)
    if isinstance(value, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, datetime):
        return _stamp_text(value)
    if isinstance(value, timedelta):
        return _interval_text(value)
    return str(value)


def _stamp_text(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat(" ")
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ") + "+00"


def _interval_text(value: timedelta) -> str:
    days, rest = divmod(value // timedelta(microseconds=1), _DAY_MICROSECONDS)
    seconds, micros = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}" + (f".{micros:06d}" if micros else "")
    return f"{days} days {clock}" if days else clock


def _to_binary(value: Any, oid: int) -> bytes:
    if oid == BOOL:
        return b"\1" if value else b"\0"
    if oid in _NUMBERS:
        return struct.pack(_NUMBERS[oid], value)
    encoder = _ENCODERS.get(oid)
    return encoder(value) if encoder is not None else to_text(value, oid).encode()


_ENCODERS: dict[int, Callable[[Any], bytes]] = {
    BYTEA: bytes,
    NUMERIC: lambda value: encode_numeric(Decimal(value)),
    DATE: lambda value: struct.pack("!i", (value - _EPOCH_DAY).days),
    TIME: lambda value: struct.pack("!q", _micros(datetime.combine(_EPOCH_DAY, value))),
    TIMESTAMP: lambda value: struct.pack("!q", _micros(value)),
    TIMESTAMPTZ: lambda value: struct.pack("!q", _micros(value.astimezone(UTC).replace(tzinfo=None))),
    INTERVAL: lambda value: _span_bytes(value),
    UUID_OID: lambda value: UUID(str(value)).bytes,
}  # fmt: skip


def _span_bytes(value: timedelta) -> bytes:
    return struct.pack("!qii", (value - timedelta(value.days)) // timedelta(microseconds=1), value.days, 0)


def _micros(value: datetime) -> int:
    return (value - _EPOCH) // timedelta(microseconds=1)


def decode(raw: bytes | None, oid: int, form: int) -> Any:
    """A parameter of a client as a value for DuckDB; ValueError if it is not one of its type."""
    if raw is None:
        return None
    try:
        return _from_text(raw.decode(), oid) if form == 0 else _from_binary(raw, oid)
    except (struct.error, OverflowError, ArithmeticError) as error:
        raise ValueError(f"not a value of type {oid}: {error}") from error


def _from_text(text: str, oid: int) -> Any:
    if oid == BOOL:
        return _truth(text)
    if oid in (INT2, INT4, INT8):
        return int(text)
    if oid in (FLOAT4, FLOAT8):
        return float(text)
    if oid == NUMERIC:
        return Decimal(text)
    if oid == BYTEA:
        return bytes.fromhex(text[2:]) if text.startswith("\\x") else text.encode()
    return text


def _truth(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("t", "true", "on", "yes", "y", "1"):
        return True
    if lowered in ("f", "false", "off", "no", "n", "0"):
        return False
    raise ValueError(f"{text!r} is not a boolean")


def _from_binary(raw: bytes, oid: int) -> Any:
    if oid == BOOL:
        return raw != b"\0"
    if oid in _NUMBERS:
        return struct.unpack(_NUMBERS[oid], raw)[0]
    decoder = _DECODERS.get(oid)
    if decoder is not None:
        return decoder(raw)
    if oid in (TEXT, VARCHAR, JSON, 0):
        return raw.decode()
    raise ValueError(f"type {oid} is not accepted in binary form; send it as text")


def _moment(raw: bytes) -> datetime:
    return _EPOCH + timedelta(microseconds=struct.unpack("!q", raw)[0])


def _span(raw: bytes) -> timedelta:
    micros, days, months = struct.unpack("!qii", raw)
    return timedelta(days=days + 30 * months, microseconds=micros)


_DECODERS: dict[int, Callable[[bytes], Any]] = {
    BYTEA: lambda raw: raw,
    NUMERIC: decode_numeric,
    DATE: lambda raw: _EPOCH_DAY + timedelta(struct.unpack("!i", raw)[0]),
    TIME: lambda raw: _clock(raw),
    TIMESTAMP: _moment,
    TIMESTAMPTZ: lambda raw: _moment(raw).replace(tzinfo=UTC),
    INTERVAL: _span,
    UUID_OID: lambda raw: str(UUID(bytes=raw)) if len(raw) == 16 else _malformed("uuid"),
}


def _clock(raw: bytes) -> time:
    return _moment(raw).time()


def _malformed(kind: str) -> Any:
    raise ValueError(f"malformed {kind}")
