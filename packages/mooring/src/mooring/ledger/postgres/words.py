"""Words of workers in PostgreSQL."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from mooring.ledger.postgres.database import Database
from mooring.ledger.queries import load

_SQL = load("words")


class PostgresWords:
    """Implements `Words`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def hear(self, speakers: Iterable[str], *, now: datetime) -> None:
        # Sorted: two replicas that write the same rows in different orders would wait for each other.
        await self._database.fetch(_SQL["hear"], sorted(set(speakers)), now)

    async def counts(self, speakers: Iterable[str]) -> Mapping[str, int]:
        rows = await self._database.fetch(_SQL["counts"], list(speakers))
        return {row["speaker"]: row["count"] for row in rows}

    async def forget(self, *, silent_since: datetime, limit: int = 1000) -> int:
        count: int = await self._database.fetch_value(_SQL["forget"], silent_since, limit)
        return count
