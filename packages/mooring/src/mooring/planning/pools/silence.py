"""Idle workers of pools with poll dispatch that have stopped to poll: they get no sessions, and are replaced."""

from collections.abc import Sequence

from mooring.model.proof import by_ledger, by_worker
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.actions import WARM_FLOOR, Reason, RetireWorker
from mooring.planning.pools.snapshot import PoolSnapshot


def plan_silent(snapshot: PoolSnapshot, silent: Sequence[ClassifiedWorker], full: bool) -> tuple[RetireWorker, ...]:
    """Replace those that are silent for as long as the pool allows."""
    reclaim = snapshot.pool.spec.effective_reclaim
    if reclaim.policy != "Delete":
        return ()
    if snapshot.silence.doubt:
        return _plan_trial(snapshot) if full and snapshot.queued else ()
    return tuple(
        _replace(item, seconds, reclaim.silent_seconds)
        for item in silent
        if (seconds := snapshot.silence.seconds[item.worker.uid]) >= reclaim.silent_seconds
    )


def tell_silence(snapshot: PoolSnapshot) -> list[Reason]:
    """Why silent workers are not replaced."""
    if not snapshot.silence.doubt:
        return []
    return [
        Reason(
            "all_silent", f"{snapshot.silence.doubt}; none is replaced", f"mooring workers --pool {snapshot.pool.key}"
        )
    ]


def _plan_trial(snapshot: PoolSnapshot) -> tuple[RetireWorker, ...]:
    """All workers are silent, claims wait, and there is no room for another worker: replace one.

    If the new one polls, the others are at fault and are replaced too. If it does not, the next trial comes when it
    has been silent for as long.
    """
    reclaim, unheard = snapshot.pool.spec.effective_reclaim, snapshot.silence.unheard
    idle = [
        item
        for item in snapshot.classified
        if item.worker.terminating_since is None and item.state in (WorkerState.IDLE, WorkerState.STARTING)
    ]
    if not idle or any(unheard.get(item.worker.uid, 0.0) < reclaim.silent_seconds for item in idle):
        return ()
    longest = max(idle, key=lambda item: (unheard[item.worker.uid], item.worker.name))
    return (_replace(longest, unheard[longest.worker.uid], reclaim.silent_seconds),)


def _replace(item: ClassifiedWorker, seconds: float, floor: float) -> RetireWorker:
    proofs = by_ledger("no live claim on it"), by_worker(f"no poll for {seconds:.0f} s")
    return RetireWorker(item.worker, WARM_FLOOR, f"it has not polled for {seconds:.0f} s", proofs, seconds, floor)
