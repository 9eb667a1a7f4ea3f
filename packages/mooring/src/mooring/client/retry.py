"""Retries that end: pauses with jitter until failures have lasted too long, and time limits across requests."""

from hawser.backoff import Backoff
from mooring.client.errors import RemoteError, Untrusted
from mooring.client.runtime import Runtime

RETRY_SECONDS = 15.0
SHORTEST_TIMEOUT_SECONDS = 0.1


class Retry:
    """Attempts at one thing. Failures may last for `seconds` in a row."""

    def __init__(self, runtime: Runtime, seconds: float = RETRY_SECONDS) -> None:
        self._runtime = runtime
        self._backoff = Backoff(runtime.entropy, first_seconds=0.2, last_seconds=2.0)
        self._seconds = seconds
        self._failing_since: float | None = None
        self.deadline: float | None = None  # monotonic; if set, failures may last until then, and no longer

    async def pause(self, error: RemoteError) -> None:
        """Wait before the next attempt, at most until the last one; raises the error when there is none left."""
        if isinstance(error, Untrusted):
            raise error
        now = self._runtime.clock.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        left = (self._failing_since + self._seconds if self.deadline is None else self.deadline) - now
        if left <= 0:
            raise error
        await self._runtime.sleep(min(left, self._backoff.next_seconds()))

    def reset(self) -> None:
        """An answer came."""
        self._backoff.reset()
        self._failing_since = None


class Deadline:
    """A time limit that several requests share."""

    def __init__(self, runtime: Runtime, seconds: float) -> None:
        self._clock = runtime.clock
        self.at = self._clock.monotonic() + seconds

    @property
    def left_seconds(self) -> float:
        """Timeout of the next request. Never 0: one attempt is always made."""
        return max(SHORTEST_TIMEOUT_SECONDS, self.at - self._clock.monotonic())
