"""Sessions that their worker knows nothing of: it was started anew in its pod, or the answer that brought it was lost.

Two proofs: the worker itself says that it is idle, and nobody has kept the session alive for longer than a worker
that had it would have let pass.
"""

from mooring.controllers.claims.release import ClaimRelease
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.worker import Worker

SILENCE_SECONDS = 45.0  # workers beat every 15 seconds, or three times within a shorter ttl


class ForgottenSessions:
    """Loses them, so that they are not held until their ttl ends; those that may be retried are queued again."""

    def __init__(self, context: Context, release: ClaimRelease) -> None:
        self._ledger = context.ledger
        self._auditor = context.auditor
        self._clock = context.clock
        self._release = release

    async def lose(self, worker: Worker) -> float | None:
        """For a worker that says it is idle. Answers in how many seconds to look again; None when nothing is left."""
        soonest: float | None = None
        for claim in await self._ledger.claims.live_by_pods([worker.uid]):
            if claim.state is not ClaimState.RUNNING or claim.delivered_epoch != claim.epoch:
                continue
            left = min(SILENCE_SECONDS, claim.ttl_seconds * 2 / 3) - self._silence(claim)
            if left <= 0:
                await self._lose(worker, claim)
            else:
                soonest = left if soonest is None else min(soonest, left)
        return soonest

    def _silence(self, claim: Claim) -> float:
        heard_at = claim.heartbeat_at or claim.created_at
        return (self._clock.now() - heard_at).total_seconds()

    async def _lose(self, worker: Worker, claim: Claim) -> None:
        reason = f"its worker {worker.name} knows nothing of it any more"

        async def lose() -> Result:
            if claim.retryable:
                outcome = await self._release.requeue(claim, EndCause.FORGOTTEN, reason)
            else:
                outcome = await self._release.end(claim.id, claim.epoch, EndCause.FORGOTTEN, reason)
            return DONE if outcome.applied else (AuditOutcome.SKIPPED, f"the ledger said {outcome.verdict.value}")

        proofs = ["worker: it says that it is idle", f"holder: no heartbeat for {self._silence(claim):.0f} s"]
        await self._auditor.carry_out(
            lose,
            actor=f"worker/{worker.namespace}/{worker.name}",
            action="lose-claim",
            subject=Subject("Claim", claim.namespace, claim.id, claim.id),
            reason=reason,
            evidence={"proofs": proofs, "attempt": claim.attempt, "retryable": claim.retryable},
        )
