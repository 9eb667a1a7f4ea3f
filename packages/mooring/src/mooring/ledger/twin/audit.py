"""The audit trail in memory."""

from datetime import datetime

from msgspec.structs import replace

from mooring.ledger.records import AuditFilter, AuditPage, deposed
from mooring.ledger.twin.session import Session
from mooring.ledger.twin.store import as_json
from mooring.model.audit import AuditEntry, AuditOutcome, AuditRecord


class MemoryAudit:
    """Implements `Audit`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def begin(self, entry: AuditEntry, *, epoch: int | None = None) -> AuditRecord:
        store = await self._session.turn()
        replica = store.replicas.get(entry.replica)
        valid = epoch is None or (replica is not None and replica.epoch == epoch and replica.left_at is None)
        if not valid and entry.id not in store.audit:
            raise deposed(entry.replica, epoch)
        return await self._insert(entry)

    async def complete(
        self, entry_id: str, outcome: AuditOutcome, *, now: datetime, error: str = ""
    ) -> AuditRecord | None:
        store = await self._session.turn()
        record = store.audit.get(entry_id)
        if record is not None and record.outcome is AuditOutcome.PENDING:
            record = store.audit[entry_id] = replace(record, outcome=outcome, error=error, completed_at=now)
        return record

    async def list(self, which: AuditFilter, *, limit: int = 100, before_sequence: int | None = None) -> AuditPage:
        store = await self._session.turn()
        matching = [record for record in store.audit.values() if _matches(record, which)]
        rest = [record for record in matching if before_sequence is None or record.sequence < before_sequence]
        items = tuple(sorted(rest, key=lambda record: -record.sequence)[:limit])
        return AuditPage(items, len(matching), items[-1].sequence if len(items) == limit else None)

    async def prune(self, *, before: datetime, limit: int = 1000) -> int:
        store = await self._session.turn()
        old = [r for r in store.audit.values() if r.entry.at < before and r.outcome is not AuditOutcome.PENDING]
        old.sort(key=lambda record: (record.entry.at, record.sequence))
        for record in old[:limit]:
            del store.audit[record.entry.id]
        return len(old[:limit])

    async def count_completed(self, *, before: datetime, limit: int) -> int:
        rows = (await self._session.turn()).audit.values()
        return min(limit, sum(row.entry.at < before and row.outcome is not AuditOutcome.PENDING for row in rows))

    async def _insert(self, entry: AuditEntry) -> AuditRecord:
        store = await self._session.turn()
        if entry.id not in store.audit:
            store.audit[entry.id] = AuditRecord(
                sequence=store.draw_audit_sequence(),
                entry=replace(entry, evidence=as_json(entry.evidence)),
                outcome=AuditOutcome.PENDING,
                error="",
                completed_at=None,
            )
        return store.audit[entry.id]


def _matches(record: AuditRecord, which: AuditFilter) -> bool:
    entry = record.entry
    return (
        which.id in (None, entry.id)
        and which.actor in (None, entry.actor)
        and which.action in (None, entry.action)
        and which.kind in (None, entry.subject.kind)
        and which.namespace in (None, entry.subject.namespace)
        and which.name in (None, entry.subject.name)
        and which.uid in (None, entry.subject.uid)
        and which.outcome in (None, record.outcome)
        and (which.within is None or entry.subject.namespace in which.within)
        and (not which.namespaced or entry.subject.namespace != "")
        and (which.since is None or entry.at >= which.since)
    )
