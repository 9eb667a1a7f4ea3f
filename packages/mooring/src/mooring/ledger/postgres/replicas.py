"""Replicas in PostgreSQL."""

from datetime import datetime

from mooring.ledger.postgres.database import Database, Row
from mooring.ledger.queries import load
from mooring.ledger.records import Replica

_SQL = load("replicas")


class PostgresReplicas:
    """Implements `Replicas`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, replica_id: str, *, address: str, version: str, now: datetime) -> Replica:
        return _replica(await self._database.fetch_row(_SQL["register"], replica_id, address, version, now))

    async def heartbeat(self, replica_id: str, epoch: int, *, now: datetime) -> bool:
        return bool(await self._database.fetch_value(_SQL["heartbeat"], replica_id, epoch, now))

    async def leave(self, replica_id: str, epoch: int, *, now: datetime) -> bool:
        return bool(await self._database.fetch_value(_SQL["leave"], replica_id, epoch, now))

    async def depose(self, replica_id: str, epoch: int, *, beats: int, now: datetime) -> bool:
        return bool(await self._database.fetch_value(_SQL["depose"], replica_id, epoch, beats, now))

    async def all(self) -> tuple[Replica, ...]:
        return tuple(_replica(row) for row in await self._database.fetch(_SQL["all"]))

    async def forget(self, *, silent_since: datetime) -> int:
        count: int = await self._database.fetch_value(_SQL["forget"], silent_since)
        return count


def _replica(row: Row) -> Replica:
    return Replica(**{field: row[field] for field in Replica.__struct_fields__})
