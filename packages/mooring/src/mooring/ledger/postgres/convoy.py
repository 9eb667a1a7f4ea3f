"""Batching of statements: those that arrive while one is running share the next round trip and commit.

A single statement is sent at once, so batching adds no wait. See docs/adr/0008-claims-travel-in-convoys.md.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from mooring.ledger.postgres.database import Database, Row

Arguments = tuple[object, ...]

_MOST = 32  # the first statements of a burst are answered while the last ones are still written
_ROADS = 2  # a batch that waits for a lock of another replica does not block the following ones


class Convoy:
    """Batches one query that returns exactly one row.

    `order` is the order of the locks that the query takes: batches of two replicas that took the same locks in
    different orders would wait for each other.
    """

    def __init__(self, database: Database, query: str, order: Callable[[Arguments], Any]) -> None:
        self._database = database
        self._query = query
        self._order = order
        self._roads = asyncio.Semaphore(_ROADS)
        self._boarding: list[Arguments] = []
        self._departure: asyncio.Task[dict[int, Row | BaseException]] | None = None
        self._under_way: set[asyncio.Task[Any]] = set()

    async def fetch_row(self, *arguments: object) -> Row:
        """The row. An error caused by these arguments is raised only for them."""
        if self._departure is None or len(self._boarding) == _MOST:
            self._boarding = []
            self._departure = asyncio.create_task(self._travel(self._boarding))
            self._under_way.add(self._departure)
            self._departure.add_done_callback(self._under_way.discard)
        self._boarding.append(arguments)
        place = len(self._boarding) - 1
        row = (await asyncio.shield(self._departure))[place]
        if isinstance(row, BaseException):
            raise row
        return row

    async def _travel(self, travellers: list[Arguments]) -> dict[int, Row | BaseException]:
        """The rows of a batch, in the order of its statements."""
        async with self._roads:
            if travellers is self._boarding:
                self._departure = None  # statements that arrive from now on go into the next batch
            places = sorted(range(len(travellers)), key=lambda place: self._order(travellers[place]))
            rows = await self._database.fetch_rows(self._query, [travellers[place] for place in places])
            return dict(zip(places, rows, strict=True))
