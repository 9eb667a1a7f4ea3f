"""An audit row: who did what to which object, why, on what evidence, and how it ended."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec


class AuditOutcome(StrEnum):
    """How the act ended. `pending` rows older than the process that wrote them were interrupted."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"  # its preconditions no longer held


class Subject(msgspec.Struct, frozen=True):
    """The object acted on."""

    kind: str
    namespace: str
    name: str
    uid: str = ""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What is written before the act. `id` is chosen by the writer, so that a repeated write is recognised."""

    id: str
    at: datetime
    actor: str  # a person, or the rule that decided
    replica: str
    action: str
    subject: Subject
    reason: str
    evidence: dict[str, Any]


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as it stands in the ledger. `sequence` rises with every entry: pages go by it."""

    sequence: int
    entry: AuditEntry
    outcome: AuditOutcome
    error: str
    completed_at: datetime | None
