"""Workers of a pool with `reuse: SameOwner` that were given back: kept for their owner, replaced for others.

They do not count as idle for the floor. They are deleted when their place is needed, or after `idleSeconds`. So a pool
is never full of workers that nobody may use.
"""

from collections.abc import Sequence
from datetime import datetime

from mooring.model.moments import later
from mooring.model.pool import PoolSpec
from mooring.model.proof import by_cluster, by_ledger
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.actions import RetireWorker


def keeps_tenants(spec: PoolSpec) -> bool:
    """Whether workers of the pool return to the owner of their last session only."""
    return spec.reuse == "SameOwner"


def is_returned(spec: PoolSpec, item: ClassifiedWorker) -> bool:
    """Whether an idle worker may only be given to the owner of its last session."""
    return keeps_tenants(spec) and item.state is WorkerState.IDLE and bool(item.worker.tenant)


def plan_returned(
    returned: Sequence[ClassifiedWorker], spec: PoolSpec, spec_hash: str, missing: int, now: datetime, invariant: str
) -> list[RetireWorker]:
    """Those that are outdated or idle for too long, and as many as are `missing` room, the longest idle first."""
    retires: list[RetireWorker] = []
    for item in sorted(returned, key=_since):
        idle_seconds = (now - _since(item)).total_seconds()
        floor, kept = 0.0, f"it is kept for {item.worker.tenant}"
        if item.worker.spec_hash != spec_hash:
            because = f"{kept}, and its template is older than the pool's"
        elif idle_seconds >= spec.idle_seconds:
            because, floor = f"{kept} and idle for longer than {spec.idle_seconds} s", float(spec.idle_seconds)
        elif len(retires) < missing:
            because = f"{kept}, and others need its place: {missing} more wanted at max {spec.max}"
        else:
            continue
        proofs = (by_ledger("no live claim on it"), by_cluster(because))
        retires.append(RetireWorker(item.worker, invariant, because, proofs, idle_seconds, floor))
    return retires


def next_expiry(returned: Sequence[ClassifiedWorker], spec: PoolSpec, now: datetime) -> datetime | None:
    """When the next one has been idle for too long."""
    ends = (later(_since(item), spec.idle_seconds) for item in returned)
    return min((end for end in ends if end > now), default=None)


def _since(item: ClassifiedWorker) -> datetime:
    return item.worker.tenant_since or item.idle_since or item.worker.created_at
