"""Statements of one kind that come while another is under way travel together: one round trip and one commit for all.

A lone one departs at once: nobody waits for company.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from mooring.ledger.postgres.database import Database, Row

Arguments = tuple[object, ...]

_MOST = 32  # of a burst the first are answered while the last are still written
_ROADS = 2  # one that waits for a lock of another replica does not hold up those who come after it


class Convoy:
    """One query that answers exactly one row. `order` is that of the locks it takes: convoys of two replicas that took
    the same locks in different orders would wait for each other."""

    def __init__(self, database: Database, query: str, order: Callable[[Arguments], Any]) -> None:
        self._database = database
        self._query = query
        self._order = order
        self._roads = asyncio.Semaphore(_ROADS)
        self._boarding: list[Arguments] = []
        self._departure: asyncio.Task[dict[int, Row | BaseException]] | None = None
        self._under_way: set[asyncio.Task[Any]] = set()

    async def fetch_row(self, *arguments: object) -> Row:
        """The row; an error that these arguments made is theirs alone."""
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
        """The row of each, by its place among the travellers."""
        async with self._roads:
            if travellers is self._boarding:
                self._departure = None  # who comes now takes the next
            places = sorted(range(len(travellers)), key=lambda place: self._order(travellers[place]))
            rows = await self._database.fetch_rows(self._query, [travellers[place] for place in places])
            return dict(zip(places, rows, strict=True))
