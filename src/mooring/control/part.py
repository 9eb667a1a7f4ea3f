"""What stands beside the pools: a watch of its own and a loop of its own, wired in app.py like every other."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from mooring.clock import Clock, Entropy
from mooring.control.loop import ReconcileLoop
from mooring.control.watch import OnChange, Watch
from mooring.kube.reflector import Reflector

W = TypeVar("W", bound=Watch)


class Part(Generic[W]):
    """Warmups, submissions, services, budgets: each watches its kinds, and acts while this replica leads."""

    def __init__(
        self,
        name: str,
        watch: W,
        reconcile: Callable[[str], Awaitable[datetime | None]],
        may_act: Callable[[], bool],
        clock: Clock,
        entropy: Entropy,
        coalesce_seconds: float = 0.0,
        concurrency: int = 4,
    ) -> None:
        self._watch = watch
        self._may_act = may_act
        self._loop = ReconcileLoop(name, reconcile, self._ready, clock, entropy, concurrency)
        self._coalesce_seconds = coalesce_seconds
        watch.subscribe(self._on_change)

    @property
    def reflectors(self) -> Mapping[str, Reflector[Any]]:
        return self._watch.reflectors

    def subscribe(self, listener: OnChange) -> None:
        """Be told what changed; must not wait."""
        self._watch.subscribe(listener)

    async def run(self) -> None:
        """Watch and reconcile until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch.run())
            group.create_task(self._loop.run())

    async def stop(self, timeout_seconds: float) -> None:
        """Take no new key; let passes under way finish."""
        await self._loop.stop(timeout_seconds)

    def _ready(self) -> bool:
        return self._watch.synced and self._may_act()

    def _on_change(self, _: str, key: str) -> None:
        self._loop.queue.add_after(key, self._coalesce_seconds)
