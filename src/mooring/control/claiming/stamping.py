"""The stamp on a pod: one patch that carries owner, claim, epoch and protection together, and its fenced removal."""

from collections.abc import Callable
from datetime import datetime
from enum import Enum
from typing import Any

from mooring.clock import Clock
from mooring.control.claiming.ready import Place
from mooring.control.fleet import Fleet
from mooring.control.shielding import SHIELD_ANNOTATIONS, SHIELD_LABELS
from mooring.kube.client import KubeClient
from mooring.kube.errors import ConnectionFailed, ObjectChanged, ObjectConflict, ObjectNotFound, ServerFailed
from mooring.kube.resources import PODS
from mooring.kube.views import Pod, format_time
from mooring.model import names
from mooring.model.claim import Claim
from mooring.model.worker import Worker
from mooring.planning.protection import BUSY_IS_PROTECTED

_LABELS = (names.OWNER, *SHIELD_LABELS)
_ANNOTATIONS = (names.CLAIM, names.EPOCH, names.STAMPED_AT, *SHIELD_ANNOTATIONS)
_NO_STAMP = {"labels": dict.fromkeys(_LABELS), "annotations": dict.fromkeys(_ANNOTATIONS)}
_ATTEMPTS = 3
_PAUSE_SECONDS = 0.2


class Stamped(Enum):
    """What the answer of the patch said."""

    GOOD = "good"
    DOOMED = "doomed"  # stamped, but the worker is on its way out: undo
    GONE = "gone"  # there is no such worker any more: nothing to undo


class Stamper:
    """Writes and removes stamps. The stamp brings the worker's shield along, unless that rule is switched off."""

    def __init__(self, client: KubeClient, fleet: Fleet, clock: Clock, is_paused: Callable[[str], str]) -> None:
        self._client = client
        self._fleet = fleet
        self._clock = clock
        self._is_paused = is_paused

    async def stamp(self, claim: Claim, place: Place) -> Stamped:
        """One merge-patch with the pod's uid; its answer is authoritative. Repeating it is harmless."""
        shielded = not self._is_paused(BUSY_IS_PROTECTED)
        patch = {"metadata": {"uid": place.worker.uid, **_stamp_of(claim, self._clock.now(), shielded)}}
        for attempt in range(_ATTEMPTS):
            try:
                pod = await self._client.merge_patch(PODS, place.worker.name, patch, place.worker.namespace)
            except (ObjectNotFound, ObjectChanged, ObjectConflict):
                return Stamped.GONE
            except (ConnectionFailed, ServerFailed):
                if attempt == _ATTEMPTS - 1:
                    raise
                await self._clock.sleep(_PAUSE_SECONDS * 2**attempt)
            else:
                return Stamped.DOOMED if self._is_doomed(pod) else Stamped.GOOD
        raise AssertionError("unreachable")

    async def unstamp_as_seen(self, worker: Worker) -> bool:
        """Remove the stamp of a worker that is still as the watch shows it; False when it is not, or is gone."""
        fence = {"uid": worker.uid, "resourceVersion": worker.resource_version}
        try:
            await self._client.merge_patch(PODS, worker.name, {"metadata": {**fence, **_NO_STAMP}}, worker.namespace)
        except (ObjectNotFound, ObjectChanged, ObjectConflict):
            return False
        return True

    async def unstamp(self, namespace: str, name: str, uid: str, epoch: int) -> bool:
        """Remove the stamp of that epoch; False when the pod is gone or carries another one by now."""
        for _ in range(_ATTEMPTS):
            try:
                pod = await self._client.get(PODS, name, namespace)
            except ObjectNotFound:
                return False
            meta = pod.metadata
            if meta.uid != uid or meta.annotations.get(names.EPOCH) != str(epoch):
                return False
            try:
                await self._client.json_patch(PODS, name, _removal_of(pod, uid, epoch), namespace)
            except ObjectNotFound:
                return False
            except (ObjectChanged, ObjectConflict):
                continue  # somebody else wrote in between: look again, the epoch decides
            return True
        return False

    def _is_doomed(self, pod: Pod) -> bool:
        node = self._fleet.nodes.get(pod.spec.node_name)
        return pod.terminating or pod.finished or node is None or not node.ready or bool(node.draining_because)


def _stamp_of(claim: Claim, now: datetime, shielded: bool) -> dict[str, Any]:
    return {
        "labels": {names.OWNER: claim.owner, **(SHIELD_LABELS if shielded else {})},
        "annotations": {
            names.CLAIM: claim.id,
            names.EPOCH: str(claim.epoch),
            names.STAMPED_AT: format_time(now),
            **(SHIELD_ANNOTATIONS if shielded else {}),
        },
    }


def _removal_of(pod: Pod, uid: str, epoch: int) -> list[dict[str, Any]]:
    """JSON-patch that takes effect only while the stamp is the one of this epoch."""
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": f"/metadata/annotations/{_pointer(names.EPOCH)}", "value": str(epoch)},
    ]
    operations += [_remove("labels", key) for key in _LABELS if key in pod.metadata.labels]
    operations += [_remove("annotations", key) for key in _ANNOTATIONS if key in pod.metadata.annotations]
    return operations


def _remove(section: str, key: str) -> dict[str, Any]:
    return {"op": "remove", "path": f"/metadata/{section}/{_pointer(key)}"}


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
