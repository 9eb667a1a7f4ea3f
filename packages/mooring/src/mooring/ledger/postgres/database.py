"""A bounded connection pool: runs named queries, retries whole transactions, and verifies every new connection."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg
import msgspec

from hawser.clock import Clock, Entropy
from mooring.ledger.errors import RETRYABLE, translated
from mooring.ledger.migrations import SCHEMA
from mooring.model.errors import InvalidInput, Misconfigured
from mooring.model.timeouts import Timeouts

T = TypeVar("T")
Row = Any
"""An asyncpg record: values by column name."""
Connection = Any

_ATTEMPTS = 6
_SEARCHERS = 5  # one of so many connections is for searches
_CLOSE_SECONDS = 2.0
_PREPARE_SECONDS = 300.0
_PATIENCE_SECONDS = 5.0  # more than the server's own statement timeout, for a server that hangs
_FIRST_PAUSE_SECONDS = 0.005
_OLDEST_SERVER = (14, 0)
# Statements find their rows by keys, so one plan is right for all values. Left to itself, PostgreSQL plans each claim
# anew, or reads the table as a whole, depending on the moment of its last statistics.
_PLANS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
_PLAN_FOR_VALUES = "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = on"


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """Options of the connections."""

    pool_size: int = 10
    connect_timeout_seconds: float = 5.0
    statement_timeout_seconds: float = Timeouts().statement


class Database:
    """One PostgreSQL database. `verify` is called with every new connection before it is used."""

    def __init__(self, url: str, options: DatabaseOptions, clock: Clock, entropy: Entropy) -> None:
        self.url = url
        self._options = options
        self._clock = clock
        self._entropy = entropy
        self._pool: Any = None
        self._searches = asyncio.Semaphore(max(1, options.pool_size // _SEARCHERS))
        self.where = describe(url)
        self.verify: Callable[[Connection], Awaitable[None]] = _accept

    async def open(self) -> None:
        """Connections are opened when needed and kept."""
        self._pool = await asyncpg.create_pool(
            **self._connect_arguments(self._options.statement_timeout_seconds),
            min_size=0,
            max_size=self._options.pool_size,
            max_inactive_connection_lifetime=0,
            init=self._initialise,
            reset=_keep,
        )

    async def close(self) -> None:
        if self._pool is None:
            return
        try:
            await asyncio.wait_for(self._pool.close(), _CLOSE_SECONDS)
        except TimeoutError:
            self._pool.terminate()

    async def connect(self) -> Connection:
        """A separate connection, outside of the pool and not verified."""
        with translated(self.where):
            return await asyncpg.connect(**self._connect_arguments(self._options.statement_timeout_seconds))

    async def connect_first(self) -> Connection:
        """The connection that prepares the database. Wrong settings are reported here."""
        with translated(self.where, starting=True):
            return await asyncpg.connect(**self._connect_arguments(_PREPARE_SECONDS))

    async def fetch(self, query: str, *arguments: object) -> list[Row]:
        return await self.transact(lambda connection: connection.fetch(query, *arguments), single=True)

    async def fetch_row(self, query: str, *arguments: object) -> Row | None:
        return await self.transact(lambda connection: connection.fetchrow(query, *arguments), single=True)

    async def search(self, query: str, *arguments: object) -> list[Row]:
        """The rows of `scan`, for readers: they take turns, so that their searches never have all connections.

        Measured with 500,000 claims and 20 readers who ask for an owner: a claim took 6.4 s instead of 0.14 s.
        """
        with translated(self.where):
            async with asyncio.timeout(self._patience_seconds):
                await self._searches.acquire()
        try:
            return await self.scan(query, *arguments)
        finally:
            self._searches.release()

    async def scan(self, query: str, *arguments: object) -> list[Row]:
        """The rows of a query that may read the whole table: its best plan depends on the filters that are given."""

        async def fetch(connection: Connection) -> list[Row]:
            await connection.execute(_PLAN_FOR_VALUES)
            rows: list[Row] = await connection.fetch(query, *arguments)
            return rows

        return await self.transact(fetch)

    async def fetch_rows(self, query: str, arguments: Sequence[tuple[object, ...]]) -> list[Row | BaseException]:
        """One row for each arguments, in one transaction.

        If one statement fails, each is run alone with its own error.
        """
        if len(arguments) == 1:
            return [await self.fetch_row(query, *arguments[0])]
        with contextlib.suppress(InvalidInput, asyncpg.PostgresError, asyncpg.InterfaceError):
            return await self.transact(lambda connection: connection.fetchmany(query, arguments), single=True)
        return await asyncio.gather(*(self.fetch_row(query, *each) for each in arguments), return_exceptions=True)

    async def fetch_value(self, query: str, *arguments: object) -> Any:
        return await self.transact(lambda connection: connection.fetchval(query, *arguments), single=True)

    async def transact(self, work: Callable[[Connection], Awaitable[T]], *, single: bool = False) -> T:
        """Run `work` in a transaction (a `single` statement needs none), and again if the server asks for it."""
        pause_seconds = _FIRST_PAUSE_SECONDS
        with translated(self.where):
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    return await self._once(work, single)
                except RETRYABLE:
                    if attempt == _ATTEMPTS:
                        raise
                await self._clock.sleep(self._entropy.between(0, pause_seconds))
                pause_seconds *= 2
        raise AssertionError("the loop returns or raises")

    async def _once(self, work: Callable[[Connection], Awaitable[T]], single: bool) -> T:
        # Without a limit, calls behind those that hang on a silent server would wait for ever. With one, asyncpg starts
        # a task, which would cost every call; a connection that is idle is there at once.
        limit = None if self._pool.get_idle_size() else self._patience_seconds
        async with self._pool.acquire(timeout=limit) as connection:
            try:
                if single:
                    return await work(connection)
                async with connection.transaction():
                    return await work(connection)
            except asyncpg.InternalClientError:
                connection.terminate()
                raise

    async def _initialise(self, connection: Connection) -> None:
        await _set_codecs(connection)
        await self.verify(connection)

    @property
    def _patience_seconds(self) -> float:
        return self._options.statement_timeout_seconds + _PATIENCE_SECONDS

    def _connect_arguments(self, statement_timeout_seconds: float) -> dict[str, Any]:
        limit = str(int(statement_timeout_seconds * 1000))
        return {
            "dsn": self.url,
            "timeout": self._options.connect_timeout_seconds,
            "command_timeout": statement_timeout_seconds + _PATIENCE_SECONDS,
            "target_session_attrs": "read-write",
            "server_settings": {
                **_PLANS,
                "application_name": "mooring",
                "search_path": SCHEMA,
                "timezone": "UTC",
                "statement_timeout": limit,
                "idle_in_transaction_session_timeout": limit,
            },
        }


async def check_server(connection: Connection) -> None:
    """Raise Misconfigured if Mooring cannot use this server."""
    version = connection.get_server_version()
    if (version.major, version.minor) < _OLDEST_SERVER:
        raise Misconfigured(
            f"the database is PostgreSQL {version.major}; Mooring needs {_OLDEST_SERVER[0]} or newer",
            fix="upgrade it, or give another database",
        )


def describe(url: str) -> str:
    """The database for messages, without the password."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2] or "the local socket"
    return f"the database {parts.path.lstrip('/') or '(default)'} at {host}"


async def _set_codecs(connection: Connection) -> None:
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", format="binary", encoder=_encode_jsonb, decoder=_decode_jsonb
    )


def _encode_jsonb(value: object) -> bytes:
    return b"\x01" + msgspec.json.encode(value)


def _decode_jsonb(value: bytes) -> Any:
    return msgspec.json.decode(value[1:])


async def _accept(connection: Connection) -> None:
    """Accepts any connection; used before the schema exists."""


async def _keep(connection: Connection) -> None:
    """Our statements leave no state on a connection, so returning it needs no reset."""
