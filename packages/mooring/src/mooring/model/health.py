"""Health checks of a worker: single checks and their summary."""

from datetime import datetime

import msgspec

KEPT_CHECKS = 10


class Check(msgspec.Struct, frozen=True, omit_defaults=True):
    """One health check. `executing` is the worker's own answer to whether it executes a session."""

    at: datetime
    ok: bool
    detail: str  # "200 OK", "connection refused", "no answer within 3 s"
    refused: bool = False  # the connection was refused: nothing listens on the port
    executing: bool | None = None
    sessions: int | None = None


class WorkerHealth(msgspec.Struct, frozen=True, rename="camel"):
    """The summary of a worker's checks."""

    limit: int = 3  # the failure threshold: consecutive failures
    failures: int = 0  # consecutive failures
    failing_since: datetime | None = None
    answered_at: datetime | None = None  # the last good answer
    recent: tuple[Check, ...] = ()  # oldest first
    suspended: str = ""  # why its failures prove nothing; empty if they do

    @property
    def last(self) -> Check | None:
        """The latest check."""
        return self.recent[-1] if self.recent else None

    @property
    def failed(self) -> bool:
        """Whether the failure threshold is reached."""
        return self.failures >= self.limit and not self.suspended

    @property
    def summary(self) -> str:
        """For example `3 health checks failed: connection refused`."""
        if self.last is None:
            return "not checked yet"
        if not self.failures:
            return f"healthy: {self.last.detail}"
        plural = "s" if self.failures > 1 else ""
        return f"{self.failures} health check{plural} failed: {self.last.detail}"
