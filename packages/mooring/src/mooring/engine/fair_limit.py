"""A limit of tasks that groups share, so that one group cannot take all of them.

Each group may have as many tasks as are left free: a single group gets half of the limit, two get a third each, and a
new group always finds room. So a pool whose workers answer slowly, or on purpose not at all, delays only itself.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable

Begin = Callable[[], asyncio.Task[None] | None]
"""Starts the task; None if it is no longer needed."""


class FairLimit:
    """Starts tasks, at once or when there is room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: set[asyncio.Task[None]] = set()
        self._active: Counter[str] = Counter()
        self._waiting: dict[str, deque[Begin]] = {}

    def submit(self, group: str, begin: Begin) -> None:
        """Tasks of one group start in the order in which they were submitted."""
        if group in self._waiting or not self._is_free_for(group):
            self._waiting.setdefault(group, deque()).append(begin)
        else:
            self._begin(group, begin)

    def cancel(self) -> None:
        """Cancel all tasks, and start no more."""
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()

    def _is_free_for(self, group: str) -> bool:
        return self._active[group] < self._most - len(self._tasks)

    def _begin(self, group: str, begin: Begin) -> None:
        task = begin()
        if task is not None:
            self._tasks.add(task)
            self._active[group] += 1
            task.add_done_callback(lambda ended: self._end(group, ended))

    def _end(self, group: str, ended: asyncio.Task[None]) -> None:
        self._tasks.discard(ended)
        self._active[group] -= 1
        if not self._active[group]:
            del self._active[group]
        for name, waiting in list(self._waiting.items()):
            while waiting and self._is_free_for(name):
                self._begin(name, waiting.popleft())
            if not waiting:
                self._waiting.pop(name, None)
