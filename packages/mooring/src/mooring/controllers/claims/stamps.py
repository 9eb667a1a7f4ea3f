"""The stamp on a pod: one patch that carries owner, claim, epoch and protection together, and its fenced removal."""

from datetime import datetime
from enum import Enum
from typing import Any

from hawser.errors import ConnectionFailed, ObjectChanged, ObjectConflict, ObjectNotFound, ServerFailed
from hawser.resources import PODS
from hawser.views import Pod, format_time
from mooring.controllers.claims.ready_index import Place
from mooring.engine.context import Context
from mooring.model import names
from mooring.model.claim import Claim
from mooring.model.protection import PROTECTION_ANNOTATIONS, PROTECTION_LABELS, STAMP_ANNOTATIONS, STAMP_LABELS
from mooring.model.worker import Worker
from mooring.planning.invariants.protection import BUSY_IS_PROTECTED

_LABELS = (*STAMP_LABELS, *PROTECTION_LABELS)
_ANNOTATIONS = (*STAMP_ANNOTATIONS, *PROTECTION_ANNOTATIONS)
_NO_STAMP = {"labels": dict.fromkeys(_LABELS), "annotations": dict.fromkeys(_ANNOTATIONS)}
_ATTEMPTS = 3
_LOOKS = 5
_PAUSE_SECONDS = 0.2


class Stamped(Enum):
    """What the answer of the patch said."""

    GOOD = "good"
    DOOMED = "doomed"  # stamped, but the worker is on its way out: undo
    GONE = "gone"  # there is no such worker any more: nothing to undo
    ANOTHERS = "another's"  # it is kept for another owner: nothing was written


