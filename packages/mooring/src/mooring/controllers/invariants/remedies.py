"""Carrying out what the claim invariants ask for, fenced on what was seen; the audit row is written before."""

from typing import Protocol

import structlog

from hawser.errors import KubeError
from hawser.resources import PODS, SERVICEACCOUNTS
from mooring.controllers.accounts import delete_account
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.model.audit import AuditOutcome
from mooring.model.claim import Claim, EndCause, Outcome
from mooring.model.worker import Worker
from mooring.planning.invariants.claims import Act, Remedy
from mooring.planning.invariants.leaks import STAMPED_HAS_CLAIM

log = structlog.get_logger()


class Stamps(Protocol):
    """Takes stamps off pods."""

    async def unstamp(self, namespace: str, name: str, uid: str, epoch: int) -> bool:
        """Remove the stamp of that epoch; False when the pod is gone or carries another one by now."""
        ...

    async def pass_on(self, namespace: str, name: str, uid: str, epoch: int, successor: Claim) -> bool:
        """Have the stamp of that epoch name another session on the same worker."""
        ...


class ClaimRelease(Protocol):
    """Ends claims that hold a worker, and lets the worker go."""

    async def end(self, claim_id: str, epoch: int, cause: EndCause, reason: str) -> Outcome: ...

    async def requeue(self, claim: Claim, cause: EndCause, reason: str) -> Outcome: ...

    async def fail(self, claim: Claim, reason: str) -> Result: ...


class Remedies:
    """One method a remedy. Conflict means that it changed: skipped, and decided anew at the next tick."""

    def __init__(self, context: Context, stamps: Stamps, release: ClaimRelease) -> None:
        self._client = context.client
        self._ledger = context.ledger
        self._clock = context.clock
        self._why_paused = context.switches.why_paused
        self._stamps = stamps
        self._release = release

    async def apply(self, act: Act) -> Result:
        """Do what the act asks for."""
        match act:
            case Act(remedy=Remedy.UNSTAMP, worker=Worker() as worker):
                return await self._unstamp(worker)
            case Act(remedy=Remedy.DELETE_WORKER, worker=Worker() as worker):
                return await self._delete_worker(worker)
            case Act(remedy=Remedy.LOSE_CLAIM, claim=Claim() as claim, cause=EndCause() as cause, worker=Worker()):
                return await self._lose_with_worker(claim, cause, act.reason)
            case Act(remedy=Remedy.LOSE_CLAIM, claim=Claim() as claim, cause=EndCause() as cause):
                return await self._lose(claim, cause, act.reason)
            case Act(remedy=Remedy.FAIL_CLAIM, claim=Claim() as claim):
                return await self._release.fail(claim, act.reason)
            case Act(remedy=Remedy.EXPIRE_CLAIM, claim=Claim() as claim):
                return await self._expire(claim, act.reason)
            case _:
                return await self._delete_account(act)

    async def pass_on(self, worker: Worker, successor: Claim) -> None:
        """A stamp names a session that is over, and others go on: it names one of them. Nothing is taken away."""
        if worker.stamp is not None and not self._why_paused(STAMPED_HAS_CLAIM):
            try:
                await self._stamps.pass_on(worker.namespace, worker.name, worker.uid, worker.stamp.epoch, successor)
            except KubeError as error:
                log.warning("a stamp still names a session that is over", worker=worker.name, error=error.message)

    async def _unstamp(self, worker: Worker) -> Result:
        assert worker.stamp is not None
        gone = await self._stamps.unstamp(worker.namespace, worker.name, worker.uid, worker.stamp.epoch)
        return DONE if gone else (AuditOutcome.SKIPPED, "it has another stamp now, or is gone")

    async def _delete_worker(self, worker: Worker) -> Result:
        await self._client.delete(
            PODS, worker.name, worker.namespace, uid=worker.uid, resource_version=worker.resource_version
        )
        await delete_account(self._client, worker.namespace, worker.name)
        return DONE

    async def _lose(self, claim: Claim, cause: EndCause, reason: str) -> Result:
        claims, now = self._ledger.claims, self._clock.now()
        if claim.retryable:
            outcome = await claims.requeue(claim.id, claim.epoch, cause, now=now, reason=reason, wait_until=None)
        else:
            outcome = await claims.end(claim.id, claim.epoch, cause, now=now, reason=reason)
        return _result(outcome)

    async def _lose_with_worker(self, claim: Claim, cause: EndCause, reason: str) -> Result:
        """The pod is still there: it is let go with the claim, and deleted as one that nobody holds."""
        if claim.retryable:
            return _result(await self._release.requeue(claim, cause, reason))
        return _result(await self._release.end(claim.id, claim.epoch, cause, reason))

    async def _expire(self, claim: Claim, reason: str) -> Result:
        outcome = await self._ledger.claims.expire(
            claim.id, claim.epoch, heartbeat_at=claim.heartbeat_at, now=self._clock.now(), reason=reason
        )
        return _result(outcome)

    async def _delete_account(self, act: Act) -> Result:
        subject = act.subject
        found = (await self._client.get(SERVICEACCOUNTS, subject.name, subject.namespace)).metadata
        await self._client.delete(
            SERVICEACCOUNTS, subject.name, subject.namespace, uid=subject.uid, resource_version=found.resource_version
        )
        return DONE


def _result(outcome: Outcome) -> Result:
    return DONE if outcome.applied else (AuditOutcome.SKIPPED, f"the ledger said {outcome.verdict.value}")
