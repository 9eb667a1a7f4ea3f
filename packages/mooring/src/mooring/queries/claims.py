"""Claims as people and programs see them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.why import Why
from mooring.planning.explanations.claims import explain_claim, explain_place

if TYPE_CHECKING:
    from mooring.ledger.records import ClaimFilter
    from mooring.queries.fleet import FleetQueries


class WorkerOfClaim(msgspec.Struct, frozen=True):
    """Where the session runs."""

    name: str
    uid: str
    address: str


class ClaimReading(msgspec.Struct, frozen=True, rename="camel"):
    """A claim of the contract. `epoch` and `payload` are for its holder alone, and null for others."""

    id: str
    epoch: int | None
    state: ClaimState
    namespace: str
    pool: str
    owner: str
    worker: WorkerOfClaim | None
    payload: dict[str, Any] | None
    priority: int
    retryable: bool
    ttl_seconds: int
    position: int | None
    expected_wait_seconds: float | None  # while it waits; null if that is not known
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
    detached: bool  # it waits without its client
    why: Why


class ClaimItems(msgspec.Struct, frozen=True, rename="camel"):
    """Newest first; `nextBefore` continues the list."""

    items: list[ClaimReading]
    total: int
    next_before: int | None

    @classmethod
    def of(cls, item: ClaimReading | None) -> ClaimItems:
        """A list of one, or of none."""
        items = [item] if item is not None else []
        return cls(items, len(items), None)


_BEFORE_RUNNING = (ClaimState.QUEUED, ClaimState.CLAIMED)  # one that was queued again may have run before


def read_claim(claim: Claim, *, held: bool) -> ClaimReading:
    """A row as its holder or others see it. Every claim and release passes here: nothing is looked up for it."""
    return _read_claim(claim, None, explain_claim(claim), held)


def read_waiting(reading: FleetQueries, claim: Claim, position: int | None, *, held: bool) -> ClaimReading:
    """A queued claim, with its place and the reason why no worker is free."""
    key = f"{claim.namespace}/{claim.pool}"
    expected = reading.expected_wait(key, position) if position is not None else None
    why = explain_place(claim, position, reading.shortage(key), expected)
    return _read_claim(claim, position, why, held, expected)


def _read_claim(
    claim: Claim, position: int | None, why: Why, held: bool, expected: float | None = None
) -> ClaimReading:
    worker = None
    if claim.pod_name is not None and claim.pod_uid is not None:
        worker = WorkerOfClaim(claim.pod_name, claim.pod_uid, claim.address)
    return ClaimReading(
        id=claim.id,
        epoch=claim.epoch if held else None,
        state=claim.state,
        namespace=claim.namespace,
        pool=claim.pool,
        owner=claim.owner,
        worker=worker,
        payload=claim.session_payload if held else None,
        priority=claim.priority,
        retryable=claim.retryable,
        ttl_seconds=claim.ttl_seconds,
        position=position,
        expected_wait_seconds=None if expected is None else round(expected, 1),
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
        detached=claim.detached,
        why=why,
    )


async def read_claims(
    reading: FleetQueries, which: ClaimFilter, limit: int, before: int | None, is_held: Callable[[Claim], bool]
) -> ClaimItems:
    """A page of claims, those that wait with their place in the queue."""
    page = await reading.claims(which, limit, before)
    places = await reading.queue_places(claim for claim in page.items if claim.state is ClaimState.QUEUED)
    items = [
        read_waiting(reading, claim, places.get(claim.id), held=is_held(claim))
        if claim.state is ClaimState.QUEUED
        else read_claim(claim, held=is_held(claim))
        for claim in page.items
    ]
    return ClaimItems(items, page.total, page.next_ticket)