class Stamps:
    """Writes and removes stamps. The stamp brings the worker's protection marks along, unless that is paused."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._nodes = context.nodes
        self._clock = context.clock
        self._ledger = context.ledger
        self._switches = context.switches

    async def stamp(self, claim: Claim, place: Place) -> Stamped:
        """One merge-patch with the pod's uid; its answer is authoritative. Repeating it is harmless."""
        protected = not self._switches.why_paused(BUSY_IS_PROTECTED)
        seal = self._ledger.seal_key.seal(place.worker.uid, claim.id, claim.epoch)
        stamp = {"uid": place.worker.uid, **_stamp_of(claim, seal, self._clock.now(), protected, place.marked)}
        if place.bound:
            return await self._stamp_as_seen(claim, place, stamp)
        patch = {"metadata": stamp}
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

    async def _stamp_as_seen(self, claim: Claim, place: Place, stamp: dict[str, Any]) -> Stamped:
        """The same for a worker that is kept for its owner: only while it is as the watch or a look shows it.

        A replica whose watch lags could otherwise hand the worker of one owner to another.
        """
        worker, version = place.worker, place.worker.resource_version
        for attempt in range(_LOOKS):
            patch = {"metadata": {**stamp, "resourceVersion": version}}
            try:
                pod = await self._client.merge_patch(PODS, worker.name, patch, worker.namespace)
                return Stamped.DOOMED if self._is_doomed(pod) else Stamped.GOOD
            except ObjectChanged:
                return Stamped.GONE
            except ObjectConflict:
                pass
            except (ConnectionFailed, ServerFailed):
                if attempt == _LOOKS - 1:
                    raise
                await self._clock.sleep(_PAUSE_SECONDS * 2**attempt)
            except ObjectNotFound:
                return Stamped.GONE
            try:
                meta = (await self._client.get(PODS, worker.name, worker.namespace)).metadata
            except ObjectNotFound:
                return Stamped.GONE
            if meta.uid != worker.uid:
                return Stamped.GONE
            owners = {meta.labels.get(names.OWNER, ""), meta.annotations.get(names.TENANT, "")}
            if owners - {"", claim.owner}:
                return Stamped.ANOTHERS
            version = meta.resource_version
        return Stamped.DOOMED  # written by others without end; our stamp may be there or not: it is taken back

    async def unstamp_as_seen(self, worker: Worker, tenant: str = "") -> bool:
        """Remove the stamp of a worker that is still as the watch shows it; False when it is not, or is gone.

        `tenant` is the owner of a session that ran there, in pools that mark it.
        """
        fence = {"uid": worker.uid, "resourceVersion": worker.resource_version}
        annotations = {**_NO_STAMP["annotations"], **self._tenant_marks(tenant)}
        body = {"metadata": {**fence, "labels": _NO_STAMP["labels"], "annotations": annotations}}
        try:
            await self._client.merge_patch(PODS, worker.name, body, worker.namespace)
        except (ObjectNotFound, ObjectChanged, ObjectConflict):
            return False
        return True

    async def unstamp(self, namespace: str, name: str, uid: str, epoch: int, tenant: str = "") -> bool:
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
                marks = [
                    {"op": "add", "path": f"/metadata/annotations/{_pointer(key)}", "value": value}
                    for key, value in self._tenant_marks(tenant).items()
                ]
                await self._client.json_patch(PODS, name, [*_removal_of(pod, uid, epoch), *marks], namespace)
            except ObjectNotFound:
                return False
            except (ObjectChanged, ObjectConflict):
                continue  # somebody else wrote in between: look again, the epoch decides
            return True
        return False

    async def pass_on(self, namespace: str, name: str, uid: str, epoch: int, successor: Claim) -> bool:
        """Have the stamp of that epoch, whose session is over, name another session on the same worker."""
        stamped_at = format_time(successor.claimed_at or self._clock.now())
        annotations = {names.CLAIM: successor.id, names.EPOCH: str(successor.epoch), names.STAMPED_AT: stamped_at}
        patch = [
            *_fence(uid, epoch),
            {"op": "add", "path": f"/metadata/labels/{_pointer(names.OWNER)}", "value": successor.owner},
            *(
                {"op": "add", "path": f"/metadata/annotations/{_pointer(key)}", "value": value}
                for key, value in annotations.items()
            ),
        ]
        try:
            await self._client.json_patch(PODS, name, patch, namespace)
        except (ObjectNotFound, ObjectChanged, ObjectConflict):
            return False
        return True

    def _tenant_marks(self, tenant: str) -> dict[str, str]:
        return _mark_tenant(tenant, self._clock.now()) if tenant else {}

    def _is_doomed(self, pod: Pod) -> bool:
        node = self._nodes.by_name.get(pod.spec.node_name)
        return pod.terminating or pod.finished or node is None or not node.ready or bool(node.draining_because)


def _mark_tenant(owner: str, now: datetime) -> dict[str, str]:
    return {names.TENANT: owner, names.TENANT_SINCE: format_time(now)}


def _stamp_of(claim: Claim, seal: str, now: datetime, protected: bool, marked: bool) -> dict[str, Any]:
    return {
        "labels": {names.OWNER: claim.owner, **(PROTECTION_LABELS if protected else {})},
        "annotations": {
            names.CLAIM: claim.id,
            names.EPOCH: str(claim.epoch),
            names.STAMPED_AT: format_time(now),
            names.SEAL: seal,
            **(_mark_tenant(claim.owner, now) if marked else {}),
            **(PROTECTION_ANNOTATIONS if protected else {}),
        },
    }


def _fence(uid: str, epoch: int) -> list[dict[str, Any]]:
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": f"/metadata/annotations/{_pointer(names.EPOCH)}", "value": str(epoch)},
    ]


def _removal_of(pod: Pod, uid: str, epoch: int) -> list[dict[str, Any]]:
    """JSON-patch that takes effect only while the stamp is the one of this epoch."""
    operations = _fence(uid, epoch)
    operations += [_remove("labels", key) for key in _LABELS if key in pod.metadata.labels]
    operations += [_remove("annotations", key) for key in _ANNOTATIONS if key in pod.metadata.annotations]
    return operations


def _remove(section: str, key: str) -> dict[str, Any]:
    return {"op": "remove", "path": f"/metadata/{section}/{_pointer(key)}"}


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
