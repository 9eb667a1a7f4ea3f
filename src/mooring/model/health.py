"""How a worker answers its health checks: single answers, and what they add up to."""

from datetime import datetime

import msgspec

KEPT_CHECKS = 10


class Check(msgspec.Struct, frozen=True, omit_defaults=True):
    """One health check. `executing` is the worker's own word on whether it works on a session."""

    at: datetime
    ok: bool
    detail: str  # "200 OK", "connection refused", "no answer within 3 s"
    refused: bool = False  # somebody answered for the machine: nobody listens there
    executing: bool | None = None
    sessions: int | None = None


class WorkerHealth(msgspec.Struct, frozen=True, rename="camel"):
    """What the checks of one worker have shown so far."""

    limit: int = 3  # so many failures in a row count
    failures: int = 0  # in a row, up to now
    failing_since: datetime | None = None
    answered_at: datetime | None = None  # when it last answered well
    recent: tuple[Check, ...] = ()  # the latest last
    suspended: str = ""  # why its failures prove nothing; empty when they do

    @property
    def last(self) -> Check | None:
        """The latest check."""
        return self.recent[-1] if self.recent else None

    @property
    def failed(self) -> bool:
        """Whether so many checks failed in a row that it counts."""
        return self.failures >= self.limit and not self.suspended

    @property
    def summary(self) -> str:
        """In words: `3 health checks failed: connection refused`."""
        if self.last is None:
            return "not checked yet"
        if not self.failures:
            return f"healthy: {self.last.detail}"
        plural = "s" if self.failures > 1 else ""
        return f"{self.failures} health check{plural} failed: {self.last.detail}"
