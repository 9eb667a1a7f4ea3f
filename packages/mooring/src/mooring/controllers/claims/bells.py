"""Waking those who wait for a claim or for a session."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Bells:
    """Wakes those who wait for a claim."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def ring(self, claim_id: str) -> None:
        """Something happened to the claim."""
        for event in self._waiting.get(claim_id, ()):
            event.set()

    def ring_all(self) -> None:
        """Something may have been missed."""
        for claim_id in self._waiting:
            self.ring(claim_id)

    @asynccontextmanager
    async def listening(self, claim_id: str) -> AsyncIterator[asyncio.Event]:
        """An event that is set whenever the claim's bell rings."""
        event = asyncio.Event()
        self._waiting.setdefault(claim_id, set()).add(event)
        try:
            yield event
        finally:
            self._waiting[claim_id].discard(event)
            if not self._waiting[claim_id]:
                del self._waiting[claim_id]
