"""Proving that an adopted worker is idle: its sessions from before the adoption are unknown at first."""

from typing import Any

from hawser.client import KubeClient
from hawser.errors import ObjectChanged
from hawser.resources import PODS
from mooring.engine.audit import DONE, Auditor, Result
from mooring.model import names
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.protection import PROTECTION_ANNOTATIONS, PROTECTION_LABELS
from mooring.model.worker import Worker


async def prove_idle(client: KubeClient, auditor: Auditor, worker: Worker, *, actor: str, reason: str) -> Result:
    """Remove the mark and the protection, if the pod is as it was seen. From then on claims may take the worker."""

    async def write() -> Result:
        annotations: dict[str, Any] = {names.UNPROVEN: None, **dict.fromkeys(PROTECTION_ANNOTATIONS)}
        labels: dict[str, Any] = dict.fromkeys(PROTECTION_LABELS)
        fence = {"uid": worker.uid, "resourceVersion": worker.resource_version}
        patch = {"metadata": {**fence, "labels": labels, "annotations": annotations}}
        try:
            await client.merge_patch(PODS, worker.name, patch, worker.namespace)
        except ObjectChanged as changed:
            return AuditOutcome.SKIPPED, changed.message
        return DONE

    return await auditor.carry_out(
        write,
        actor=actor,
        action="prove-idle",
        subject=Subject("Pod", worker.namespace, worker.name, worker.uid),
        reason=reason,
        evidence={"pool": worker.pool, "node": worker.node},
    )
