"""How long a waiting claim is expected to wait for its worker."""

from collections.abc import Sequence
from datetime import datetime
from math import ceil

from mooring.model.pool import Pool
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.demand.model import ASSUMED_START_SECONDS

LATEST_SHARE = 2.0  # of the mean start, after which nothing is known of one that goes on


def compute_start_seconds(pool: Pool, workers: Sequence[ClassifiedWorker]) -> float | None:
    """The mean start of the workers that are there, or the one that the floor is planned with; None without either."""
    taken = [
        (item.worker.ready_since - item.worker.created_at).total_seconds()
        for item in workers
        if item.worker.ready_since is not None and not item.worker.restarts
    ]
    if taken:
        return sum(taken) / len(taken)
    if pool.status.demand is None:
        return None
    learned = pool.status.demand.start_seconds
    return ASSUMED_START_SECONDS if learned is None else learned


def compute_expected_wait(
    pool: Pool, workers: Sequence[ClassifiedWorker], position: int, now: datetime
) -> float | None:
    """Seconds until the claim at a place of the queue gets a worker that starts for it.

    None if that is not known: no start was seen, `max` is reached and it depends on when others give one back, or the
    worker that starts for it takes far longer than others did.
    """
    start = compute_start_seconds(pool, workers)
    if start is None or position < 1:
        return None
    place = position if pool.spec.separates_owners else ceil(position / pool.spec.slots)
    ages = sorted(
        ((now - item.worker.created_at).total_seconds() for item in workers if item.state is WorkerState.STARTING),
        reverse=True,
    )
    if place <= len(ages):
        age = ages[place - 1]
        return max(0.0, start - age) if age <= LATEST_SHARE * start else None
    return start if place - len(ages) <= pool.spec.max - len(workers) else None
