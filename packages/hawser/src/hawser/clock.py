"""Time, waiting, ids and randomness: the only module that may touch the real ones.

Everything else is handed a `Clock` and an `Entropy`, so that a whole fleet can run in virtual time
and the same seed gives the same trace.
"""

import asyncio
import random
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What time it is, how long things took, and how to wait."""

    def now(self) -> datetime:
        """Wall time in UTC: for people, for objects and for ages, never to measure a duration."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever rise: for durations and deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class LoopClock:
    """The running event loop's clock, shifted to a calendar date: virtual under a virtual loop."""

    def __init__(self, start: datetime) -> None:
        self._start = start

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Entropy:
    """Ids and randomness: from the machine, or from a seed."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.SystemRandom() if seed is None else random.Random(seed)

    def fraction(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()

    def between(self, low: float, high: float) -> float:
        """A number in [low, high]."""
        return self._random.uniform(low, high)

    def below(self, bound: int) -> int:
        """A whole number in [0, bound)."""
        return self._random.randrange(bound)

    def uuid(self) -> str:
        """A random UUID (version 4)."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def token(self, byte_count: int = 32) -> str:
        """A hex token; a secret only when not seeded."""
        return self._random.getrandbits(byte_count * 8).to_bytes(byte_count, "big").hex()
