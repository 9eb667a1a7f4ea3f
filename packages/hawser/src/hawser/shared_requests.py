"""Equal questions that are asked at the same time share one request."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedRequests(Generic[K, V]):
    """Requests under way, by what they ask."""

    def __init__(self) -> None:
        self._pending: dict[K, asyncio.Task[V]] = {}

    async def ask(self, key: K, request: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The answer of the request under way for this key, or of this one."""
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = asyncio.create_task(request(), name="hawser-shared-request")
            pending.add_done_callback(lambda task: self._settle(key, task))
        return await asyncio.shield(pending)  # a caller that is cancelled does not take the answer from the others

    def _settle(self, key: K, task: asyncio.Task[V]) -> None:
        self._pending.pop(key, None)
        if not task.cancelled():
            task.exception()  # marked as seen: all callers may have been cancelled
