"""The history of pools: workers by state, queue, and how long claims waited and were held."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from hawser.clock import Clock
from mooring.ledger.port import Ledger
from mooring.model.errors import InvalidInput, Unavailable
from mooring.model.pool_history import (
    COARSE_KEPT,
    COARSE_SECONDS,
    FINE_KEPT,
    FINE_SECONDS,
    Percentiles,
    Sample,
    add_buckets,
    compute_mean,
    compute_percentiles,
    compute_steps,
)
from mooring.queries.demand import DemandQueries
from mooring.queries.usage import UsageQueries
from mooring.queries.visibility import LimitedQueries

MOST_POINTS = 1500
USUAL_POINTS = 360
CHART_POINTS = 150
RECENT_SECONDS = 900
RECENT_KEPT_SECONDS = 5.0
_STEPS = (10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400)


class HistoryPoint(msgspec.Struct, frozen=True, rename="camel"):
    """The seconds of one step, up to `at`: workers on average, the longest queue, claims that began and ended."""

    at: datetime
    workers: dict[str, float]
    queued: int
    warm: int
    max: int
    claims: int
    ended: int
    arrivals: int
    wait: Percentiles | None
    hold: Percentiles | None


class ClaimTotals(msgspec.Struct, frozen=True, rename="camel"):
    """All claims of the range: how many got a worker and how many ended, how long they waited and were held."""

    claims: int
    ended: int
    wait: Percentiles | None
    hold: Percentiles | None


class PoolHistory(msgspec.Struct, frozen=True, rename="camel"):
    """The points of a range, oldest first. A step without any sample is left out: nothing led, or nothing was there."""

    namespace: str
    name: str
    since: datetime
    until: datetime
    step_seconds: int
    points: list[HistoryPoint]
    total: ClaimTotals


class Arrivals(msgspec.Struct, frozen=True, rename="camel"):
    """Half seconds since `since` in which claims came, in order; one with several claims occurs several times."""

    namespace: str
    name: str
    since: datetime
    half_seconds: list[int]
    start_seconds: float | None  # mean of the starts; null if none was seen


class HistoryQueries(LimitedQueries):
    """Reads the ledger; keeps the last minutes of all pools for a moment, for pages that show them every second."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._recent: dict[str, tuple[float, dict[str, list[Sample]]]] = {}
        self._charted: dict[tuple[str, str, int], tuple[float, PoolHistory]] = {}

    async def of_pool(self, namespace: str, name: str, range_seconds: int, step_seconds: int = 0) -> PoolHistory:
        """The last `range_seconds` of one pool, in steps; without a step, up to 360. May raise `InvalidInput`."""
        step = step_seconds or _usual_step(range_seconds)
        _check(range_seconds, step)
        resolution = COARSE_SECONDS if step % COARSE_SECONDS == 0 and range_seconds > 3600 else FINE_SECONDS
        until = self._clock.now()
        since = until - timedelta(seconds=range_seconds)
        samples = await self._ledger.history.of_pool(namespace, name, step_seconds=resolution, since=since, until=until)
        points = [_point(one) for one in compute_steps(samples, step)]
        return PoolHistory(namespace, name, since, until, step, points, _total(samples))

    @property
    def demand(self) -> DemandQueries:
        """What was learnt from the history."""
        return DemandQueries(self._ledger, self._clock)

    @property
    def usage(self) -> UsageQueries:
        """Worker-hours, summed up with the history."""
        return UsageQueries(self._ledger, self._clock, self._visibility)

    async def arrivals(self, namespace: str, name: str) -> Arrivals:
        """All arrivals of the last day."""
        until = self._clock.now()
        since = until - FINE_KEPT
        samples = await self._ledger.history.of_pool(
            namespace, name, step_seconds=FINE_SECONDS, since=since, until=until
        )
        begin = since.timestamp()
        came = [
            int((sample.at.timestamp() - FINE_SECONDS - begin) * 2) + place
            for sample in samples
            for place, count in sorted(sample.arrivals.items())
            for _ in range(count)
        ]
        starts = add_buckets([sample.starts for sample in samples])
        return Arrivals(namespace, name, since, [at for at in came if at >= 0], compute_mean(starts))

    async def charted(self, namespace: str, name: str, range_seconds: int) -> PoolHistory:
        """The same in about 120 steps, for pages that show it every second: kept for a moment."""
        key, now = (namespace, name, range_seconds), self._clock.monotonic()
        kept = self._charted.get(key)
        if kept is not None and now - kept[0] < RECENT_KEPT_SECONDS:
            return kept[1]
        step = next((step for step in _STEPS if range_seconds <= step * CHART_POINTS), _STEPS[-1])
        found = await self.of_pool(namespace, name, range_seconds, step)
        for old in [key for key, (at, _) in self._charted.items() if now - at >= RECENT_KEPT_SECONDS]:
            del self._charted[old]
        self._charted[key] = (now, found)
        return found

    async def recent(self) -> dict[str, list[Sample]]:
        """The last 15 minutes of the pools that may be seen, by `namespace/name`; empty while the ledger is away."""
        now = self._clock.monotonic()
        read_at, found = self._recent.get("", (None, {}))
        if read_at is None or now - read_at >= RECENT_KEPT_SECONDS:
            until = self._clock.now()
            try:
                samples = await self._ledger.history.of_all(
                    step_seconds=FINE_SECONDS, since=until - timedelta(seconds=RECENT_SECONDS), until=until
                )
            except Unavailable:
                samples = ()
            found = {}
            for sample in samples:
                found.setdefault(f"{sample.namespace}/{sample.pool}", []).append(sample)
            self._recent[""] = (now, found)
        return {key: of_pool for key, of_pool in found.items() if key.partition("/")[0] in self._visibility.workerpools}


def _usual_step(range_seconds: int) -> int:
    return next((step for step in _STEPS if range_seconds <= step * USUAL_POINTS), _STEPS[-1])


def _check(range_seconds: int, step: int) -> None:
    most = int(COARSE_KEPT.total_seconds())
    if not 60 <= range_seconds <= most:
        raise InvalidInput("range", f"{range_seconds}s", "between 60s and 720h (30 days)")
    if step % FINE_SECONDS or not FINE_SECONDS <= step <= range_seconds:
        raise InvalidInput("step", f"{step}s", f"a multiple of {FINE_SECONDS}s, at most the range")
    if range_seconds > FINE_KEPT.total_seconds() and step % COARSE_SECONDS:
        raise InvalidInput("step", f"{step}s", "a multiple of 5m for more than a day")
    if range_seconds / step > MOST_POINTS:
        raise InvalidInput("step", f"{step}s", f"so long that there are at most {MOST_POINTS} points")


def _point(sample: Sample) -> HistoryPoint:
    return HistoryPoint(
        at=sample.at,
        workers=sample.workers,
        queued=sample.queued,
        warm=sample.warm,
        max=sample.max,
        claims=sum(sample.waits.values()),
        ended=sample.ended,
        arrivals=sum(sample.arrivals.values()),
        wait=compute_percentiles(sample.waits),
        hold=compute_percentiles(sample.holds),
    )


def _total(samples: tuple[Sample, ...]) -> ClaimTotals:
    waits, holds = add_buckets([one.waits for one in samples]), add_buckets([one.holds for one in samples])
    return ClaimTotals(
        claims=sum(waits.values()),
        ended=sum(one.ended for one in samples),
        wait=compute_percentiles(waits),
        hold=compute_percentiles(holds),
    )
