"""The history of a pool: samples of its workers, its queue and its claims, and how they are put together.

Waits and holds are kept as counts by bucket, so that samples can be added up: percentiles of percentiles mean nothing.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

FINE_SECONDS = 10
COARSE_SECONDS = 300
FINE_KEPT = timedelta(days=1)
COARSE_KEPT = timedelta(days=30)
MODELS_KEPT = timedelta(days=60)  # of demand, after the last sample that was learnt
BOUNDS = tuple(0.005 * 1.2**power for power in range(103))  # 5 ms to 7 days; a percentile is off by 10 % at most

Buckets = Mapping[int, int]  # number of a bucket: how many; bucket 0 is below the first bound


class Gauges(msgspec.Struct, frozen=True):
    """A pool as it is at one moment."""

    namespace: str
    pool: str
    workers: dict[str, float]  # by state
    queued: int
    warm: int  # the floor: `spec.warm`, or the one that follows from demand
    max: int
    starts: dict[int, int] = {}  # seconds from creation to readiness, of workers that became ready in the step


class Sample(msgspec.Struct, frozen=True):
    """The `step` seconds before `at`: workers on average, the longest queue, and the claims that began or ended."""

    namespace: str
    pool: str
    at: datetime
    workers: dict[str, float] = {}
    queued: int = 0
    warm: int = 0
    max: int = 0
    waits: dict[int, int] = {}
    holds: dict[int, int] = {}
    ended: int = 0
    starts: dict[int, int] = {}
    arrivals: dict[int, int] = {}  # claims that were made or refused, by half second; of a coarse sample in one sum


class Percentiles(msgspec.Struct, frozen=True):
    """In seconds."""

    p50: float
    p95: float
    p99: float


def bucket_of(seconds: float) -> int:
    """The bucket of a duration; `width_bucket` of PostgreSQL gives the same."""
    return bisect_right(BOUNDS, seconds)


def compute_percentiles(buckets: Mapping[int, float]) -> Percentiles | None:
    """None if there is nothing to order."""
    if not sum(buckets.values()):
        return None
    return Percentiles(*(_percentile(buckets, part) for part in (0.50, 0.95, 0.99)))


def _percentile(buckets: Mapping[int, float], part: float) -> float:
    """The place within the bucket, as if its durations were spread evenly over it."""
    wanted, below = part * sum(buckets.values()), 0.0
    for bucket, count in sorted(buckets.items()):
        if count and below + count >= wanted:
            low = BOUNDS[bucket - 1] if bucket else 0.0
            high = BOUNDS[min(bucket, len(BOUNDS) - 1)]
            return round(low + (high - low) * (wanted - below) / count, 3)
        below += count
    return BOUNDS[-1]


def compute_mean(buckets: Mapping[int, float], beyond: float = 0.0) -> float | None:
    """The mean of how much durations exceed some seconds; shorter ones count as 0. None if there are none."""
    total = sum(buckets.values())
    if not total:
        return None
    return sum(count * max(0.0, _middle(bucket) - beyond) for bucket, count in buckets.items()) / total


def _middle(bucket: int) -> float:
    low = BOUNDS[bucket - 1] if bucket else 0.0
    return (low + BOUNDS[min(bucket, len(BOUNDS) - 1)]) / 2


def add_buckets(parts: Sequence[Buckets]) -> dict[int, int]:
    """All of them together."""
    total: Counter[int] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def merge_samples(at: datetime, samples: Sequence[Sample]) -> Sample:
    """Several samples of one pool as one, which ends at `at`. Floor and limit are those of the last."""
    last = samples[-1]
    states = sorted({state for sample in samples for state in sample.workers})
    means = {
        state: round(sum(sample.workers.get(state, 0.0) for sample in samples) / len(samples), 2) for state in states
    }
    return Sample(
        namespace=last.namespace,
        pool=last.pool,
        at=at,
        workers=means,
        queued=max(sample.queued for sample in samples),
        warm=last.warm,
        max=last.max,
        waits=add_buckets([sample.waits for sample in samples]),
        holds=add_buckets([sample.holds for sample in samples]),
        ended=sum(sample.ended for sample in samples),
        starts=add_buckets([sample.starts for sample in samples]),
        arrivals={0: total} if (total := sum(sum(sample.arrivals.values()) for sample in samples)) else {},
    )


def compute_steps(samples: Sequence[Sample], step_seconds: int) -> list[Sample]:
    """The samples, in order of time, put together into steps; a step without samples is left out."""
    steps: dict[datetime, list[Sample]] = {}
    for sample in samples:
        steps.setdefault(end_of_step(sample.at, step_seconds), []).append(sample)
    return [found[0] if len(found) == 1 else merge_samples(at, found) for at, found in steps.items()]


def end_of_step(at: datetime, step_seconds: int) -> datetime:
    """The end of the step that a moment belongs to; a moment at its end still does."""
    seconds = -(-int(at.timestamp()) // step_seconds) * step_seconds
    return datetime.fromtimestamp(seconds, UTC)
