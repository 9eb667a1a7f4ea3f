"""The part of the ledger's interface that keeps the history of pools."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from mooring.model.pool_history import Gauges, Sample


class History(Protocol):
    """Samples of pools in two resolutions: `FINE_SECONDS` for a day, `COARSE_SECONDS` for 30 days."""

    async def write(self, gauges: Sequence[Gauges], *, since: datetime, at: datetime) -> None:
        """One fine sample a pool, with the claims that came, got a worker or ended from `since` until before `at`.

        The worker-seconds of a sample that is new are added to the usage.

        One statement for all pools. What is there already stays: another replica has written it.
        """
        ...

    async def summarise(self, samples: Sequence[Sample]) -> None:
        """Coarse samples, one a pool. What is there already stays."""
        ...

    async def of_pool(
        self, namespace: str, pool: str, *, step_seconds: int, since: datetime, until: datetime
    ) -> tuple[Sample, ...]:
        """The samples of one pool after `since` and until `until`, in order of time."""
        ...

    async def of_all(self, *, step_seconds: int, since: datetime, until: datetime) -> tuple[Sample, ...]:
        """The samples of all pools after `since` and until `until`, by pool and in order of time."""
        ...

    async def summarised_until(self) -> datetime | None:
        """The end of the newest coarse sample."""
        ...

    async def prune(self, *, now: datetime, limit: int = 1000) -> int:
        """Delete samples that are older than their resolution is kept; returns how many."""
        ...
