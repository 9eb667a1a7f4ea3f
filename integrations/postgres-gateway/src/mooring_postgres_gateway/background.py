"""Work that nobody waits for, kept until it has ended."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger("mooring.postgres_gateway")


class Background:
    """Tasks of the gateway. `settle` waits for all of them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run it; an error is logged."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def settle(self, seconds: float) -> None:
        """Wait for what runs, so long at most."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("work in the background failed", exc_info=error)
