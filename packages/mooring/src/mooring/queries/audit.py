"""The audit trail as people and programs see it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from mooring.model.audit import AuditRecord

if TYPE_CHECKING:
    from mooring.ledger.records import AuditFilter
    from mooring.queries.fleet import FleetQueries


class AuditReading(msgspec.Struct, frozen=True, rename="camel"):
    """One act: who, what, why, on what evidence, and how it ended."""

    sequence: int
    id: str
    at: datetime
    actor: str
    replica: str
    action: str
    kind: str
    namespace: str
    name: str
    uid: str
    reason: str
    evidence: dict[str, Any]
    outcome: str
    error: str
    completed_at: datetime | None


class AuditItems(msgspec.Struct, frozen=True, rename="camel"):
    """Newest first; `nextBefore` continues the list."""

    items: list[AuditReading]
    total: int
    next_before: int | None


async def read_audit(reading: FleetQueries, which: AuditFilter, limit: int, before: int | None) -> AuditItems:
    """A page of the audit trail."""
    page = await reading.audit(which, limit, before)
    return AuditItems([read_act(record) for record in page.items], page.total, page.next_sequence)


def read_act(record: AuditRecord) -> AuditReading:
    """A row as people and programs see it."""
    entry, subject = record.entry, record.entry.subject
    return AuditReading(
        sequence=record.sequence,
        id=entry.id,
        at=entry.at,
        actor=entry.actor,
        replica=entry.replica,
        action=entry.action,
        kind=subject.kind,
        namespace=subject.namespace,
        name=subject.name,
        uid=subject.uid,
        reason=entry.reason,
        evidence=_without_epoch(record),
        outcome=record.outcome.value,
        error=record.error,
        completed_at=record.completed_at,
    )


def _without_epoch(record: AuditRecord) -> dict[str, Any]:
    """The epoch of a claim is for its holder alone, who reads it with the claim's result."""
    evidence = record.entry.evidence
    if record.entry.subject.kind != "Claim":
        return evidence
    return {key: value for key, value in evidence.items() if key != "epoch"}
