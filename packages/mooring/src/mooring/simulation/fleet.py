"""A pool in virtual time: idle workers, workers that start, and claims that wait for them."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush


class Fleet:
    """Single-use workers under the rule of the pools' plan: idle and starting ones make up the floor and the queue."""

    def __init__(self, start: Callable[[], float], floor: int, most: int) -> None:
        self._start = start
        self._most = most
        self.floor = floor
        self.idle = floor
        self.idle_seconds = 0.0
        self.now = 0.0
        self.waits: list[tuple[float, float]] = []  # when a claim arrived, and how long it waited
        self._started: list[float] = []
        self._waiting: deque[float] = deque()
        self._coming: list[tuple[float, float]] = []

    def advance(self, until: float) -> None:
        """Let time pass."""
        while self._coming and self._coming[0][0] <= until:
            ready, took = heappop(self._coming)
            self._pass(ready)
            self._started.append(took)
            if self._waiting:
                arrived = self._waiting.popleft()
                self.waits.append((arrived, ready - arrived))
            else:
                self.idle += 1
            self._retire()
        self._pass(until)

    def arrive(self, at: float) -> None:
        """A claim comes."""
        self.advance(at)
        if self.idle:
            self.idle -= 1
            self.waits.append((at, 0.0))
        else:
            self._waiting.append(at)
        self._order()

    def settle(self) -> None:
        """Let time pass until no claim waits: one that waits at the end is late, too."""
        while self._waiting:
            self._order()
            self.advance(self._coming[0][0])

    def take_starts(self) -> list[float]:
        """Seconds that the starts since the last call took."""
        started, self._started = self._started, []
        return started

    def aim(self, floor: int) -> None:
        """Change the floor."""
        self.floor = floor
        self._order()
        self._retire()

    def _pass(self, until: float) -> None:
        self.idle_seconds += self.idle * (until - self.now)
        self.now = until

    def _order(self) -> None:
        missing = self.floor + len(self._waiting) - self.idle - len(self._coming)
        for _ in range(min(missing, self._most - self.idle - len(self._coming))):
            took = self._start()
            heappush(self._coming, (self.now + took, took))

    def _retire(self) -> None:
        self.idle = min(self.idle, max(0, self.floor + len(self._waiting)))
