"""How long a waiting claim is expected to wait for its worker."""

from collections.abc import Sequence
from datetime import datetime

from mooring.model.pool import Pool
from mooring.model.worker import ClassifiedWorker, WorkerState


def compute_start_seconds(pool: Pool, workers: Sequence[ClassifiedWorker]) -> float | None:
    """The mean start of the workers that are there, or the one that is learnt; None if neither is known."""
    taken = [
        (item.worker.ready_since - item.worker.created_at).total_seconds()
        for item in workers
        if item.worker.ready_since is not None and not item.worker.restarts
    ]
    if taken:
        return sum(taken) / len(taken)
    return pool.status.demand.start_seconds if pool.status.demand is not None else None


def compute_expected_wait(
    pool: Pool, workers: Sequence[ClassifiedWorker], position: int, now: datetime
) -> float | None:
    """Seconds until the claim at a place of the queue gets a worker that starts for it.

    None if that is not known: no start was seen, or `max` is reached and it depends on when others give one back.
    """
    start = compute_start_seconds(pool, workers)
    if start is None or position < 1:
        return None
    ages = sorted(
        ((now - item.worker.created_at).total_seconds() for item in workers if item.state is WorkerState.STARTING),
        reverse=True,
    )
    if position <= len(ages):
        return max(0.0, start - ages[position - 1])
    return start if position - len(ages) <= pool.spec.max - len(workers) else None
