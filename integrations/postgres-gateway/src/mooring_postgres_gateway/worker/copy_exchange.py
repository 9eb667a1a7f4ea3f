"""COPY between a client and DuckDB, in pieces: no more than one batch of rows is in memory."""

from collections.abc import Awaitable, Callable
from typing import Any

from mooring_postgres_gateway.failures import CANCELLED, SessionError
from mooring_postgres_gateway.sql import split_statements
from mooring_postgres_gateway.streams import MessageStream
from mooring_postgres_gateway.wire import bodies
from mooring_postgres_gateway.wire.frames import Message, ProtocolViolation
from mooring_postgres_gateway.worker.copying import (
    Copy,
    Row,
    RowReader,
    encode_header,
    encode_rows,
    encode_trailer,
)
from mooring_postgres_gateway.worker.engine import Engine
from mooring_postgres_gateway.worker.values import oid_of

_BATCH_ROWS = 10_000
_OUT_ROWS = 1000

Call = Callable[..., Awaitable[Any]]


async def copy_in(copy: Copy, stream: MessageStream, engine: Engine, call: Call) -> int:
    """Store the rows that the client sends; returns their number."""
    columns = await call(engine.columns_of, copy.source, copy.columns)
    form = int(copy.options.form == "binary")
    insert = _insert_statement(copy, columns)
    reader = RowReader(copy.options, [oid_of(kind) for _, kind in columns])
    await stream.send(bodies.copy_response(b"G", form, len(columns)))
    batch: list[Row] = []
    stored = 0
    try:
        while (message := await stream.read()).kind != b"c":
            batch += _rows_of(message, reader)
            if len(batch) >= _BATCH_ROWS:
                stored += await _store(batch, insert, engine, call)
        batch += reader.finish()
    except UnicodeDecodeError as error:
        raise SessionError("22021", f"the data is not UTF-8: {error}") from error
    except ValueError as error:
        raise SessionError("22P03", str(error)) from error
    return stored + await _store(batch, insert, engine, call)


def _rows_of(message: Message, reader: RowReader) -> list[Row]:
    if message.kind == b"d":
        return reader.feed(message.body)
    if message.kind == b"f":
        raise SessionError(CANCELLED, f"COPY from stdin failed: {bodies.parse_query(message.body)}")
    if message.kind in (b"H", b"S"):
        return []
    raise ProtocolViolation(f"message {message.kind!r} during COPY from stdin")


def _insert_statement(copy: Copy, columns: list[tuple[str, str]]) -> str:
    def value(number: int, kind: str) -> str:
        items = f"unnest(${number}::VARCHAR[])"
        return f"unhex(substr({items}, 3))" if kind == "BLOB" else f"{items}::{kind}"

    names = ", ".join('"' + name.replace('"', '""') + '"' for name, _ in columns)
    values = ", ".join(value(number, kind) for number, (_, kind) in enumerate(columns, 1))
    return f"INSERT INTO {copy.source} ({names}) SELECT {values}"


async def _store(batch: list[Row], insert: str, engine: Engine, call: Call) -> int:
    if not batch:
        return 0
    count, by_column = len(batch), [list(values) for values in zip(*batch, strict=True)]
    batch.clear()
    await call(engine.execute, insert, by_column)
    return count


async def copy_out(copy: Copy, stream: MessageStream, engine: Engine, call: Call) -> int:
    """Send rows to the client; returns their number."""
    (statement,) = split_statements(copy.query)
    outcome = await call(engine.run, statement)
    columns = outcome.columns or ()
    oids = [column.oid for column in columns]
    form = int(copy.options.form == "binary")
    await stream.send(bodies.copy_response(b"H", form, len(columns)))
    if header := encode_header([column.name for column in columns], copy.options):
        await stream.send(Message(b"d", header))
    sent = 0
    while rows := await call(engine.fetch, _OUT_ROWS):
        sent += len(rows)
        await stream.send(Message(b"d", encode_rows(rows, oids, copy.options)))
    if trailer := encode_trailer(copy.options):
        await stream.send(Message(b"d", trailer))
    await stream.send(bodies.COPY_DONE)
    return sent
