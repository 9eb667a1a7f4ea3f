"""Forgetting: ended claims, old audit rows, the history of pools, and what replicas and workers said long ago.

It keeps up with any rate: batches in transactions of their own, until nothing old is left.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from hawser.clock import Clock
from mooring.engine.containment import contained
from mooring.engine.metrics import HOUSEKEEPING_BACKLOG
from mooring.ledger.port import Ledger
from mooring.model.errors import InvalidInput, Unavailable

log = structlog.get_logger()

PERIOD_SECONDS = 60.0
BATCH = 1000
PAUSE_SECONDS = 0.02  # between batches: claims go first
MOST_COUNTED = 100_000
COUNTED_EVERY = 20 * BATCH  # rows deleted
REPLICAS_KEPT = timedelta(days=1)
SIGNS_KEPT = timedelta(days=1)
USAGE_KEPT = timedelta(days=400)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long rows are kept. Idempotency keys answer as long as their claims are kept."""

    claims: timedelta = timedelta(days=7)
    audit: timedelta = timedelta(days=90)

    @classmethod
    def of_days(cls, claims: int, audit: int) -> "Retention":
        """As the settings say it; at least one day, at most 100 years."""
        for name, days in (("MOORING_KEEP_CLAIMS_DAYS", claims), ("MOORING_KEEP_AUDIT_DAYS", audit)):
            if not 1 <= days <= 36_500:
                raise InvalidInput(name, str(days), "between 1 and 36500 days")
        return cls(timedelta(days=claims), timedelta(days=audit))


KEEP_DEFAULT = Retention()


@dataclass(frozen=True, slots=True)
class _Chore:
    table: str
    kept: timedelta
    prune: Callable[[datetime, int], Awaitable[int]]  # rows that are older, at most so many
    count: Callable[[datetime], Awaitable[int]]


class Housekeeping:
    """Once a minute, on the replica that leads."""

    def __init__(
        self, ledger: Ledger, may_act: Callable[[], bool], clock: Clock, retention: Retention = KEEP_DEFAULT
    ) -> None:
        self._ledger = ledger
        self._may_act = may_act
        self._clock = clock
        self._chores = (
            _Chore(
                "claims",
                retention.claims,
                lambda before, limit: ledger.claims.prune(ended_before=before, limit=limit),
                lambda before: ledger.claims.count_ended(ended_before=before, limit=MOST_COUNTED),
            ),
            _Chore(
                "audit",
                retention.audit,
                lambda before, limit: ledger.audit.prune(before=before, limit=limit),
                lambda before: ledger.audit.count_completed(before=before, limit=MOST_COUNTED),
            ),
        )

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._clock.sleep(PERIOD_SECONDS)
            if not self._may_act():
                continue
            with contained("housekeeping"):
                try:
                    await self.sweep()
                except Unavailable as error:
                    log.warning("housekeeping was skipped", error=error.message)

    async def sweep(self) -> None:
        """Delete all that is old, as long as this replica leads, and report what is left."""
        started, removed = self._clock.monotonic(), {}
        try:
            for chore in self._chores:
                removed[chore.table] = await self._finish(chore)
            removed["liveness"] = await self._until_done(
                lambda: self._ledger.liveness.forget(silent_since=self._clock.now() - SIGNS_KEPT, limit=BATCH)
            )
            removed["sessions"] = await self._until_done(
                lambda: self._ledger.sessions.prune(now=self._clock.now(), limit=BATCH)
            )
            removed["history"] = await self._until_done(
                lambda: self._ledger.history.prune(now=self._clock.now(), limit=BATCH)
            )
            removed["refusals"] = await self._until_done(
                lambda: self._ledger.demand.prune(now=self._clock.now(), limit=BATCH)
            )
            removed["usage"] = await self._until_done(
                lambda: self._ledger.usage.prune(before=(self._clock.now() - USAGE_KEPT).date(), limit=BATCH)
            )
            removed["replicas"] = await self._ledger.replicas.forget(silent_since=self._clock.now() - REPLICAS_KEPT)
        finally:
            if any(removed.values()):
                log.info("housekeeping", seconds=round(self._clock.monotonic() - started, 1), **removed)

    async def _finish(self, chore: _Chore) -> int:
        """Delete until nothing old is left. The rest is counted repeatedly: more rows may become old."""
        removed, deleted = 0, COUNTED_EVERY
        try:
            while deleted == COUNTED_EVERY:
                await self._count(chore)
                deleted = await self._until_done(lambda: chore.prune(self._cutoff(chore), BATCH), COUNTED_EVERY)
                removed += deleted
            return removed
        finally:
            await self._count(chore)

    async def _count(self, chore: _Chore) -> None:
        HOUSEKEEPING_BACKLOG.set(await chore.count(self._cutoff(chore)), chore.table)

    def _cutoff(self, chore: _Chore) -> datetime:
        return self._clock.now() - chore.kept

    async def _until_done(self, prune: Callable[[], Awaitable[int]], most: int | None = None) -> int:
        removed = 0
        while self._may_act() and (most is None or removed < most):
            batch = await prune()
            removed += batch
            if batch < BATCH:
                break
            await self._clock.sleep(PAUSE_SECONDS)
        return removed
