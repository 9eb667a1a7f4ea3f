"""Revocations in memory."""

from datetime import datetime

from msgspec.structs import replace

from mooring.ledger.records import Revocation
from mooring.ledger.twin.session import Session
from mooring.ledger.twin.store import MemoryStore, as_json


class MemoryRevocations:
    """Implements `Revocations`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def intend(self, new: Revocation) -> None:
        rows = (await self._session.turn()).revocations
        known, mint = rows.get(new.claim_id), as_json(new.mint)
        rows[new.claim_id] = replace(known or new, mint=mint)

    async def take(self, *, now: datetime, until: datetime, limit: int = 20) -> tuple[Revocation, ...]:
        store = await self._session.turn()
        due = [one for one in store.revocations.values() if one.next_at <= now and _has_ended(store, one)]
        due = sorted(due, key=lambda one: (one.next_at, one.claim_id))[:limit]
        for one in due:
            store.revocations[one.claim_id] = replace(one, tries=one.tries + 1, next_at=until)
        return tuple(store.revocations[claim_id] for claim_id in sorted(one.claim_id for one in due))

    async def postpone(self, claim_id: str, *, next_at: datetime) -> None:
        rows = (await self._session.turn()).revocations
        if claim_id in rows:
            rows[claim_id] = replace(rows[claim_id], next_at=next_at)

    async def settle(self, claim_id: str) -> None:
        (await self._session.turn()).revocations.pop(claim_id, None)


def _has_ended(store: MemoryStore, one: Revocation) -> bool:
    claim = store.claims.get(one.claim_id)
    return claim is None or claim.ended_at is not None
