"""Batching of statements: those that arrive while one is running share the next round trip and commit.

A single statement is sent at once, so batching adds no wait. See docs/adr/0008-statements-are-batched.md.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from mooring.ledger.postgres.database import Database, Row

Arguments = tuple[object, ...]

_MOST = 32  # the first statements of a burst are answered while the last ones are still written
_AT_ONCE = 2  # a batch that waits for a lock of another replica does not block the following ones


class StatementBatches:
    """Batches one query that returns exactly one row.

    `order` is the order of the locks that the query takes: batches of two replicas that took the same locks in
    different orders would wait for each other.
    """

    def __init__(self, database: Database, query: str, order: Callable[[Arguments], Any]) -> None:
        self._database = database
        self._query = query
        self._order = order
        self._connections = asyncio.Semaphore(_AT_ONCE)
        self._next: list[Arguments] = []
        self._next_rows: asyncio.Task[dict[int, Row | BaseException]] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def fetch_row(self, *arguments: object) -> Row:
        """The row. An error caused by these arguments is raised only for them."""
        if self._next_rows is None or len(self._next) == _MOST:
            self._next = []
            self._next_rows = asyncio.create_task(self._run(self._next))
            self._tasks.add(self._next_rows)
            self._next_rows.add_done_callback(self._tasks.discard)
        self._next.append(arguments)
        place = len(self._next) - 1
        row = (await asyncio.shield(self._next_rows))[place]
        if isinstance(row, BaseException):
            raise row
        return row

    async def _run(self, batch: list[Arguments]) -> dict[int, Row | BaseException]:
        """The rows of a batch, in the order of its statements."""
        async with self._connections:
            if batch is self._next:
                self._next_rows = None  # statements that arrive from now on go into the next batch
            places = sorted(range(len(batch)), key=lambda place: self._order(batch[place]))
            rows = await self._database.fetch_rows(self._query, [batch[place] for place in places])
            return dict(zip(places, rows, strict=True))
