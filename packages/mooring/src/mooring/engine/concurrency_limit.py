"""An adaptive limit: as many requests at once as keep a server busy, and no more.

Further requests wait here, first come first served. In the queue of the server, each would be as late as the last. The
right limit depends on the server, so it is learned from the time that requests take. While that is near the time of a
single request, the limit rises by one after as many requests as it allows. When it is a multiple, the server has a
queue, and the limit falls.
"""

import asyncio
from collections import deque

from hawser.clock import Clock

LEAST, MOST = 16, 128
_QUEUED = 4.0  # a request that takes this many times the shortest waits for others in the server
_FORGETTING = 1.001  # how much longer the shortest time counts after each request


class ConcurrencyLimit:
    """The limit of one kind of request."""

    def __init__(self, clock: Clock, least: int = LEAST, most: int = MOST) -> None:
        self._clock = clock
        self._least = least
        self._most = most
        self._window = float(least)
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._shortest_seconds = float("inf")

    @property
    def current(self) -> int:
        """The number of requests that may be active now."""
        return int(self._window)

    async def acquire(self) -> float:
        """Wait for a place. The answer, when it began, goes to `release`."""
        if self._active >= self.current or self._waiting:
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():  # it was given a place and does not use it
                    self._active -= 1
                    self._admit()
                raise
        else:
            self._active += 1
        return self._clock.monotonic()

    def release(self, began_at: float, *, complete: bool) -> None:
        """The request is over. Only a completed one shows how long requests take."""
        self._active -= 1
        if complete:
            self._learn(self._clock.monotonic() - began_at)
        self._admit()

    def _learn(self, seconds: float) -> None:
        self._shortest_seconds = min(seconds, self._shortest_seconds * _FORGETTING)
        if seconds > _QUEUED * self._shortest_seconds:
            self._window = max(self._least, self._window - 1 / self._window)
        elif self._waiting:  # else the limit has no effect, and nothing is learned about a higher one
            self._window = min(self._most, self._window + 1 / self._window)

    def _admit(self) -> None:
        while self._waiting and self._active < self.current:
            place = self._waiting.popleft()
            if not place.done():
                self._active += 1
                place.set_result(None)
