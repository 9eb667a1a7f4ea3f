"""Adopting running pods into a pool, at a person's request. What another controller manages is never taken."""

from dataclasses import dataclass
from typing import Any

import msgspec

from hawser import views
from hawser.errors import ObjectChanged
from hawser.resources import PODS
from hawser.views import format_time
from mooring.controllers.idleness import prove_idle
from mooring.controllers.pools.informer import PoolInformer
from mooring.controllers.pools.manifests import spec_hash
from mooring.controllers.pools.server_address import ReadServerAddress
from mooring.controllers.pools.translation import pool_from_view, worker_from_pod
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.engine.ownership import owner_reference
from mooring.kinds.resources import WORKERPOOLS
from mooring.model import names
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.errors import Conflict, InvalidInput, NotFound
from mooring.model.evidence import clean_line
from mooring.model.pool import Pool
from mooring.model.protection import PROTECTION_ANNOTATIONS, PROTECTION_LABELS
from mooring.model.selector import parse_selector
from mooring.model.suggestions import suggest
from mooring.planning.pools.adoption import AdoptionStep, FoundPod, PodAction, plan_adoption

MOST_PODS = 1000
_MIRROR = "kubernetes.io/config.mirror"


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """Which pods, and what is known of them. `idle` is the operator's word that none of them runs a session."""

    selector: str
    reason: str
    actor: str
    idle: bool = False
    dry_run: bool = False


class AdoptedPod(msgspec.Struct, frozen=True, rename="camel"):
    """What was done, or would be done, with one pod: adopted, proven-idle, skipped or failed."""

    name: str
    uid: str
    result: str
    why: str
    fix: str = ""


_DONE_AS = {PodAction.ADOPT: "adopted", PodAction.PROVE_IDLE: "proven-idle"}


class PodAdoption:
    """Every adoption has its audit row, and is fenced on the pod as it was listed."""

    def __init__(self, context: Context, informer: PoolInformer, server: ReadServerAddress) -> None:
        self._client = context.client
        self._ledger = context.ledger
        self._auditor = context.auditor
        self._clock = context.clock
        self._informer = informer
        self._server = server

    async def adopt(self, namespace: str, name: str, request: AdoptRequest) -> tuple[AdoptedPod, ...]:
        """Make matching pods of the pool's namespace its workers. Without proof of idleness they count as busy."""
        selector = parse_selector("selector", request.selector)
        if not clean_line(request.reason):
            raise InvalidInput("reason", request.reason, "why the pods are adopted, for the audit trail")
        pool = await self._find(namespace, name)
        pods = (await self._client.list(PODS, namespace, label_selector=selector.text)).items
        if len(pods) > MOST_PODS:
            raise InvalidInput("selector", selector.text, f"one that matches at most {MOST_PODS} pods, not {len(pods)}")
        by_uid = {pod.metadata.uid: pod for pod in pods}
        workers = {worker.uid for worker in self._informer.workers(pool.key)}
        steps = plan_adoption(pool, [_found(pod) for pod in pods], workers, idle=request.idle)
        return tuple([await self._carry_out(pool, by_uid[step.pod.uid], step, request) for step in steps])

    async def _find(self, namespace: str, name: str) -> Pool:
        """By a live look: an owner reference to a pool that is gone would have its pods deleted at once."""
        key = f"{namespace}/{name}"
        if self._informer.pool(key) is None:
            raise NotFound(f"there is no pool {key}", fix=suggest(key, self._informer.pools, "pools"))
        pool = pool_from_view(await self._client.get(WORKERPOOLS, name, namespace))
        if pool.terminating:
            raise Conflict(f"pool {key} is being deleted, and its workers with it", fix="adopt into another pool")
        if pool.problems:
            raise Conflict(f"pool {key} has an invalid spec: {'; '.join(pool.problems)}", fix="correct the spec first")
        return pool

    async def _carry_out(self, pool: Pool, pod: views.Pod, step: AdoptionStep, request: AdoptRequest) -> AdoptedPod:
        name, uid = step.pod.name, step.pod.uid
        if step.action is PodAction.SKIP:
            return AdoptedPod(name, uid, "skipped", step.why, step.fix)
        result = _DONE_AS[step.action]
        if request.dry_run:
            return AdoptedPod(name, uid, result, step.why)
        if step.action is PodAction.PROVE_IDLE:
            worker = worker_from_pod(pod)
            assert worker is not None
            outcome, error = await prove_idle(
                self._client, self._auditor, worker, actor=request.actor, reason=request.reason
            )
        else:
            outcome, error = await self._adopt(pool, pod, request)
        if outcome is AuditOutcome.DONE:
            return AdoptedPod(name, uid, result, error or step.why)
        return AdoptedPod(name, uid, "skipped" if outcome is AuditOutcome.SKIPPED else "failed", error)

    async def _adopt(self, pool: Pool, pod: views.Pod, request: AdoptRequest) -> Result:
        meta = pod.metadata

        async def write() -> Result:
            try:
                after = await self._client.merge_patch(PODS, meta.name, self._patch(pool, pod, request), meta.namespace)
            except ObjectChanged as changed:
                return AuditOutcome.SKIPPED, changed.message
            return (AuditOutcome.DONE, "it is being deleted now") if after.terminating else DONE

        return await self._auditor.carry_out(
            write,
            actor=request.actor,
            action="adopt",
            subject=Subject("Pod", meta.namespace, meta.name, meta.uid),
            reason=request.reason,
            evidence={"pool": pool.name, "poolUID": pool.uid, "selector": request.selector, "idle": request.idle},
        )

    def _patch(self, pool: Pool, pod: views.Pod, request: AdoptRequest) -> dict[str, Any]:
        """Label, owner and marks in one write: a worker whose sessions are unknown is never seen without its mark."""
        meta, now = pod.metadata, format_time(self._clock.now())
        labels: dict[str, str] = {names.POOL: pool.name, names.WORKER: meta.name}
        annotations: dict[str, str] = {
            names.ADOPTED: now,
            names.LEDGER: self._ledger.incarnation.id,
            names.SPEC_HASH: spec_hash(pool, self._server()),
        }
        if not request.idle:
            labels |= PROTECTION_LABELS
            annotations |= {names.UNPROVEN: now, **PROTECTION_ANNOTATIONS}
        owners = [msgspec.to_builtins(owner) for owner in meta.owner_references]
        return {
            "metadata": {
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [*owners, owner_reference("WorkerPool", pool.name, pool.uid)],
            }
        }


def _found(pod: views.Pod) -> FoundPod:
    meta = pod.metadata
    controller, worker = meta.controller, worker_from_pod(pod)
    manager = f"{controller.kind} {controller.name}" if controller is not None else ""
    return FoundPod(
        name=meta.name,
        uid=meta.uid,
        phase=pod.status.phase,
        terminating=pod.terminating,
        manager="the kubelet" if _MIRROR in meta.annotations else manager,
        pool_uid=worker.pool_uid if worker is not None else "",
        unproven=worker is not None and worker.unproven_since is not None,
    )
