"""Turns: as many at once as keep the other side busy, and no more.

Work beyond that waits here, first come first served, instead of there, where everybody would be as late as the last.
The right number depends on the other side, so it is learned from the time that work takes. While that is near the time
of undisturbed work, one more may work at once after each round of turns. When it is a multiple, the other side has a
queue of its own, and one fewer may.
"""

import asyncio
from collections import deque

from hawser.clock import Clock

LEAST, MOST = 16, 128
_QUEUED_THERE = 4.0  # work that takes this many times the shortest waits for other work
_FORGETTING = 1.001  # how much longer the shortest time counts after each turn


class Turns:
    """Turns of one kind of work."""

    def __init__(self, clock: Clock, least: int = LEAST, most: int = MOST) -> None:
        self._clock = clock
        self._least = least
        self._most = most
        self._window = float(least)
        self._working = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._shortest_seconds = float("inf")

    @property
    def at_once(self) -> int:
        """How many may work at the same time now."""
        return int(self._window)

    async def take(self) -> float:
        """Wait for a turn. The answer goes to `give_back`."""
        if self._working >= self.at_once or self._waiting:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # it was given a turn and does not use it
                    self._working -= 1
                    self._admit()
                raise
        else:
            self._working += 1
        return self._clock.monotonic()

    def give_back(self, taken_at: float, *, complete: bool) -> None:
        """The work is over. Only work that was completed shows how long it takes."""
        self._working -= 1
        if complete:
            self._learn(self._clock.monotonic() - taken_at)
        self._admit()

    def _learn(self, seconds: float) -> None:
        self._shortest_seconds = min(seconds, self._shortest_seconds * _FORGETTING)
        if seconds > _QUEUED_THERE * self._shortest_seconds:
            self._window = max(self._least, self._window - 1 / self._window)
        elif self._waiting:  # else the number limits nothing, and nothing is learned about a higher one
            self._window = min(self._most, self._window + 1 / self._window)

    def _admit(self) -> None:
        while self._waiting and self._working < self.at_once:
            turn = self._waiting.popleft()
            if not turn.done():
                self._working += 1
                turn.set_result(None)
