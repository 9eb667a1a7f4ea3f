"""Waking those who wait for a claim or for a session."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Wakeups:
    """Wakes those who wait, by the id of what they wait for."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def wake(self, id_: str) -> None:
        """Something happened to it."""
        for event in self._waiting.get(id_, ()):
            event.set()

    def wake_all(self) -> None:
        """Something may have been missed."""
        for id_ in self._waiting:
            self.wake(id_)

    @asynccontextmanager
    async def listening(self, id_: str) -> AsyncIterator[asyncio.Event]:
        """An event that is set at each wake-up."""
        event = asyncio.Event()
        self._waiting.setdefault(id_, set()).add(event)
        try:
            yield event
        finally:
            self._waiting[id_].discard(event)
            if not self._waiting[id_]:
                del self._waiting[id_]
