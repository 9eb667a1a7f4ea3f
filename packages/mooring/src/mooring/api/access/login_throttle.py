"""Slows down who guesses tokens: after some wrong ones, an address waits, each time longer."""

from collections import OrderedDict
from dataclasses import dataclass

from hawser.clock import Clock
from mooring.model.errors import Refused

FREE_FAILURES = 3
MOST_WAIT_SECONDS = 60.0
FORGET_SECONDS = 900.0
MOST_ADDRESSES = 10_000


class TooManyLogins(Refused):
    """An address sent too many wrong tokens."""

    code = "too_many_logins"

    def __init__(self, address: str, seconds: int) -> None:
        super().__init__(f"too many wrong tokens came from {address}", fix=f"try again in {seconds} s")
        self.retry_after_seconds = seconds


@dataclass(frozen=True, slots=True)
class _Failures:
    count: int
    at: float

    @property
    def wait_seconds(self) -> float:
        beyond = self.count - FREE_FAILURES
        return 0.0 if beyond < 0 else min(2.0 ** min(beyond, 10), MOST_WAIT_SECONDS)


class LoginThrottle:
    """Counts the failures of each address."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()  # the oldest first

    def check(self, address: str) -> None:
        """Raise while the address has to wait."""
        found, now = self._failures.get(address), self._clock.monotonic()
        if found is None:
            return
        left = found.at + found.wait_seconds - now
        if left > 0:
            seconds = max(1, round(left + 0.5))
            raise TooManyLogins(address, seconds)
        if now - found.at > FORGET_SECONDS:
            del self._failures[address]

    def fail(self, address: str) -> None:
        """A wrong token came."""
        found = self._failures.pop(address, None)
        self._failures[address] = _Failures((found.count if found else 0) + 1, self._clock.monotonic())
        if len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)

    def succeed(self, address: str) -> None:
        """A valid token came."""
        self._failures.pop(address, None)
