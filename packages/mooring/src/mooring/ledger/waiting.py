"""The part of the ledger's interface for claims that wait: signs of life of their clients, and their end."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol

from mooring.ledger.records import WaitingSign
from mooring.model.claim import Claim, Outcome


class Waiting(Protocol):
    """Claims in queues."""

    async def attend(self, claim_ids: Collection[str], *, now: datetime) -> None:
        """Record that the clients of these claims are alive, as far as the claims are queued.

        `seen_at` always changes and never goes back, also if the clock does.
        """
        ...

    async def waiting(self) -> tuple[WaitingSign, ...]:
        """The queued claims that need their client: not detached, and without a worker so far."""
        ...

    async def abandon(self, sign: WaitingSign, *, now: datetime, reason: str) -> Outcome:
        """`expired`, unless the client was heard of since `sign` was read, or the claim does not wait any more."""
        ...

    async def expire_waiting(self, *, now: datetime, limit: int = 100) -> tuple[Claim, ...]:
        """End the queued claims whose wait is over."""
        ...

    async def served_by_owner(self, namespace: str, pool: str, *, since: datetime) -> Mapping[str, int]:
        """By owner: its live claims in a pool, and those that had a worker and ended since. Others are left out."""
        ...
