"""A small reconcile loop: a queue of keys, each worked on by one task at a time, retried with a growing delay.

A key added while it is worked on is worked on once more afterwards. Keys carry no events: the reconcile function
looks at the caches.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import structlog

from hawser.clock import Clock
from hawser.errors import HawserError

K = TypeVar("K", bound=Hashable)

_FIRST_RETRY_SECONDS = 0.1
_LONGEST_RETRY_SECONDS = 60.0
_log = structlog.get_logger("drydock")


class ReconcileLoop(Generic[K]):
    """Reconciles keys. `reconcile` returns after how many seconds it wants to see the key again, if at all."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[float | None]],
        clock: Clock,
        *,
        workers: int = 8,
    ) -> None:
        self.name = name
        self._reconcile = reconcile
        self._clock = clock
        self._workers = workers
        self._queue: asyncio.Queue[K] = asyncio.Queue()
        self._waiting: set[K] = set()  # in the queue
        self._working: set[K] = set()  # in a worker's hands
        self._again: set[K] = set()  # added while in a worker's hands
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}

    def add(self, key: K) -> None:
        """Work on the key as soon as possible."""
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._queue.put_nowait(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Work on the key later; of several wishes the earliest counts."""
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= when:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(when, self._ring, key)

    def forget_wish(self, key: K) -> None:
        """Drop a wish to work on the key later."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    @property
    def idle(self) -> bool:
        """Nothing queued and nothing in hand; timers may be set."""
        return not self._waiting and not self._working

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._workers):
                    group.create_task(self._work(), name=f"{self.name}-{number}")
        finally:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            self._waiting.discard(key)
            self._working.add(key)
            try:
                await self._attempt(key)
            finally:
                self._working.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)

    async def _attempt(self, key: K) -> None:
        try:
            seconds = await self._reconcile(key)
        except HawserError as error:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            delay = min(_LONGEST_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2.0 ** min(failures, 16))
            _log.info("reconcile failed", actor=self.name, key=str(key), error=str(error), retry_seconds=delay)
            self.add_after(key, delay)
        else:
            self._failures.pop(key, None)
            if seconds is not None:
                self.add_after(key, seconds)

    def _ring(self, key: K) -> None:
        del self._timers[key]
        self.add(key)
