"""Work that its owner marked as safe to repeat: run again under a new claim when its worker is lost.

It is repeated for the loss of a worker only (`drained`, `evicted`), so many times at most, and never after `commit()`.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from mooring.client.claim import HeldClaim
from mooring.client.durations import Duration, parse_seconds
from mooring.client.errors import LeaseLost, LossCause
from mooring.client.request import OnWait
from mooring.model.errors import InvalidInput

T = TypeVar("T")
C = TypeVar("C", bound=HeldClaim)

log = logging.getLogger("mooring.client")

WORKER_LOSSES = frozenset({LossCause.DRAINED, LossCause.EVICTED})


class SafeOptions(TypedDict, total=False):
    """Less common arguments of `run_safe`."""

    ttl: Duration
    wait: Duration
    key: str
    priority: int
    detached: bool
    on_wait: OnWait | None
    doubt: Duration
    connection_errors: tuple[type[Exception], ...]


@dataclass(frozen=True, slots=True)
class SafePolicy:
    """How often work is repeated, and which of its errors may mean that its worker is lost."""

    attempts: int = 3
    doubt_seconds: float = 30.0
    connection_errors: tuple[type[Exception], ...] = (OSError,)

    @classmethod
    def take_from(cls, options: dict[str, Any], attempts: int) -> "SafePolicy":
        """The policy, and the `options` without what belongs to it."""
        if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
            raise InvalidInput("attempts", attempts, "a whole number of at least 1")
        doubt = parse_seconds("doubt", options.pop("doubt", "30s"))
        return cls(attempts, doubt, tuple(options.pop("connection_errors", (OSError,))))


class SafeRun:
    """The attempts at one piece of work."""

    def __init__(self, policy: SafePolicy, key: str) -> None:
        self._policy = policy
        self._key = key

    async def repeat(self, open_claim: Callable[[str], C], attempt: Callable[[C], Awaitable[T]]) -> T:
        """Run attempts, each under a claim with a key of its own, until one is not ended by the loss of its worker."""
        number = 1
        while True:
            claim = open_claim(self._key if number == 1 or not self._key else f"{self._key}-{number}")
            try:
                return await attempt(claim)
            except LeaseLost as lost:
                if claim.committed or lost.cause not in WORKER_LOSSES or number >= self._policy.attempts:
                    raise
                log.warning("attempt %s of %s is repeated: %s", number, self._policy.attempts, lost.message)
            number += 1

    async def judge(self, claim: C, work: Callable[[C], Awaitable[T]]) -> T:
        """Run the work inside the block of its claim. An error of its connection may be the first sign of a loss."""
        try:
            return await work(claim)
        except self._policy.connection_errors as error:
            lost = None if claim.committed else await claim.wait_lost(self._policy.doubt_seconds)
            if lost is None:
                raise
            raise lost from error
