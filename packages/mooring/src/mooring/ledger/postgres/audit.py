"""The audit trail in PostgreSQL."""

from datetime import datetime

from mooring.ledger.postgres.database import Database, Row
from mooring.ledger.queries import load
from mooring.ledger.records import AuditFilter, AuditPage, deposed
from mooring.model.audit import AuditEntry, AuditOutcome, AuditRecord, Subject

_SQL = load("audit")


class PostgresAudit:
    """Implements `Audit`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, entry: AuditEntry, *, epoch: int | None = None) -> AuditRecord:
        row = await self._database.fetch_row(
            _SQL["insert"], entry.id, entry.at, entry.actor, entry.replica, entry.action, entry.subject.kind,
            entry.subject.namespace, entry.subject.name, entry.subject.uid, entry.reason, entry.evidence,
            epoch,
        )  # fmt: skip
        row = row or await self._database.fetch_row(_SQL["get"], entry.id)
        if row is None:
            raise deposed(entry.replica, epoch)
        return _record(row)

    async def complete(
        self, entry_id: str, outcome: AuditOutcome, *, now: datetime, error: str = ""
    ) -> AuditRecord | None:
        row = await self._database.fetch_row(_SQL["complete"], entry_id, outcome.value, error, now)
        row = row or await self._database.fetch_row(_SQL["get"], entry_id)
        return _record(row) if row else None

    async def list(self, which: AuditFilter, *, limit: int = 100, before_sequence: int | None = None) -> AuditPage:
        outcome = which.outcome.value if which.outcome else None
        within = None if which.within is None else sorted(which.within)
        matching = (
            which.actor, which.action, which.kind, which.namespace, which.name, which.uid, outcome, which.since,
            within, which.namespaced, which.id,
        )  # fmt: skip
        total: int = (await self._database.search(_SQL["count"], *matching))[0]["count"]
        rows = await self._database.search(_SQL["list"], *matching, before_sequence, limit)
        items = tuple(_record(row) for row in rows)
        return AuditPage(items, total, items[-1].sequence if len(items) == limit else None)

    async def prune(self, *, before: datetime, limit: int = 1000) -> int:
        count: int = await self._database.fetch_value(_SQL["prune"], before, limit)
        return count

    async def count_completed(self, *, before: datetime, limit: int) -> int:
        count: int = await self._database.fetch_value(_SQL["count_completed"], before, limit)
        return count


def _record(row: Row) -> AuditRecord:
    return AuditRecord(
        sequence=row["sequence"],
        entry=AuditEntry(
            id=row["id"],
            at=row["at"],
            actor=row["actor"],
            replica=row["replica"],
            action=row["action"],
            subject=Subject(row["kind"], row["namespace"], row["name"], row["uid"]),
            reason=row["reason"],
            evidence=row["evidence"],
        ),
        outcome=AuditOutcome(row["outcome"]),
        error=row["error"],
        completed_at=row["completed_at"],
    )
