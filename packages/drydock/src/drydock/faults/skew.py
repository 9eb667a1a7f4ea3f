"""A machine whose clock is set while a process runs on it: the wall clock jumps, what is monotonic does not."""

from datetime import datetime, timedelta

from hawser.clock import Clock


class SkewedClock:
    """Another clock, as read on a machine that is ahead of it, or behind."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self._ahead = timedelta()

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward by so much; back, when negative."""
        self._ahead += timedelta(seconds=seconds)

    def now(self) -> datetime:
        return self._inner.now() + self._ahead

    def monotonic(self) -> float:
        return self._inner.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
