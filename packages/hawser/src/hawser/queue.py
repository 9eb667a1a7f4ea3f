"""The queue: keys, never events. A key waits at most once and is handled by at most one worker at a time."""

import asyncio
from collections import deque

_SHORTEST_SECONDS = 0.001


class WorkQueue:
    """Deduplicating queue with delays. A key added while it is handled comes again afterwards."""

    def __init__(self) -> None:
        self._ready: deque[str] = deque()
        self._waiting: set[str] = set()
        self._handled: set[str] = set()
        self._again: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._arrival = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: str) -> None:
        """Handle the key as soon as possible."""
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        if key in self._handled:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.append(key)
            self._arrival.set()

    def add_after(self, key: str, seconds: float) -> None:
        """Handle the key later; of several wishes the earliest counts."""
        if seconds < _SHORTEST_SECONDS:
            self.add(key)  # uvloop gives a handle without a time for a call that is due now
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + max(seconds, 0.0)
        if key in self._waiting or key in self._again:
            return
        if (timer := self._timers.get(key)) is not None:
            if timer.when() <= due:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(due, self._expire, key)

    def _expire(self, key: str) -> None:
        self._timers.pop(key, None)
        self.add(key)

    async def get(self) -> str:
        """The next key; give it back with `done`."""
        while not self._ready:
            self._arrival.clear()
            await self._arrival.wait()
        key = self._ready.popleft()
        self._waiting.discard(key)
        self._handled.add(key)
        return key

    def done(self, key: str) -> None:
        """The key was handled."""
        self._handled.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def close(self) -> None:
        """Forget all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
