"""Revocations in PostgreSQL."""

from datetime import datetime

from mooring.ledger.postgres.database import Database
from mooring.ledger.queries import load
from mooring.ledger.records import Revocation

_SQL = load("revocations")


class PostgresRevocations:
    """Implements `Revocations`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def intend(self, new: Revocation) -> None:
        await self._database.fetch(_SQL["intend"], new.claim_id, new.namespace, new.pool, new.mint, new.next_at)

    async def take(self, *, now: datetime, until: datetime, limit: int = 20) -> tuple[Revocation, ...]:
        rows = await self._database.fetch(_SQL["take"], now, until, limit)
        return tuple(sorted((Revocation(**row) for row in rows), key=lambda one: one.claim_id))

    async def postpone(self, claim_id: str, *, next_at: datetime) -> None:
        await self._database.fetch(_SQL["postpone"], claim_id, next_at)

    async def settle(self, claim_id: str) -> None:
        await self._database.fetch(_SQL["settle"], claim_id)
