"""Retiring a worker by hand: a person who knows that it hangs, or wants another one, has it deleted and replaced."""

from hawser.errors import ObjectConflict, ObjectNotFound
from hawser.resources import PODS
from hawser.views import Pod
from mooring.controllers.accounts import delete_account
from mooring.controllers.claims.desk import ClaimDesk
from mooring.controllers.fleet import Fleet
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.claim import Claim
from mooring.model.errors import Conflict, InvalidInput, NotFound, Unavailable, WorkerClaimed
from mooring.model.evidence import clean_line
from mooring.model.suggestions import suggest
from mooring.model.worker import Worker


class Retirement:
    """Deletes a worker, audited with actor and reason. Refused while a live claim holds it, unless it is revoked."""

    def __init__(self, context: Context, fleet: Fleet, desk: ClaimDesk) -> None:
        self._client = context.client
        self._ledger = context.ledger
        self._auditor = context.auditor
        self._fleet = fleet
        self._desk = desk

    async def retire(self, namespace: str, name: str, *, actor: str, reason: str, force: bool = False) -> Worker:
        """Delete the worker and its ServiceAccount. `force` revokes the claims that hold it before."""
        because = clean_line(reason)
        if not because:
            raise InvalidInput("reason", reason, "why the worker is retired, for the audit trail")
        # Pod before claims, and its version with the delete: a claim that comes in between changes the pod.
        worker, pod = await self._find(namespace, name)
        held = await self._ledger.claims.live_by_pods([worker.uid])
        if held and not force:
            raise _claimed(worker, held[0])
        if worker.unproven_since is not None and not force:
            message = f"worker {namespace}/{name} was adopted, and a session from before may still run on it"
            raise WorkerClaimed(message, fix="wait until the session is over, or retire it with --force")
        for claim in held:
            await self._desk.revoke(claim.id, actor=actor, reason=because)
        if held:  # the end of a claim may have deleted it already, and changes it in any case
            found = await self._look(worker)
            if found is None or found.terminating:
                return worker
            pod = found
        outcome, error = await self._auditor.carry_out(
            lambda: self._delete(worker, pod),
            actor=actor,
            action="retire",
            subject=Subject("Pod", worker.namespace, worker.name, worker.uid),
            reason=because,
            evidence={"pool": worker.pool, "node": worker.node, "force": force, "claims": [one.id for one in held]},
        )
        if outcome is AuditOutcome.SKIPPED:
            raise Conflict(f"worker {namespace}/{name} has changed since it was read: {error}", fix="retire it again")
        if outcome is AuditOutcome.FAILED:
            raise Unavailable(f"worker {namespace}/{name} was not deleted: {error}", fix="try again")
        return worker

    async def _find(self, namespace: str, name: str) -> tuple[Worker, Pod]:
        """Only workers of pools: nothing else is deleted by this way."""
        known = {f"{one.namespace}/{one.name}": one for of in self._fleet.worker_pools.values() for one in of.values()}
        worker = known.get(f"{namespace}/{name}")
        pod = await self._look(worker) if worker is not None else None
        if worker is None or pod is None:
            key = f"{namespace}/{name}"
            raise NotFound(f"there is no worker {key}", fix=suggest(key, known, "workers"))
        return worker, pod

    async def _look(self, worker: Worker) -> Pod | None:
        """Its pod now; None when it is gone, or another pod has its name."""
        try:
            pod = await self._client.get(PODS, worker.name, worker.namespace)
        except ObjectNotFound:
            return None
        return pod if pod.metadata.uid == worker.uid else None

    async def _delete(self, worker: Worker, pod: Pod) -> Result:
        meta = pod.metadata
        if pod.terminating:
            return AuditOutcome.DONE, "it is already being deleted"
        try:
            await self._client.delete(
                PODS, meta.name, meta.namespace, uid=meta.uid, resource_version=meta.resource_version
            )
        except ObjectConflict as conflict:
            return AuditOutcome.SKIPPED, conflict.message
        if pod.spec.service_account_name == worker.name:
            await delete_account(self._client, worker.namespace, worker.name)
        return DONE


def _claimed(worker: Worker, claim: Claim) -> WorkerClaimed:
    return WorkerClaimed(
        f"worker {worker.namespace}/{worker.name} is held by claim {claim.id} of {claim.owner}",
        fix=f"mooring release {claim.id} --reason '...'  # or retire it with --force",
        detail={"claim": claim.id, "owner": claim.owner},
    )
