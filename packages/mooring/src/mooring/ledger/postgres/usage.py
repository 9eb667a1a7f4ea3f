"""The use of workers in PostgreSQL."""

from collections.abc import Sequence
from datetime import date

from mooring.ledger.postgres.database import Database
from mooring.ledger.queries import load
from mooring.model.usage import UsageRow

_SQL = load("usage")


class PostgresUsage:
    """Implements `Usage`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, *, since: date, until: date, namespaces: Sequence[str] | None = None) -> tuple[UsageRow, ...]:
        rows = await self._database.fetch(_SQL["read"], since, until, list(namespaces) if namespaces else None)
        return tuple(UsageRow(**row) for row in rows)

    async def prune(self, *, before: date, limit: int = 1000) -> int:
        count: int = await self._database.fetch_value(_SQL["prune"], before, limit)
        return count
