"""One session of a worker: answers the messages of the protocol with DuckDB."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import duckdb

from mooring_postgres_gateway.failures import (
    CANCELLED,
    FAILED_TRANSACTION,
    PROTOCOL_VIOLATION,
    REFUSED,
    WORKER_LOST,
    SessionError,
)
from mooring_postgres_gateway.settings import Settings
from mooring_postgres_gateway.sql import Statement, split_statements
from mooring_postgres_gateway.statements import Kind, classify_statement
from mooring_postgres_gateway.streams import Gone, MessageStream
from mooring_postgres_gateway.wire import bodies
from mooring_postgres_gateway.wire.bodies import FAILED, IDLE, IN_TRANSACTION
from mooring_postgres_gateway.wire.frames import Message, ProtocolViolation
from mooring_postgres_gateway.worker.copy_exchange import copy_in, copy_out
from mooring_postgres_gateway.worker.copying import parse_copy
from mooring_postgres_gateway.worker.engine import Engine, classify_error
from mooring_postgres_gateway.worker.portals import Portal, Preparation, bind_portal, prepare
from mooring_postgres_gateway.worker.values import TEXT, encode

T = TypeVar("T")

_ROWS_AT_ONCE = 1000
_ATOMIC = frozenset(["INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "ALTER", "TRUNCATE", "COPY"])


class WorkerSession:
    """Reads messages until the other side leaves, another session takes over, or the worker drains."""

    def __init__(self, stream: MessageStream, engine: Engine, draining: asyncio.Event, settings: Settings) -> None:
        self._stream = stream
        self._engine = engine
        self._draining = draining
        self._thread = ThreadPoolExecutor(1, "duckdb")
        self._settings = settings
        self._status = IDLE
        self._implicit = False  # a transaction that ends with the exchange
        self._statements: dict[str, Preparation] = {}
        self._portals: dict[str, Portal] = {}
        self._skipping = False  # after an error, until Sync
        self._busy = False  # messages of an exchange were read
        self._timed_out = False

    def begin_failed(self) -> None:
        """Begin in a transaction that has failed: the worker that ran it is lost."""
        self._status = FAILED

    async def run(self) -> None:
        """Until the session ends."""
        watching = asyncio.create_task(self._interrupt_when_gone())
        try:
            while (message := await self._next()) is not None and message.kind != b"X":
                await self._answer(message)
        except Gone:
            return
        except ProtocolViolation as violation:
            await self._stream.send(SessionError(PROTOCOL_VIOLATION, str(violation), fatal=True).encode())
        finally:
            watching.cancel()
            await self.close()

    def cancel(self) -> None:
        """Stop the statement that runs."""
        self._engine.interrupt()

    async def close(self) -> None:
        """Drop the database, once its statement has stopped."""
        self._engine.interrupt()
        await self._call(self._engine.close)
        self._thread.shutdown(wait=False)

    async def _next(self) -> Message | None:
        """The next message; None when the worker drains and nothing is unfinished here."""
        reading = asyncio.create_task(self._stream.read())
        draining = asyncio.create_task(self._draining.wait())
        idle = not self._busy and self._status == IDLE
        try:
            await asyncio.wait({reading, draining} if idle else {reading}, return_when=asyncio.FIRST_COMPLETED)
            if idle and self._draining.is_set():
                message = "the worker drains and has not begun the statement"
                await self._stream.send(SessionError(WORKER_LOST, message, fatal=True, routine=REFUSED).encode())
                return None
            return reading.result()
        finally:
            draining.cancel()
            if not reading.done():
                reading.cancel()

    async def _interrupt_when_gone(self) -> None:
        await self._stream.gone.wait()
        self._engine.interrupt()

    async def _answer(self, message: Message) -> None:
        self._busy = True
        if message.kind == b"S":
            await self._sync()
            return
        if self._skipping:
            return
        handler = self._handlers.get(message.kind)
        try:
            if handler is None:
                raise ProtocolViolation(f"message {message.kind!r} is not expected")
            await handler(self, message.body)
        except SessionError as error:
            await self._fail(error, extended=message.kind != b"Q")
        except duckdb.Error as error:
            await self._fail(self._translate(error), extended=message.kind != b"Q")
        if message.kind == b"Q":
            await self._sync()

    def _translate(self, error: duckdb.Error) -> SessionError:
        found = classify_error(error)
        if found.state == CANCELLED and self._timed_out:
            return SessionError(CANCELLED, "canceling statement due to statement timeout")
        return found

    async def _fail(self, error: SessionError, *, extended: bool) -> None:
        if self._status == IN_TRANSACTION and not self._implicit:
            self._status = FAILED
        elif self._implicit:
            await self._call(self._engine.execute, "ROLLBACK")
            self._implicit, self._status = False, IDLE
        self._skipping = extended
        await self._stream.send(error.encode())

    async def _sync(self) -> None:
        self._skipping = False
        if self._implicit:
            self._implicit, self._status = False, IDLE
            try:
                await self._call(self._engine.execute, "COMMIT")
            except duckdb.Error as error:
                await self._stream.send(classify_error(error).encode())
        if self._status == IDLE:
            self._portals.clear()
        self._busy = False
        await self._stream.send(bodies.ready(self._status))

    async def _query(self, body: bytes) -> None:
        statements = split_statements(bodies.parse_query(body))
        if not statements:
            await self._stream.send(bodies.EMPTY_QUERY)
        for statement in statements:
            portal = Portal(Preparation(statement))
            await self._perform(portal, atomic=len(statements) > 1)
            await self._drain_rows(portal, 0, describe=True)

    async def _parse(self, body: bytes) -> None:
        parse = bodies.parse_parse(body)
        self._statements[parse.name] = prepare(parse)
        await self._stream.send(bodies.PARSE_COMPLETE)

    async def _bind(self, body: bytes) -> None:
        bind = bodies.parse_bind(body)
        if bind.statement not in self._statements:
            raise SessionError("26000", f"prepared statement {bind.statement!r} does not exist")
        self._portals[bind.portal] = bind_portal(self._statements[bind.statement], bind)
        await self._stream.send(bodies.BIND_COMPLETE)

    async def _describe(self, body: bytes) -> None:
        target = bodies.parse_target(body)
        if target.kind == "S":
            preparation = self._statements.get(target.name)
            if preparation is None:
                raise SessionError("26000", f"prepared statement {target.name!r} does not exist")
            await self._stream.send(bodies.parameter_description(preparation.types))
            columns = await self._columns(preparation, (None,) * len(preparation.types))
        else:
            portal = self._portal(target.name)
            columns = portal.shaped(await self._columns(portal.preparation, portal.parameters))
        await self._stream.send(bodies.NO_DATA if columns is None else bodies.row_description(columns))

    async def _columns(self, preparation: Preparation, parameters: tuple[Any, ...]) -> Any:
        statement = preparation.statement
        if statement is None or self._status == FAILED:
            return None
        kind = classify_statement(statement).kind
        if (shown := self._settings.show(statement.text)) is not None:
            return (bodies.Column(shown[0], TEXT),)
        if kind not in (Kind.READ, Kind.WRITE) or statement.top()[:1] == ["COPY"]:
            return None
        preparation.columns = await self._call(self._engine.describe, statement, parameters)
        return preparation.columns

    async def _execute(self, body: bytes) -> None:
        execute = bodies.parse_execute(body)
        portal = self._portal(execute.portal)
        if portal.preparation.statement is None:
            await self._stream.send(bodies.EMPTY_QUERY)
            return
        if not portal.started:
            await self._perform(portal, atomic=True)
        await self._drain_rows(portal, execute.rows, describe=False)

    async def _close(self, body: bytes) -> None:
        target = bodies.parse_target(body)
        (self._statements if target.kind == "S" else self._portals).pop(target.name, None)
        await self._stream.send(bodies.CLOSE_COMPLETE)

    async def _ignore(self, body: bytes) -> None:
        """Flush: answers are sent at once anyway. Rows of a COPY that has failed: nobody wants them."""

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise SessionError("34000", f"portal {name!r} does not exist")
        return self._portals[name]

    async def _perform(self, portal: Portal, *, atomic: bool) -> None:
        """Run the statement of a portal up to its first row."""
        statement = portal.preparation.statement
        assert statement is not None, "empty statements are answered before"
        portal.started = True
        nature = classify_statement(statement)
        if self._status == FAILED and nature.kind not in (Kind.COMMIT, Kind.ROLLBACK):
            message = "current transaction is aborted, commands ignored until end of transaction block"
            raise SessionError(FAILED_TRANSACTION, message)
        words = statement.top()
        from_client = words[:1] == ["COPY"] and ("STDIN" in words or "STDOUT" in words)
        if self._status == IDLE and words[:1] and words[0] in _ATOMIC and (atomic or from_client):
            await self._call(self._engine.execute, "BEGIN TRANSACTION")
            self._implicit, self._status = True, IN_TRANSACTION
        if nature.kind in (Kind.BEGIN, Kind.COMMIT, Kind.ROLLBACK):
            portal.tag = await self._control(nature.kind, statement)
        elif nature.kind in (Kind.SETTING, Kind.NEUTRAL, Kind.DISCARD):
            portal.tag = await self._set(nature.kind, statement)
        elif (shown := self._settings.show(statement.text)) is not None:
            portal.give((bodies.Column(shown[0], TEXT),), [(shown[1],)])
            portal.tag = words[0]
        elif from_client:
            portal.tag = await self._copy(statement)
        else:
            outcome = await self._call(self._engine.run, statement, portal.parameters)
            portal.take(outcome)

    async def _drain_rows(self, portal: Portal, limit: int, *, describe: bool) -> None:
        """Send rows, at most so many, and the end of the statement."""
        columns = portal.columns
        if columns is not None and describe:
            await self._stream.send(bodies.row_description(columns))
        sent = 0
        while columns is not None and not portal.ended:
            count = min(_ROWS_AT_ONCE, limit - sent) if limit else _ROWS_AT_ONCE
            rows = portal.given.pop() if portal.given else await self._call(self._engine.fetch, count)
            await self._stream.send_all(_encode_row(row, columns) for row in rows)
            sent += len(rows)
            portal.sent += len(rows)
            portal.ended = len(rows) < count
            if limit and sent >= limit and not portal.ended:
                await self._stream.send(bodies.SUSPENDED)
                return
        statement = portal.preparation.statement
        assert statement is not None, "empty statements are answered before"
        if columns is not None and portal.tag != "SHOW":
            portal.tag = await self._call(self._engine.tag_of_rows, statement, portal.sent)
        portal.ended = True
        await self._stream.send(bodies.complete(portal.tag))

    async def _control(self, kind: Kind, statement: Statement) -> str:
        """BEGIN, COMMIT, ROLLBACK. As in PostgreSQL, one that changes nothing is no error."""
        if kind is Kind.BEGIN:
            if self._status == IDLE:
                words = [word.text for word in statement.words]
                mode = " READ ONLY" if ("READ", "ONLY") in pairwise(words) else ""
                await self._call(self._engine.execute, f"BEGIN TRANSACTION{mode}")
            self._status, self._implicit = IN_TRANSACTION, False
            return "BEGIN"
        failed, was_open = self._status == FAILED, self._status != IDLE
        self._status, self._implicit = IDLE, False
        rolls_back = kind is Kind.ROLLBACK or failed
        if was_open:
            await self._end_transaction("ROLLBACK" if rolls_back else "COMMIT", failed=failed)
        return "ROLLBACK" if rolls_back else "COMMIT"

    async def _end_transaction(self, word: str, *, failed: bool) -> None:
        try:
            await self._call(self._engine.execute, word)
        except duckdb.TransactionException:
            if not failed:
                raise  # a failed transaction may have begun on a worker that is lost: here is none

    async def _set(self, kind: Kind, statement: Statement) -> str:
        words = [word.text for word in statement.words]
        if kind is Kind.DISCARD:
            self._statements.clear()
            self._portals.clear()
            self._settings.reset("RESET ALL")
            await self._call(self._engine.reset)
        elif words[0] == "DEALLOCATE":
            self._deallocate(words, statement)
        elif words[0] == "RESET" and not self._settings.reset(statement.text):
            await self._call(self._engine.run, statement)
        elif words[0] == "SET" and kind is Kind.SETTING:
            changed = self._settings.set(statement.text)
            if changed is None:
                await self._call(self._engine.run, statement)
            else:
                await self._stream.send(bodies.parameter_status(*changed))
        return {"DISCARD": "DISCARD ALL", "CLOSE": "CLOSE CURSOR ALL"}.get(words[0], words[0])

    def _deallocate(self, words: list[str], statement: Statement) -> None:
        if words[-1] == "ALL" and len(words) > 1:
            self._statements.clear()
            return
        name = statement.text.split()[-1]
        self._statements.pop(name.strip('"') if name.startswith('"') else name.lower(), None)

    async def _copy(self, statement: Statement) -> str:
        copy = parse_copy(statement.text)
        move = copy_in if copy.incoming else copy_out
        return f"COPY {await move(copy, self._stream, self._engine, self._call)}"

    async def _call(self, work: Callable[..., T], *arguments: Any) -> T:
        """In the thread of the database, for at most `statement_timeout`."""
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._thread, work, *arguments)
        limit = self._settings.statement_timeout_seconds
        self._timed_out = False
        timer = loop.call_later(limit, self._time_out) if limit else None
        try:
            return await asyncio.shield(running)
        finally:
            if timer is not None:
                timer.cancel()

    def _time_out(self) -> None:
        self._timed_out = True
        self._engine.interrupt()

    _handlers: dict[bytes, Callable[["WorkerSession", bytes], Awaitable[None]]] = {
        b"Q": _query, b"P": _parse, b"B": _bind, b"D": _describe, b"E": _execute, b"C": _close,
        b"H": _ignore, b"d": _ignore, b"c": _ignore, b"f": _ignore,
    }  # fmt: skip


def _encode_row(row: tuple[Any, ...], columns: Any) -> Message:
    return bodies.data_row(
        [encode(value, column.oid, column.format) for value, column in zip(row, columns, strict=True)]
    )
