"""The loop: take a key, check the gates, reconcile, decide when to look again."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol

import structlog

from hawser.clock import Clock, Entropy
from hawser.queue import WorkQueue
from mooring.engine.metrics import RECONCILE_ERRORS, RECONCILE_SECONDS, begin_errors
from mooring.model.errors import MooringError

log = structlog.get_logger()

RETRY_FLOOR_SECONDS = 0.8
RETRY_CEILING_SECONDS = 30.0
RESYNC_SECONDS = 60.0
CLOSED_GATE_SECONDS = 1.0
_MOST_DOUBLINGS = 10
NEVER = datetime.max.replace(tzinfo=UTC)
"""The next look at a key whose object is gone: only a change brings it back."""


class Gate(Protocol):
    """Whether acting is allowed now."""

    def __call__(self) -> bool: ...


class ReconcileLoop:
    """Runs one reconciler over its queue with a few workers. A failing key backs off alone."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[str], Awaitable[datetime | None]],
        gate: Gate,
        clock: Clock,
        entropy: Entropy,
        concurrency: int = 4,
    ) -> None:
        self.queue = WorkQueue()
        self._name = name
        begin_errors(name)
        self._reconcile = reconcile
        self._gate = gate
        self._clock = clock
        self._entropy = entropy
        self._concurrency = concurrency
        self._failures: dict[str, int] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._busy: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def run(self) -> None:
        """Until stopped or cancelled."""
        self._workers = {asyncio.create_task(self._work(), name=f"{self._name}-{n}") for n in range(self._concurrency)}
        try:
            await asyncio.gather(*self._workers)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        finally:
            for worker in self._workers:
                worker.cancel()
            self.queue.close()

    async def drain(self, timeout_seconds: float) -> None:
        """Take no new key; wait until passes under way are finished, but not for ever."""
        self._stopping = True
        if self._busy:
            await asyncio.wait(set(self._busy), timeout=timeout_seconds)

    async def stop(self, timeout_seconds: float) -> None:
        """Drain, and end."""
        await self.drain(timeout_seconds)
        for worker in self._workers:
            worker.cancel()

    async def _work(self) -> None:
        me = asyncio.current_task()
        assert me is not None
        while not self._stopping:
            key = await self.queue.get()
            self._busy.add(me)
            try:
                if not self._stopping and self._gate():
                    await self._handle(key)
                else:
                    self.queue.add_after(key, CLOSED_GATE_SECONDS)
            finally:
                self._busy.discard(me)
                self.queue.done(key)

    async def _handle(self, key: str) -> None:
        started = self._clock.monotonic()
        try:
            wake_at = await self._reconcile(key)
        except MooringError as error:
            self._retry(key, error.message, expected=True)
        except Exception as error:
            log.exception("reconcile failed", reconciler=self._name, key=key)
            self._retry(key, repr(error), expected=False)
        else:
            self._failures.pop(key, None)
            if wake_at != NEVER:
                delay = RESYNC_SECONDS if wake_at is None else (wake_at - self._clock.now()).total_seconds()
                self.queue.add_after(key, min(max(delay, 0.05), RESYNC_SECONDS))
        RECONCILE_SECONDS.labels(self._name).observe(self._clock.monotonic() - started)

    def _retry(self, key: str, message: str, *, expected: bool) -> None:
        failures = self._failures.get(key, 0) + 1
        self._failures[key] = failures
        doublings = min(failures, _MOST_DOUBLINGS)  # a key that fails for hours must not overflow the wait
        ceiling = min(RETRY_CEILING_SECONDS, RETRY_FLOOR_SECONDS * 2**doublings)
        delay = self._entropy.between(RETRY_FLOOR_SECONDS, max(ceiling, RETRY_FLOOR_SECONDS))
        RECONCILE_ERRORS.labels(self._name, "expected" if expected else "bug").inc()
        log.warning("reconcile retried", reconciler=self._name, key=key, error=message, delay_seconds=round(delay, 1))
        self.queue.add_after(key, delay)
