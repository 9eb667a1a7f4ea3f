"""The end of a claim: first the row, then the worker. What is left undone here is found by the invariants."""

import structlog

from hawser.errors import KubeError, ObjectConflict, ObjectNotFound
from hawser.resources import PODS
from hawser.views import Pod
from mooring.controllers.accounts import delete_account
from mooring.controllers.claims.ready_index import ReadyIndex
from mooring.controllers.claims.stamps import Stamps
from mooring.controllers.fleet import Fleet
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.model import names
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.claim import Claim, ClaimState, EndCause, Outcome
from mooring.model.evidence import clean_line
from mooring.model.seal import parse_epoch
from mooring.planning.invariants.claims import never_given, never_ran

log = structlog.get_logger()

_ATTEMPTS = 5


class ClaimRelease:
    """Releases, failures and losses, and what they mean for the worker."""

    def __init__(self, context: Context, fleet: Fleet, ready: ReadyIndex, stamps: Stamps) -> None:
        self._client = context.client
        self._ledger = context.ledger
        self._auditor = context.auditor
        self._clock = context.clock
        self._fleet = fleet
        self._ready = ready
        self._stamps = stamps

    async def end(self, claim_id: str, epoch: int, cause: EndCause, reason: str) -> Outcome:
        """End the row, fenced on the epoch; then return or delete the worker, which a crash may have left undone."""
        outcome = await self._ledger.claims.end(claim_id, epoch, cause, now=self._clock.now(), reason=reason)
        if outcome.applied and outcome.claim is not None:
            await self.give_back(outcome.claim)
        return outcome

    async def give_back(self, ended: Claim) -> None:
        """Its holder says that its work is over, also one whose claim has expired: return or delete the worker."""
        await self._let_go(ended, keep=self._is_reused(ended), ran=not never_ran(ended, ended.epoch))

    async def revoke(self, claim: Claim, actor: str, reason: str) -> None:
        """An operator takes it away: written down before it is done. Its holder gets the reason and the operator."""
        by = clean_line(actor)
        message = f"{reason} (by {by})" if reason else f"released by {by}"

        async def end() -> Result:
            outcome = await self.end(claim.id, claim.epoch, EndCause.REVOKED, message)
            return DONE if outcome.applied else _refused(outcome)

        await self._auditor.carry_out(
            end,
            actor=actor,
            action="release",
            subject=Subject("Claim", claim.namespace, claim.id, claim.id),
            reason=reason or "released by an operator",
            evidence={
                "owner": claim.owner,
                "pool": f"{claim.namespace}/{claim.pool}",
                "worker": claim.pod_name or "",
                "state": claim.state.value,
                "ageSeconds": round((self._clock.now() - claim.created_at).total_seconds()),
            },
        )

    async def requeue(self, claim: Claim, cause: EndCause, reason: str) -> Outcome:
        """Take the worker away and wait for another one, under a new epoch; then return or delete the worker."""
        outcome = await self._ledger.claims.requeue(
            claim.id, claim.epoch, cause, now=self._clock.now(), reason=reason, wait_until=None
        )
        if outcome.applied:
            await self._let_go(claim, keep=self._is_reused(claim), ran=not never_ran(claim, claim.epoch))
        return outcome

    async def fail(self, claim: Claim, reason: str) -> Result:
        """The work never began: un-stamp the worker at once, then end the row."""
        await self._let_go(claim, keep=True, ran=False)
        outcome = await self._ledger.claims.end(
            claim.id, claim.epoch, EndCause.NOT_STARTED, now=self._clock.now(), reason=reason
        )
        return DONE if outcome.applied else _refused(outcome)

    async def abandon(self, claim: Claim, reason: str) -> Outcome:
        """Nobody took the worker, so nothing ran on it: end the row unless its holder was heard of, then un-stamp."""
        outcome = await self._ledger.claims.expire(
            claim.id,
            claim.epoch,
            EndCause.ABANDONED,
            heartbeat_at=claim.heartbeat_at,
            now=self._clock.now(),
            reason=reason,
        )
        if outcome.applied:
            await self._let_go(claim, keep=True, ran=not never_ran(claim, claim.epoch))
        return outcome

    async def withdraw(self, claim: Claim) -> None:
        """Take back a stamp that was written when the claim was over or elsewhere already: only that one."""
        if claim.pod_uid is None or claim.pod_name is None or await self._is_shared(claim, claim.pod_uid):
            return
        await self._stamps.unstamp(claim.namespace, claim.pod_name, claim.pod_uid, claim.epoch)

    def _is_reused(self, claim: Claim) -> bool:
        pool = self._fleet.pool(f"{claim.namespace}/{claim.pool}")
        return pool is not None and pool.spec.reuse != "Never"

    def _tenant_after(self, claim: Claim, ran: bool) -> str:
        """The owner that its worker remembers; empty if the pool does not ask for it, or nothing ran."""
        pool = self._fleet.pool(f"{claim.namespace}/{claim.pool}")
        return claim.owner if ran and pool is not None and pool.spec.marks_tenants else ""

    def _is_alone(self, claim: Claim) -> bool:
        """Whether no other claim can be on its worker, not even one whose row was lost."""
        pool = self._fleet.pool(f"{claim.namespace}/{claim.pool}")
        return pool is not None and pool.spec.slots == 1

    async def _let_go(self, claim: Claim, *, keep: bool, ran: bool) -> None:
        """The worker's side. A worker that others still use is left alone."""
        if claim.pod_uid is None or claim.pod_name is None or claim.slot is None:
            return
        try:
            tenant = self._tenant_after(claim, ran)
            if keep and await self._return_as_seen(claim, tenant):
                return
            pod = await self._client.get(PODS, claim.pod_name, claim.namespace)
            if pod.metadata.uid == claim.pod_uid:
                await self._settle(claim, pod, keep, tenant)
        except ObjectNotFound:
            pass
        except KubeError as error:
            log.warning("a worker is left to the invariants", worker=claim.pod_name, error=error.message)
        finally:
            self._ready.free(f"{claim.namespace}/{claim.pool}", claim.pod_uid, claim.slot)

    async def _return_as_seen(self, claim: Claim, tenant: str) -> bool:
        """Without a look at the pod, when the watch shows it under this claim; False when it has to be looked at."""
        pool_key = f"{claim.namespace}/{claim.pool}"
        worker, pool = self._fleet.worker(pool_key, claim.pod_uid or ""), self._fleet.pool(pool_key)
        if worker is None or pool is None or worker.stamp is None or worker.stamp.epoch != claim.epoch:
            return False
        # With one slot the stamp that the pod's version is fenced on is all there is; others may share more. That there
        # were more until the pool was edited is known from who else is there.
        several = pool.spec.slots > 1 or self._ready.others(worker.uid, claim.slot)
        if several:
            shared, stamped = await self._leave_to_others(claim, worker.uid, claim.epoch)
            if shared or stamped != claim.epoch:
                return shared
        return await self._stamps.unstamp_as_seen(worker, tenant)

    async def _is_shared(self, claim: Claim, uid: str) -> bool:
        # Pod before claims: a claim that comes in between has a higher epoch, and the fence holds it.
        live = await self._ledger.claims.live_by_pods([uid])
        return any((other.id, other.epoch) != (claim.id, claim.epoch) for other in live)

    async def _leave_to_others(self, claim: Claim, uid: str, stamped: int) -> tuple[bool, int]:
        """Whether others use the worker, and the epoch of its stamp: one that names this session then names theirs."""
        for _ in range(_ATTEMPTS):
            others = [
                other
                for other in await self._ledger.claims.live_by_pods([uid])
                if (other.id, other.epoch) != (claim.id, claim.epoch)
            ]
            if not others or stamped in {other.epoch for other in others}:
                return bool(others), stamped
            successor = max(others, key=lambda other: other.epoch)
            pod_name = claim.pod_name or ""
            if not await self._stamps.pass_on(claim.namespace, pod_name, uid, stamped, successor):
                return True, stamped  # somebody else has written it
            # The successor may have ended before it was named: then nobody else takes this stamp away.
            stamped = successor.epoch
        return True, stamped

    async def _settle(self, claim: Claim, pod: Pod, keep: bool, tenant: str) -> None:
        epoch = parse_epoch(pod.metadata.annotations.get(names.EPOCH, ""))
        if epoch is None:
            return
        shared, stamped = await self._leave_to_others(claim, pod.metadata.uid, epoch)
        if shared:
            return
        if stamped != epoch:
            pod = await self._client.get(PODS, pod.metadata.name, claim.namespace)
        if stamped != claim.epoch and not await self._is_given_back(pod, stamped):
            return
        if keep:
            await self._stamps.unstamp(claim.namespace, pod.metadata.name, pod.metadata.uid, stamped, tenant)
        elif not pod.terminating and (self._ready.armed or self._is_alone(claim)):
            await self._delete(claim, pod)

    async def _is_given_back(self, pod: Pod, stamped: int) -> bool:
        """Whether the session that the stamp names was released by its holder, or never began.

        The work of one that expired may go on. That concerns the invariants, not who ends another claim.
        """
        row = await self._ledger.claims.get(pod.metadata.annotations.get(names.CLAIM, ""))
        return row is not None and (row.state is ClaimState.RELEASED or never_given(row, stamped))

    async def _delete(self, claim: Claim, pod: Pod) -> None:
        """`reuse: Never`: the session is over, and so is its worker. Audited before, with both preconditions."""
        meta = pod.metadata
        await self._auditor.carry_out(
            lambda: self._delete_while_ours(claim, pod),
            actor=f"claim/{claim.id}",
            action="delete",
            subject=Subject("Pod", meta.namespace, meta.name, meta.uid),
            reason="its session is over and the pool does not reuse workers",
            evidence={"proofs": ["holder: the claim has ended", "ledger: no other live claim"], "claim": claim.id},
        )

    async def _delete_while_ours(self, claim: Claim, pod: Pod) -> Result:
        """The guard and the kubelet write the pod too: that changes its version, but not whose it was.

        Its stamp may be that of a session that ended before this one, on another of its slots."""
        message, stamp = "", pod.metadata.annotations.get(names.EPOCH)
        for _ in range(_ATTEMPTS):
            meta = pod.metadata
            try:
                await self._client.delete(
                    PODS, meta.name, meta.namespace, uid=meta.uid, resource_version=meta.resource_version
                )
            except ObjectConflict as conflict:
                message = conflict.message
            else:
                if pod.spec.service_account_name == meta.name:
                    await delete_account(self._client, meta.namespace, meta.name)
                return DONE
            pod = await self._client.get(PODS, meta.name, meta.namespace)
            if because := await self._why_not_ours(claim, pod, stamp):
                return AuditOutcome.SKIPPED, because
        return AuditOutcome.SKIPPED, message

    async def _why_not_ours(self, claim: Claim, pod: Pod, stamp: str | None) -> str:
        if pod.metadata.uid != claim.pod_uid:
            return "another pod has its name now"
        if pod.metadata.annotations.get(names.EPOCH) != stamp:
            return "it has another stamp now"
        return "another claim holds it now" if await self._is_shared(claim, pod.metadata.uid) else ""


def _refused(outcome: Outcome) -> Result:
    return AuditOutcome.SKIPPED, f"the ledger said {outcome.verdict.value}"
