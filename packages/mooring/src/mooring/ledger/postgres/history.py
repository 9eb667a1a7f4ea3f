"""The history of pools in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from mooring.ledger.postgres.database import Database, Row
from mooring.ledger.queries import load
from mooring.model.pool_history import (
    BOUNDS,
    COARSE_KEPT,
    COARSE_SECONDS,
    FINE_KEPT,
    FINE_SECONDS,
    Gauges,
    Sample,
)

_SQL = load("history")
_COLUMNS = ("namespace", "pool", "at")


class PostgresHistory:
    """Implements `History`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, gauges: Sequence[Gauges], *, since: datetime, at: datetime) -> None:
        rows = [_row(one) for one in gauges]
        await self._database.fetch(_SQL["write"], since, at, rows, BOUNDS, FINE_SECONDS)

    async def summarise(self, samples: Sequence[Sample]) -> None:
        rows = [{**_row(one), "at": one.at} for one in samples]
        await self._database.fetch(_SQL["summarise"], rows, COARSE_SECONDS)

    async def of_pool(
        self, namespace: str, pool: str, *, step_seconds: int, since: datetime, until: datetime
    ) -> tuple[Sample, ...]:
        rows = await self._database.fetch(_SQL["of_pool"], namespace, pool, step_seconds, since, until)
        return tuple(_sample(row) for row in rows)

    async def of_all(self, *, step_seconds: int, since: datetime, until: datetime) -> tuple[Sample, ...]:
        return tuple(_sample(row) for row in await self._database.fetch(_SQL["of_all"], step_seconds, since, until))

    async def summarised_until(self) -> datetime | None:
        newest: datetime | None = await self._database.fetch_value(_SQL["summarised_until"], COARSE_SECONDS)
        return newest

    async def prune(self, *, now: datetime, limit: int = 1000) -> int:
        count: int = await self._database.fetch_value(
            _SQL["prune"], FINE_SECONDS, now - FINE_KEPT, COARSE_SECONDS, now - COARSE_KEPT, limit
        )
        return count


def _row(one: Gauges | Sample) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(one)
    return {
        "namespace": one.namespace,
        "pool": one.pool,
        "sample": {name: value for name, value in fields.items() if name not in _COLUMNS},
    }


def _sample(row: Row) -> Sample:
    # A later version may keep more of a pool; fields that are unknown here are left out.
    return msgspec.convert({**row["sample"], **{name: row[name] for name in _COLUMNS}}, Sample, strict=False)
