"""Signs of life of workers in PostgreSQL."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from mooring.ledger.postgres.database import Database
from mooring.ledger.queries import load

_SQL = load("liveness")


class PostgresLiveness:
    """Implements `Liveness`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, senders: Iterable[str], *, now: datetime) -> None:
        # Sorted: two replicas that write the same rows in different orders would wait for each other.
        await self._database.fetch(_SQL["record"], sorted(set(senders)), now)

    async def counts(self, senders: Iterable[str]) -> Mapping[str, int]:
        rows = await self._database.fetch(_SQL["counts"], list(senders))
        return {row["speaker"]: row["count"] for row in rows}

    async def forget(self, *, silent_since: datetime, limit: int = 1000) -> int:
        count: int = await self._database.fetch_value(_SQL["forget"], silent_since, limit)
        return count
