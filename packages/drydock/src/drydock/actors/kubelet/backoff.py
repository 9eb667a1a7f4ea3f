"""How long to wait before starting or pulling again: at once the first time, then 10 s doubling to 5 min.

A quiet spell of ten minutes is forgiven. Times are of the monotonic clock.
"""

from dataclasses import dataclass

INITIAL_SECONDS = 10.0
MAXIMUM_SECONDS = 300.0
FORGIVEN_AFTER_SECONDS = 600.0


@dataclass(slots=True)
class Backoff:
    """The delay that a further failure would cause. `touched_at` is the last attempt."""

    seconds: float = 0.0
    touched_at: float = 0.0

    def next_attempt_at(self, failed_at: float) -> float:
        """When to try again after a failure; the attempt itself is reported with `attempted`."""
        if not self.seconds or self._forgiven(failed_at):
            return failed_at
        return failed_at + self.seconds

    def attempted(self, failed_at: float, now: float) -> None:
        """An attempt after a failure begins."""
        if not self.seconds or self._forgiven(failed_at):
            self.seconds = INITIAL_SECONDS
        else:
            self.seconds = min(self.seconds * 2, MAXIMUM_SECONDS)
        self.touched_at = now

    def _forgiven(self, failed_at: float) -> bool:
        return failed_at - self.touched_at > FORGIVEN_AFTER_SECONDS


def go_duration(seconds: float) -> str:
    """Seconds as Go prints them: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
