"""Sessions of pages in PostgreSQL."""

from datetime import datetime

import msgspec

from mooring.ledger.page_sessions import PageSession
from mooring.ledger.postgres.database import Database
from mooring.ledger.queries import load
from mooring.model.identity import Identity

_SQL = load("sessions")


class PostgresSessions:
    """Implements `Sessions`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, new: PageSession) -> None:
        identity = msgspec.to_builtins(new.identity)
        await self._database.fetch(_SQL["create"], new.id_hash, identity, new.proof, new.created_at, new.expires_at)

    async def find(self, id_hash: str, *, now: datetime) -> PageSession | None:
        row = await self._database.fetch_row(_SQL["find"], id_hash, now)
        if row is None:
            return None
        identity = msgspec.convert(row["identity"], Identity)
        return PageSession(row["id_hash"], identity, row["proof"], row["created_at"], row["expires_at"])

    async def delete(self, id_hash: str) -> None:
        await self._database.fetch(_SQL["delete"], id_hash)

    async def prune(self, *, now: datetime, limit: int = 1000) -> int:
        count: int = await self._database.fetch_value(_SQL["prune"], now, limit)
        return count
