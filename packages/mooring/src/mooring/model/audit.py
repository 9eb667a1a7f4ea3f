"""An audit row: who did what to which object, why, on what evidence, and how it ended."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec


class AuditOutcome(StrEnum):
    """How the act ended. A `pending` row that is older than its replica's process was interrupted."""

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
    """The row that is written before the act. The writer chooses `id`, so that a repeated write is recognised."""

    id: str
    at: datetime
    actor: str  # a user, or the invariant that decided
    replica: str
    action: str
    subject: Subject
    reason: str
    evidence: dict[str, Any]


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as the ledger has it. `sequence` rises with every entry and is used for paging."""

    sequence: int
    entry: AuditEntry
    outcome: AuditOutcome
    error: str
    completed_at: datetime | None
