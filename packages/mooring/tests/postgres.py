"""A real PostgreSQL for tests: one embedded server a session, a fresh database whenever one is asked for.

Import the fixture `postgres` into a conftest to use it.
"""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest

from hawser.clock import Entropy, SystemClock
from mooring.ledger.embedded import EmbeddedServer
from mooring.ledger.migrations import SCHEMA, known_migrations, migrate

T = TypeVar("T")
_QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}
"""Nobody pulls the plug on a test's server; killing the process loses nothing."""

_EMPTY = (
    "TRUNCATE incarnations, replicas, claims, audit, invariants, revocations, words, attendance RESTART IDENTITY",
    "TRUNCATE history, demand, refusals, usage",
    "ALTER SEQUENCE claim_epochs RESTART",
    "ALTER SEQUENCE claim_tickets RESTART",
    "ALTER SEQUENCE replica_epochs RESTART",
)


class PostgresForTests:
    """The server, on an event loop in a thread of its own: tests make and close their own loops."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._used: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgres-for-tests", daemon=True)
        self._thread.start()
        self._folder = Path(tempfile.mkdtemp(prefix="mooring-test-"))
        self._folder.chmod(0o755)
        self.server = EmbeddedServer(self._folder / "postgres", clock=SystemClock(), entropy=Entropy(), settings=_QUICK)
        self.url = self._run(self.server.start())
        self._run(self._make_template())

    def stop(self) -> None:
        self._run(self.server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        shutil.rmtree(self._folder)

    def fresh_database(self) -> str:
        """The URL of an empty ledger: the schema is there, nobody has opened it yet."""
        if self._used:
            url = self._used.pop()
            self._run(self._execute(url, *_EMPTY))
            return url
        name = f"test_{next(self._numbers)}"
        self._run(self.admin(f"CREATE DATABASE {name} TEMPLATE template_mooring STRATEGY FILE_COPY"))
        return self.url_of(name)

    def give_back(self, url: str) -> None:
        """Nobody uses it any more and its schema is as it was: emptying it is quicker than making another."""
        self._used.append(url)

    def empty_database(self) -> str:
        """The URL of a database without even a schema."""
        name = f"test_{next(self._numbers)}"
        self._run(self.admin(f"CREATE DATABASE {name}"))
        return self.url_of(name)

    def url_of(self, name: str) -> str:
        return self.url.replace("/mooring?", f"/{name}?")

    async def admin(self, *statements: str) -> None:
        """Run statements from outside any ledger's database."""
        await self._execute(self.url, *statements)

    async def _execute(self, url: str, *statements: str) -> None:
        connection = await asyncpg.connect(url, server_settings={"search_path": SCHEMA})
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _make_template(self) -> None:
        await self.admin("CREATE DATABASE template_mooring")
        connection = await asyncpg.connect(self.url_of("template_mooring"), server_settings={"search_path": SCHEMA})
        try:
            await migrate(connection, known_migrations(), SystemClock().now())
        finally:
            await connection.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresForTests]:
    server = PostgresForTests()
    yield server
    server.stop()
