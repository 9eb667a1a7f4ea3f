"""The metrics of claims. None has an owner: owners are many, and come from outside."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from mooring.engine.metrics import LeaderGauge, PoolCounter, PoolHistogram
from mooring.ledger.records import PoolCount
from mooring.model.claim import Claim, ClaimState, EndCause

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
_HOLD_SECONDS = (1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400)

CLAIMS = LeaderGauge("mooring_claims", "Open claims of a pool by state.", ("pool", "state"))
QUEUE_DEPTH = LeaderGauge("mooring_queue_depth", "Claims that wait for a worker of a pool.", ("pool",))
OLDEST_WAIT = LeaderGauge(
    "mooring_queue_oldest_wait_seconds", "How long the oldest waiting claim of a pool waits; 0 if none does.", ("pool",)
)
CLAIM_WAIT = PoolHistogram(
    "mooring_claim_wait_seconds",
    "From the request, or the loss of the worker, until a claim has a worker.",
    ["pool"],
    buckets=_SECONDS,
)
CLAIM_HANDOVER = PoolHistogram(
    "mooring_claim_handover_seconds",
    "From a claim that has a worker until it runs: stamp and mint.",
    ["pool"],
    buckets=_SECONDS,
)
CLAIM_HOLD = PoolHistogram(
    "mooring_claim_hold_seconds",
    "How long a claim ran on its last worker until it ended.",
    ["pool"],
    buckets=_HOLD_SECONDS,
)
CLAIMS_ENDED = PoolCounter("mooring_claims_ended_total", "Claims that ended, by cause.", ["pool", "cause"])
CLAIMS_REQUEUED = PoolCounter(
    "mooring_claims_requeued_total",
    "Claims that lost their worker and wait for another one, by cause.",
    ["pool", "cause"],
)
COLLISIONS = PoolCounter(
    "mooring_claim_collisions_total",
    "Slots that this replica chose for a claim and another replica had taken first.",
    ["pool"],
)


class ClaimFigures:
    """Observes what this replica wrote in the ledger. A claim of a pool that is gone is not observed."""

    def __init__(self, exists: Callable[[str], bool]) -> None:
        self._exists = exists

    def handed_over(self, claim: Claim) -> None:
        """It runs now."""
        key = _pool_key(claim)
        if not self._exists(key) or claim.claimed_at is None or claim.running_at is None:
            return
        CLAIM_WAIT.labels(key).observe(_seconds(claim.claimed_at - (claim.queued_at or claim.created_at)))
        CLAIM_HANDOVER.labels(key).observe(_seconds(claim.running_at - claim.claimed_at))

    def requeued(self, claim: Claim) -> None:
        """It lost its worker and waits again."""
        if self._exists(_pool_key(claim)):
            CLAIMS_REQUEUED.labels(_pool_key(claim), _cause(claim)).inc()

    def ended(self, claim: Claim) -> None:
        """It is over."""
        key = _pool_key(claim)
        if not self._exists(key):
            return
        CLAIMS_ENDED.labels(key, _cause(claim)).inc()
        # `running_at` outlives a requeue: only after `claimed_at` does it belong to the worker that the claim had last.
        if claim.ended_at and claim.running_at and claim.claimed_at and claim.running_at >= claim.claimed_at:
            CLAIM_HOLD.labels(key).observe(_seconds(claim.ended_at - claim.running_at))


def show_open_claims(pools: Iterable[str], counts: Iterable[PoolCount], now: datetime) -> None:
    """Set the gauges of all pools from one read of the ledger."""
    by_pool = {f"{count.namespace}/{count.pool}": count for count in counts}
    for key in pools:
        _begin_series(key)
        count = by_pool.get(key)
        queued, claimed, running = (count.queued, count.claimed, count.running) if count else (0, 0, 0)
        for state, number in (("queued", queued), ("claimed", claimed), ("running", running)):
            CLAIMS.set(number, key, state)
        QUEUE_DEPTH.set(queued, key)
        oldest = count.oldest_queued_at if count else None
        OLDEST_WAIT.set(_seconds(now - oldest) if oldest else 0.0, key)


def _begin_series(pool: str) -> None:
    """Export the counters of a pool as zero: what rises from nothing is not seen to rise."""
    for histogram in (CLAIM_WAIT, CLAIM_HANDOVER, CLAIM_HOLD):
        histogram.labels(pool)
    for cause in EndCause:
        CLAIMS_ENDED.labels(pool, cause.value)
        if cause.state is ClaimState.LOST:
            CLAIMS_REQUEUED.labels(pool, cause.value)


def hide_open_claims() -> None:
    """Hide the metric while the ledger cannot be read: an old value would look current."""
    for gauge in (CLAIMS, QUEUE_DEPTH, OLDEST_WAIT):
        gauge.remove()


def _pool_key(claim: Claim) -> str:
    return f"{claim.namespace}/{claim.pool}"


def _cause(claim: Claim) -> str:
    return claim.cause.value if claim.cause else "unknown"


def _seconds(passed: timedelta) -> float:
    """Never negative, also if a clock was set back."""
    return max(0.0, passed.total_seconds())
