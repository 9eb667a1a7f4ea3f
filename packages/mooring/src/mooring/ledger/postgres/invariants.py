"""Kill switches and counters of the invariants in PostgreSQL."""

from collections.abc import Iterable
from datetime import datetime

from mooring.ledger.postgres.database import Connection, Database, Row
from mooring.ledger.queries import load
from mooring.ledger.records import InvariantCheck, InvariantState

_SQL = load("invariants")


class PostgresInvariants:
    """Implements `Invariants`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, InvariantState]:
        return {row["id"]: _state(row) for row in await self._database.fetch(_SQL["all"])}

    async def pause(self, invariant: str, *, actor: str, reason: str, now: datetime) -> InvariantState:
        return _state(await self._database.fetch_row(_SQL["switch"], invariant, True, actor, reason, now))

    async def resume(self, invariant: str, *, actor: str, now: datetime) -> InvariantState:
        return _state(await self._database.fetch_row(_SQL["switch"], invariant, False, actor, "", now))

    async def record(self, checks: Iterable[InvariantCheck]) -> None:
        rows = sorted((_figures(check) for check in checks), key=lambda row: str(row[0]))

        async def add(connection: Connection) -> None:
            await connection.executemany(_SQL["record"], rows)

        await self._database.transact(add)


def _figures(check: InvariantCheck) -> tuple[object, ...]:
    last = check.healed[-1] if check.healed else None
    return (
        check.id, check.at, check.broken, check.found, len(check.healed), sum(check.healed), last, check.evidence,
    )  # fmt: skip


def _state(row: Row) -> InvariantState:
    return InvariantState(**{field: row[field] for field in InvariantState.__struct_fields__})
