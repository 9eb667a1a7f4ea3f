"""How long a caller keeps trying: as long as the last progress is not too old."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from hawser.backoff import Backoff
from hawser.clock import Clock, Entropy
from mooring_blast.store.errors import PASSING, StoreError

T = TypeVar("T")

PATIENCE_SECONDS = 180.0  # three times a Warmup's default propagationSeconds: new permissions are known by then
_LAST_WAIT_SECONDS = 10.0


class Patience:
    """Waits between attempts. It ends when nothing has progressed for `seconds`."""

    def __init__(self, clock: Clock, entropy: Entropy, seconds: float = PATIENCE_SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._backoff = Backoff(entropy, last_seconds=_LAST_WAIT_SECONDS)
        self._since = clock.monotonic()

    def progressed(self) -> None:
        """Something arrived: the next failure is a new one."""
        self._since = self._clock.monotonic()
        self._backoff.reset()

    async def wait(self, error: StoreError) -> None:
        """Wait before the next attempt; raises `error` if it cannot pass, or has lasted too long."""
        if not isinstance(error, PASSING):
            raise error
        lasted = self._clock.monotonic() - self._since
        if lasted >= self._seconds:
            message = f"{error.message}; nothing has arrived for {lasted:.0f} s"
            raise type(error)(message, fix=error.fix) from error
        await self._clock.sleep(self._backoff.next_seconds())

    async def keep(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat a request that is the same however often it is sent."""
        while True:
            try:
                answer = await attempt()
            except StoreError as error:
                await self.wait(error)
            else:
                self.progressed()
                return answer
