"""Writing the marks that protect a working pod, and removing them."""

from typing import Any

from hawser.client import KubeClient
from hawser.resources import PODS
from mooring.model.protection import PROTECTION_ANNOTATIONS, PROTECTION_LABELS
from mooring.model.worker import Worker


class ProtectionMarks:
    """Sets and clears the marks, only on a pod that is as it was seen.

    The resourceVersion is the fence: a claim writes on its pod, so whatever was decided before it is refused with 409.
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def set(self, worker: Worker) -> None:
        """All of it at once."""
        await self._write(worker, PROTECTION_LABELS, PROTECTION_ANNOTATIONS)

    async def clear(self, worker: Worker) -> None:
        """All of it at once; owner, claim and epoch stay."""
        await self._write(worker, dict.fromkeys(PROTECTION_LABELS), dict.fromkeys(PROTECTION_ANNOTATIONS))

    async def _write(self, worker: Worker, labels: dict[str, Any], annotations: dict[str, Any]) -> None:
        fence = {"uid": worker.uid, "resourceVersion": worker.resource_version}
        patch = {"metadata": {**fence, "labels": labels, "annotations": annotations}}
        await self._client.merge_patch(PODS, worker.name, patch, worker.namespace)
