"""What was learnt of demand, in PostgreSQL."""

from datetime import datetime
from typing import Any

from mooring.ledger.postgres.database import Database
from mooring.ledger.queries import load
from mooring.model.pool_history import FINE_KEPT, FINE_SECONDS, MODELS_KEPT, end_of_step

_SQL = load("demand")


class PostgresDemand:
    """Implements `Demand`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, namespace: str, pool: str) -> dict[str, Any] | None:
        rows = await self._database.fetch(_SQL["load"], namespace, pool)
        return dict(rows[0]["model"]) if rows else None

    async def save(self, namespace: str, pool: str, model: dict[str, Any], *, at: datetime) -> None:
        await self._database.fetch(_SQL["save"], namespace, pool, at, model)

    async def refuse(self, namespace: str, pool: str, owner: str, *, now: datetime) -> None:
        step = end_of_step(now, FINE_SECONDS)
        await self._database.fetch(_SQL["refuse"], namespace, pool, now, step, owner)

    async def prune(self, *, now: datetime, limit: int = 1000) -> int:
        count: int = await self._database.fetch_value(_SQL["prune"], now - FINE_KEPT, now - MODELS_KEPT, limit)
        return count
