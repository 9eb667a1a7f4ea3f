"""A bounded number of things under way, shared so that nobody can take all places.

Each may have as many places as are free beside its own: one alone gets half of them, two a third each, and somebody new
always finds one. So a pool whose workers answer slowly, or on purpose not at all, delays only itself.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable

Begin = Callable[[], asyncio.Task[None] | None]
"""Begins what takes the place; None if it is not needed any more."""


class FairPlaces:
    """Begins what is asked for, now or when there is a place."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[Begin]] = {}

    def ask(self, whose: str, begin: Begin) -> None:
        """Those of the same name begin in the order in which they were asked for."""
        if whose in self._waiting or not self._is_free_for(whose):
            self._waiting.setdefault(whose, deque()).append(begin)
        else:
            self._begin(whose, begin)

    def cancel(self) -> None:
        """End all that is under way, and begin nothing more."""
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()

    def _is_free_for(self, whose: str) -> bool:
        return self._taken[whose] < self._most - len(self._tasks)

    def _begin(self, whose: str, begin: Begin) -> None:
        task = begin()
        if task is not None:
            self._tasks.add(task)
            self._taken[whose] += 1
            task.add_done_callback(lambda ended: self._give_back(whose, ended))

    def _give_back(self, whose: str, ended: asyncio.Task[None]) -> None:
        self._tasks.discard(ended)
        self._taken[whose] -= 1
        if not self._taken[whose]:
            del self._taken[whose]
        for name, asked in list(self._waiting.items()):
            while asked and self._is_free_for(name):
                self._begin(name, asked.popleft())
            if not asked:
                self._waiting.pop(name, None)
