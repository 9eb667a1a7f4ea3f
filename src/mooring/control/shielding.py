"""The shield on a pod: what tells Karpenter, the autoscaler and the pool's budget to leave a working pod alone."""

from typing import Any, Final

from mooring.kube.client import KubeClient
from mooring.kube.resources import PODS
from mooring.model import names
from mooring.model.worker import Worker

SHIELD_LABELS: Final = {names.BUSY: "true"}
SHIELD_ANNOTATIONS: Final = {names.DO_NOT_DISRUPT: "true", names.SAFE_TO_EVICT: "false"}


class Shields:
    """Puts shields up and takes them down, only on a pod that is as it was seen.

    The resourceVersion is the fence: a claim writes on its pod, so whatever was decided before it is refused with 409.
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def put_up(self, worker: Worker) -> None:
        """All of it at once."""
        await self._write(worker, SHIELD_LABELS, SHIELD_ANNOTATIONS)

    async def take_down(self, worker: Worker) -> None:
        """All of it at once; owner, claim and epoch stay."""
        await self._write(worker, dict.fromkeys(SHIELD_LABELS), dict.fromkeys(SHIELD_ANNOTATIONS))

    async def _write(self, worker: Worker, labels: dict[str, Any], annotations: dict[str, Any]) -> None:
        fence = {"uid": worker.uid, "resourceVersion": worker.resource_version}
        patch = {"metadata": {**fence, "labels": labels, "annotations": annotations}}
        await self._client.merge_patch(PODS, worker.name, patch, worker.namespace)
