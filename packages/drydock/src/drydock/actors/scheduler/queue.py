"""Pods that wait for a node: those to be looked at, by priority and age, and those parked until something changes."""

import asyncio
import heapq
from collections.abc import Callable
from dataclasses import dataclass

from hawser.clock import Clock

_FIRST_BACKOFF_SECONDS = 1.0
_LONGEST_BACKOFF_SECONDS = 10.0


@dataclass(slots=True)
class _Waiting:
    priority: int
    arrival: int
    attempts: int = 0
    not_before: float = 0.0
    parked: bool = False
    timer: asyncio.TimerHandle | None = None


class SchedulingQueue:
    """Pods by uid. `ring` is called when a pod becomes ready to be looked at."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._arrivals = 0
        self._waiting: dict[str, _Waiting] = {}
        self._heap: list[tuple[int, int, str]] = []

    def __contains__(self, uid: str) -> bool:
        return uid in self._waiting

    def add(self, uid: str, priority: int) -> None:
        """A pod appeared, or changed so that it may be looked at at once."""
        self.drop(uid)
        self._arrivals += 1
        self._waiting[uid] = _Waiting(priority, self._arrivals)
        self._push(uid)

    def drop(self, uid: str) -> None:
        """The pod is placed or gone."""
        waiting = self._waiting.pop(uid, None)
        if waiting is not None and waiting.timer is not None:
            waiting.timer.cancel()

    def park(self, uid: str) -> None:
        """No node fits: wait until one might. Each attempt lengthens the shortest wait before the next."""
        waiting = self._waiting[uid]
        waiting.attempts += 1
        delay = min(_LONGEST_BACKOFF_SECONDS, _FIRST_BACKOFF_SECONDS * 2.0 ** min(waiting.attempts - 1, 8))
        waiting.not_before = self._clock.monotonic() + delay
        waiting.parked = True

    def wake(self, uid: str) -> None:
        """Something changed: look again, though not before the back-off is over."""
        waiting = self._waiting.get(uid)
        if waiting is None or not waiting.parked:
            return
        waiting.parked = False
        delay = waiting.not_before - self._clock.monotonic()
        if delay <= 0:
            self._push(uid)
        else:
            waiting.timer = asyncio.get_running_loop().call_later(delay, self._push, uid)

    def pop(self) -> str | None:
        """The next pod to look at."""
        while self._heap:
            _, arrival, uid = heapq.heappop(self._heap)
            waiting = self._waiting.get(uid)
            if waiting is not None and waiting.arrival == arrival and not waiting.parked:
                return uid
        return None

    def parked(self) -> list[str]:
        """The parked pods, the most important and oldest first."""
        found = [(-one.priority, one.arrival, uid) for uid, one in self._waiting.items() if one.parked]
        return [uid for _, _, uid in sorted(found)]

    def stop(self) -> None:
        """Set no more timers off."""
        for uid in list(self._waiting):
            self.drop(uid)

    def _push(self, uid: str) -> None:
        waiting = self._waiting[uid]
        waiting.timer = None
        heapq.heappush(self._heap, (-waiting.priority, waiting.arrival, uid))
        self._ring()
