"""The read models: what routes answer with and pages are made of. Pages know nothing else."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from mooring.clock import Clock
from mooring.control.doctor import Doctor
from mooring.control.explaining import Explainer
from mooring.control.inspection import Inspection
from mooring.control.reading import NodeReading, PoolReading, ReadSide, WorkerReading
from mooring.control.rules import InvariantReading
from mooring.control.serving.reading import DocumentUnavailable, ServiceReading, ServiceReadSide
from mooring.control.submitting.reading import SubmissionDetail, SubmissionReading, SubmissionReadSide, read_detail
from mooring.control.submitting.requests import SubmissionDesk
from mooring.control.warming.reading import WarmupReading, WarmupReadSide
from mooring.control.warming.requests import Asked, WarmupRequests
from mooring.ledger.records import AuditFilter, ClaimFilter
from mooring.model.audit import AuditRecord
from mooring.model.checkup import Check, CheckStatus, Checkup
from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.explanation import Explanation
from mooring.model.why import Why
from mooring.planning.whys.claims import explain_claim, explain_place

__all__ = [
    "Asked",
    "AuditFilter",
    "AuditItems",
    "AuditReading",
    "Check",
    "CheckStatus",
    "Checkup",
    "ClaimFilter",
    "ClaimItems",
    "ClaimReading",
    "Doctor",
    "DocumentUnavailable",
    "Explainer",
    "Explanation",
    "InvariantReading",
    "NodeReading",
    "PoolReading",
    "ReadSide",
    "Readings",
    "ServiceReadSide",
    "ServiceReading",
    "SubmissionDesk",
    "SubmissionDetail",
    "SubmissionReadSide",
    "SubmissionReading",
    "WarmupReadSide",
    "WarmupReading",
    "WarmupRequests",
    "WorkerReading",
    "read_act",
    "read_audit",
    "read_claim",
    "read_claims",
    "read_detail",
    "read_waiting",
]


@dataclass(frozen=True, slots=True)
class Readings:
    """Every read side there is, and the time; pages take what they show."""

    fleet: ReadSide
    services: ServiceReadSide
    warmups: WarmupReadSide
    submissions: SubmissionReadSide
    inspection: Inspection
    clock: Clock


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


class WorkerOfClaim(msgspec.Struct, frozen=True):
    """Where the session runs."""

    name: str
    uid: str
    address: str


class ClaimReading(msgspec.Struct, frozen=True, rename="camel"):
    """A claim of the contract."""

    id: str
    epoch: int
    state: str
    namespace: str
    pool: str
    owner: str
    worker: WorkerOfClaim | None
    payload: dict[str, Any] | None
    priority: int
    retryable: bool
    ttl_seconds: int
    position: int | None
    protected_until: datetime | None
    created_at: datetime
    claimed_at: datetime | None
    running_at: datetime | None
    heartbeat_at: datetime | None
    ended_at: datetime | None
    wait_until: datetime | None
    rebinds: int
    reason: str
    cause: EndCause | None  # why it ended, or lost its last worker
    idempotency_key: str | None
    why: Why


class ClaimItems(msgspec.Struct, frozen=True, rename="camel"):
    """Newest first; `nextBefore` continues the list."""

    items: list[ClaimReading]
    total: int
    next_before: int | None


async def read_audit(reading: ReadSide, which: AuditFilter, limit: int, before: int | None) -> AuditItems:
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
        evidence=entry.evidence,
        outcome=record.outcome.value,
        error=record.error,
        completed_at=record.completed_at,
    )


_BEFORE_RUNNING = (ClaimState.QUEUED, ClaimState.CLAIMED)  # one that was queued again may have run before


def read_claim(claim: Claim) -> ClaimReading:
    """A row as its claimer sees it. Every claim and release passes here: nothing is looked up for it."""
    return _read_claim(claim, None, explain_claim(claim))


def read_waiting(reading: ReadSide, claim: Claim, position: int | None) -> ClaimReading:
    """One that waits: with its place, and why nobody is free."""
    shortage = reading.shortage(f"{claim.namespace}/{claim.pool}")
    return _read_claim(claim, position, explain_place(claim, position, shortage))


def _read_claim(claim: Claim, position: int | None, why: Why) -> ClaimReading:
    worker = None
    if claim.pod_name is not None and claim.pod_uid is not None:
        worker = WorkerOfClaim(claim.pod_name, claim.pod_uid, claim.address)
    return ClaimReading(
        id=claim.id,
        epoch=claim.epoch,
        state=claim.state.value,
        namespace=claim.namespace,
        pool=claim.pool,
        owner=claim.owner,
        worker=worker,
        payload=claim.payload,
        priority=claim.priority,
        retryable=claim.retryable,
        ttl_seconds=claim.ttl_seconds,
        position=position,
        protected_until=claim.protected_until,
        created_at=claim.created_at,
        claimed_at=claim.claimed_at,
        running_at=claim.running_at if claim.state not in _BEFORE_RUNNING else None,
        heartbeat_at=claim.heartbeat_at,
        ended_at=claim.ended_at,
        wait_until=claim.wait_until,
        rebinds=claim.rebinds,
        reason=claim.reason or (why.message if claim.state is ClaimState.QUEUED else ""),
        cause=claim.cause,
        idempotency_key=claim.idempotency_key,
        why=why,
    )


async def read_claims(reading: ReadSide, which: ClaimFilter, limit: int, before: int | None) -> ClaimItems:
    """A page of claims, those that wait with their place in the queue."""
    page = await reading.claims(which, limit, before)
    places = await reading.queue_places(claim for claim in page.items if claim.state is ClaimState.QUEUED)
    items = [
        read_waiting(reading, claim, places.get(claim.id)) if claim.state is ClaimState.QUEUED else read_claim(claim)
        for claim in page.items
    ]
    return ClaimItems(items, page.total, page.next_ticket)
