"""Bodies of messages: what clients send, as records, and what a server answers, as messages."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mooring_postgres_gateway.wire.frames import Message, Reader, encode_text, encode_value

IDLE, IN_TRANSACTION, FAILED = b"I", b"T", b"E"
PARSE_COMPLETE, BIND_COMPLETE, CLOSE_COMPLETE = Message(b"1"), Message(b"2"), Message(b"3")
NO_DATA, EMPTY_QUERY, SUSPENDED, COPY_DONE = Message(b"n"), Message(b"I"), Message(b"s"), Message(b"c")
SYNC, FLUSH, TERMINATE = Message(b"S"), Message(b"H"), Message(b"X")


@dataclass(frozen=True, slots=True)
class Parse:
    """Prepare a statement under a name."""

    name: str
    sql: str
    types: tuple[int, ...] = ()

    def encode(self) -> Message:
        types = struct.pack(f"!H{len(self.types)}I", len(self.types), *self.types)
        return Message(b"P", encode_text(self.name) + encode_text(self.sql) + types)


@dataclass(frozen=True, slots=True)
class Bind:
    """Give a statement its parameters; the result is a portal."""

    portal: str
    statement: str
    formats: tuple[int, ...] = ()
    values: tuple[bytes | None, ...] = ()
    result_formats: tuple[int, ...] = ()

    def encode(self) -> Message:
        body = encode_text(self.portal) + encode_text(self.statement) + _formats(self.formats)
        body += struct.pack("!H", len(self.values)) + b"".join(map(encode_value, self.values))
        return Message(b"B", body + _formats(self.result_formats))


@dataclass(frozen=True, slots=True)
class Execute:
    """Run a portal; at most so many rows, all for 0."""

    portal: str
    rows: int = 0

    def encode(self) -> Message:
        return Message(b"E", encode_text(self.portal) + struct.pack("!I", self.rows))


@dataclass(frozen=True, slots=True)
class Target:
    """What Describe and Close are about: kind `S` is a statement, `P` a portal."""

    kind: str
    name: str

    def encode(self, message: bytes) -> Message:
        return Message(message, self.kind.encode() + encode_text(self.name))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result."""

    name: str
    oid: int
    size: int = -1
    format: int = 0


def parse_query(body: bytes) -> str:
    """The text of a simple query."""
    fields = Reader(body)
    text = fields.text()
    fields.end()
    return text


def parse_parse(body: bytes) -> Parse:
    """Body of `P`."""
    fields = Reader(body)
    name, sql = fields.text(), fields.text()
    types = tuple(fields.number("I") for _ in range(fields.count(4)))
    fields.end()
    return Parse(name, sql, types)


def parse_bind(body: bytes) -> Bind:
    """Body of `B`."""
    fields = Reader(body)
    portal, statement = fields.text(), fields.text()
    formats = tuple(fields.number("H") for _ in range(fields.count()))
    values = tuple(fields.value() for _ in range(fields.count(4)))
    results = tuple(fields.number("H") for _ in range(fields.count()))
    fields.end()
    return Bind(portal, statement, formats, values, results)


def parse_execute(body: bytes) -> Execute:
    """Body of `E`."""
    fields = Reader(body)
    found = Execute(fields.text(), fields.number("I"))
    fields.end()
    return found


def parse_target(body: bytes) -> Target:
    """Body of `D` and `C`."""
    fields = Reader(body)
    kind = fields.take(1)
    found = Target("P" if kind == b"P" else "S", fields.text())
    fields.end()
    return found


def ready(status: bytes) -> Message:
    """The server waits for the next statement."""
    return Message(b"Z", status)


def complete(tag: str) -> Message:
    """A statement has ended."""
    return Message(b"C", encode_text(tag))


def parameter_status(name: str, value: str) -> Message:
    """A setting that clients may want to know."""
    return Message(b"S", encode_text(name) + encode_text(value))


def key_data(process: int, secret: int) -> Message:
    """What a client has to send to cancel."""
    return Message(b"K", struct.pack("!II", process, secret))


def parse_key_data(body: bytes) -> tuple[int, int]:
    """Body of `K`."""
    fields = Reader(body)
    return fields.number("I"), fields.number("I")


def row_description(columns: Sequence[Column]) -> Message:
    """The columns of the rows that follow."""
    body = struct.pack("!H", len(columns))
    for column in columns:
        body += encode_text(column.name)
        body += struct.pack("!IhIhih", 0, 0, column.oid, column.size, -1, column.format)
    return Message(b"T", body)


def parse_row_description(body: bytes) -> list[Column]:
    """Body of `T`."""
    fields = Reader(body)
    columns = []
    for _ in range(fields.count(19)):
        name = fields.text()
        _, _, oid, size, _, form = (fields.number(code) for code in "IhIhih")
        columns.append(Column(name, oid, size, form))
    fields.end()
    return columns


def data_row(values: Sequence[bytes | None]) -> Message:
    """One row."""
    return Message(b"D", struct.pack("!H", len(values)) + b"".join(map(encode_value, values)))


def parse_data_row(body: bytes) -> list[bytes | None]:
    """Body of a server's `D`."""
    fields = Reader(body)
    values = [fields.value() for _ in range(fields.count(4))]
    fields.end()
    return values


def parameter_description(oids: Sequence[int]) -> Message:
    """The types of a statement's parameters."""
    return Message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def copy_response(kind: bytes, form: int, columns: int) -> Message:
    """The answer to COPY: `G` the client sends data, `H` the server does."""
    return Message(kind, struct.pack(f"!bH{columns}H", form, columns, *([form] * columns)))


def error_response(fields: Iterable[tuple[str, str]]) -> Message:
    """An error, by the letters of its fields."""
    return Message(b"E", b"".join(code.encode() + encode_text(value) for code, value in fields) + b"\0")


def parse_error(body: bytes) -> dict[str, str]:
    """The fields of an error, by letter."""
    fields = Reader(body)
    found: dict[str, str] = {}
    while (code := fields.take(1)) != b"\0":
        found[code.decode("ascii", "replace")] = fields.text()
    return found


def _formats(formats: tuple[int, ...]) -> bytes:
    return struct.pack(f"!H{len(formats)}H", len(formats), *formats)
