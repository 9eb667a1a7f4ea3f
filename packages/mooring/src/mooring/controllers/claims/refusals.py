"""The errors for a claimer that gets no worker: the last state and its why, with figures."""

from typing import Any, Protocol

import msgspec

from mooring.ledger.port import Ledger
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import OPEN, Admission, AdmissionVerdict, Claim, LimitReached
from mooring.model.errors import Conflict, Refused, Unavailable
from mooring.model.pool import Pool
from mooring.model.why import Why
from mooring.planning.explanations.claims import NAMED, explain_full_queue, explain_limit, explain_place


class NoIdleWorker(Unavailable):
    """No worker is free, and the request does not wait."""

    code = "no_idle_worker"


class WaitTimedOut(Unavailable):
    """No worker became free in time."""

    code = "wait_timed_out"


class QueueFull(Refused):
    """As many claims wait for the pool as it allows."""

    code = "queue_full"
    retry_after_seconds = 5.0


class Abandoned(Unavailable):
    """The claim was given up while its client was not heard of. A repeated request is a new one."""

    code = "abandoned"


class ClaimRevoked(Conflict):
    """An operator released the claim while it waited."""

    code = "claim_revoked"

    def __init__(self, claim: Claim) -> None:
        detail = {"claim": claim.id, "reason": claim.reason, "at": claim.ended_at.isoformat() if claim.ended_at else ""}
        super().__init__(f"claim {claim.id} was revoked while it waited: {claim.reason}", detail=detail)


class PoolWaits(Protocol):
    """What is known of waiting for a worker of a pool."""

    def shortage(self, pool: Pool) -> Why:
        """Why no worker is free."""
        ...

    def expected_wait(self, pool: Pool, position: int) -> float | None:
        """Seconds until a worker is free for the claim at a place of the queue; None if that is not known."""
        ...


class Refusals:
    """Makes the errors; raising them is the desk's."""

    def __init__(self, ledger: Ledger, waits: PoolWaits) -> None:
        self._ledger = ledger
        self._waits = waits

    def no_idle_worker(self, pool: Pool) -> NoIdleWorker:
        """Of a claimer that does not wait."""
        why = self._waits.shortage(pool)
        return NoIdleWorker(
            f"no worker of {pool.key} is idle", fix=f"ask with 'wait', or: {why.fix}", detail=_detail(why)
        )

    def wait_timed_out(self, pool: Pool, claim: Claim, position: int | None) -> WaitTimedOut:
        """Of a claim whose wait was over at that place in the queue."""
        shortage = self._waits.shortage(pool)
        expected = self._waits.expected_wait(pool, position) if position is not None else None
        why = explain_place(claim, position, shortage, expected)
        soon = f", one is expected in about {expected:.0f} s" if expected else ""
        return WaitTimedOut(
            f"no worker of {pool.key} became free in time{soon}",
            fix=f"wait longer, or: {shortage.fix}",
            detail={"claim": claim.id, **_detail(why)},
        )

    async def require(self, admission: Admission, pool: Pool, owner: str) -> Claim:
        """The claim that was admitted, or the error that says why there is none."""
        if admission.verdict is AdmissionVerdict.QUEUE_FULL:
            raise self._queue_full(pool, owner if pool.spec.fairness is not None else "")
        limit = pool.spec.limits.per_owner
        if admission.verdict is not AdmissionVerdict.LIMIT_REACHED or limit is None:
            return admission.require()
        which = ClaimFilter(namespace=pool.namespace, pool=pool.name, owner=owner, states=OPEN)
        page = await self._ledger.claims.list(which, limit=NAMED)
        why = explain_limit(pool.key, owner, limit, page.items, page.total)
        raise LimitReached("the owner's limit is reached", fix=why.fix, detail=_detail(why))

    def _queue_full(self, pool: Pool, owner: str) -> QueueFull:
        why = explain_full_queue(pool.key, pool.spec.limits.max_queued or 0, self._waits.shortage(pool), owner)
        whose = f" for {owner}" if owner else ""
        return QueueFull(f"the queue of {pool.key} is full{whose}", fix=why.fix, detail=_detail(why))


def _detail(why: Why) -> dict[str, Any]:
    return {"why": msgspec.to_builtins(why)}
