"""Carrying out what the claim invariants ask for: an audit row first, then the act, fenced on what was seen."""

from mooring.clock import Clock
from mooring.control.accounts import delete_account
from mooring.control.auditing import DONE, Auditor, Result
from mooring.control.claiming.ending import Ending
from mooring.control.claiming.stamping import Stamper
from mooring.kube.client import KubeClient
from mooring.kube.resources import PODS, SERVICEACCOUNTS
from mooring.ledger.port import Ledger
from mooring.model.audit import AuditOutcome
from mooring.model.claim import Claim, EndCause, Outcome
from mooring.model.worker import Worker
from mooring.planning.claims import Act, Remedy


class Remedies:
    """One method a remedy. Conflict means that it changed: skipped, and decided anew at the next tick."""

    def __init__(
        self, client: KubeClient, ledger: Ledger, stamper: Stamper, ending: Ending, auditor: Auditor, clock: Clock
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._stamper = stamper
        self._ending = ending
        self._auditor = auditor
        self._clock = clock

    async def apply(self, act: Act) -> bool:
        """Audit, act, complete the row; True when the rule is healed."""
        outcome = await self._auditor.carry_out(
            lambda: self._carry_out(act),
            actor=f"invariant/{act.invariant}",
            action=act.remedy.value,
            subject=act.subject,
            reason=act.reason,
            evidence=act.evidence,
        )
        return outcome is AuditOutcome.DONE

    async def _carry_out(self, act: Act) -> Result:
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
                return await self._ending.fail(claim, act.reason)
            case Act(remedy=Remedy.EXPIRE_CLAIM, claim=Claim() as claim):
                return await self._expire(claim, act.reason)
            case _:
                return await self._delete_account(act)

    async def _unstamp(self, worker: Worker) -> Result:
        assert worker.stamp is not None
        gone = await self._stamper.unstamp(worker.namespace, worker.name, worker.uid, worker.stamp.epoch)
        return DONE if gone else (AuditOutcome.SKIPPED, "it carries another stamp by now, or is gone")

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
        return _told(outcome)

    async def _lose_with_worker(self, claim: Claim, cause: EndCause, reason: str) -> Result:
        """The pod is still there: it is let go with the claim, and deleted as one that nobody holds."""
        if claim.retryable:
            return _told(await self._ending.requeue(claim, cause, reason))
        return _told(await self._ending.end(claim.id, claim.epoch, cause, reason))

    async def _expire(self, claim: Claim, reason: str) -> Result:
        outcome = await self._ledger.claims.expire(
            claim.id, claim.epoch, heartbeat_at=claim.heartbeat_at, now=self._clock.now(), reason=reason
        )
        return _told(outcome)

    async def _delete_account(self, act: Act) -> Result:
        subject = act.subject
        found = (await self._client.get(SERVICEACCOUNTS, subject.name, subject.namespace)).metadata
        await self._client.delete(
            SERVICEACCOUNTS, subject.name, subject.namespace, uid=subject.uid, resource_version=found.resource_version
        )
        return DONE


def _told(outcome: Outcome) -> Result:
    return DONE if outcome.applied else (AuditOutcome.SKIPPED, f"the ledger said {outcome.verdict.value}")
