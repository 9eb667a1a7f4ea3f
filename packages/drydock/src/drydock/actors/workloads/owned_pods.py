"""The pods of a controller: claimed by selector, created from a template, released; each recorded as an event."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from drydock.actors.machinery.events import EventRecorder, Note, Weight
from drydock.actors.machinery.informers import BY_CONTROLLER, ORPHANS, Informers
from drydock.actors.machinery.objects import (
    Object,
    controller_reference,
    controller_uid,
    finalizers_of,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
)
from drydock.actors.machinery.own_writes import OwnWrites
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import ApiError, KubeError, ObjectNotFound
from hawser.fitting.selectors import Matcher
from hawser.resources import PODS, Resource

_PODS = PODS.raw()


@dataclass(frozen=True, slots=True)
class Claims:
    """What a controller does about the pods its selector speaks of."""

    owned: tuple[Object, ...]
    adopt: tuple[Object, ...]
    disown: tuple[Object, ...]


def plan_claims(owner: Object, matches: Matcher, owned: Sequence[Object], orphans: Sequence[Object]) -> Claims:
    """Own pods that still match stay, those that do not are let loose, matching orphans are adopted."""
    if is_terminating(owner):
        return Claims(tuple(pod for pod in owned if matches(labels_of(pod))), (), ())
    return Claims(
        owned=tuple(pod for pod in owned if matches(labels_of(pod))),
        adopt=tuple(pod for pod in orphans if matches(labels_of(pod)) and not is_terminating(pod)),
        disown=tuple(pod for pod in owned if not matches(labels_of(pod))),
    )


class OwnedPods:
    """Pods as one kind of controller deals with them. Own writes count at once, seen or not."""

    def __init__(
        self,
        client: KubeClient,
        informers: Informers,
        recorder: EventRecorder,
        clock: Clock,
        owners: Resource[Object],
        *,
        finalizer: str = "",
    ) -> None:
        self._client = client
        self._pods = informers.pods
        self._recorder = recorder
        self._owners = owners
        self._finalizer = finalizer
        self.writes = OwnWrites(clock)

    def of(self, owner: Object) -> list[Object]:
        """The pods that carry the owner's reference."""
        uid = uid_of(owner)
        return self.writes.over(uid, self._pods.cache.by_index(BY_CONTROLLER, uid))

    async def claim(self, owner: Object, matches: Matcher) -> list[Object]:
        """The owner's pods, after adopting and disowning."""
        owned = self.of(owner)
        known = {uid_of(pod) for pod in owned}  # an adoption may not have reached the cache
        orphans = [pod for pod in self._pods.cache.by_index(ORPHANS, namespace_of(owner)) if uid_of(pod) not in known]
        claims = plan_claims(owner, matches, owned, orphans)
        for pod in claims.disown:
            await self._disown(owner, pod)
        pods = list(claims.owned)
        if claims.adopt and await self._is_alive(owner):
            for pod in claims.adopt:
                pods.append(await self._adopt(owner, pod))
        return pods

    async def create(self, owner: Object, templates: Sequence[Object]) -> list[Object]:
        """Create pods, slowly at first: one, two, four...; raises the first refusal once a batch is done."""
        created: list[Object] = []
        batch = 1
        while len(created) < len(templates):
            part = templates[len(created) : len(created) + batch]
            answers = await _all(lambda template: self._create_one(owner, template), part)
            created += [answer for answer in answers if isinstance(answer, dict)]
            for answer in answers:
                if isinstance(answer, KubeError):
                    if _namespace_is_ending(answer):
                        return created
                    raise answer
            batch *= 2
        return created

    async def delete(self, owner: Object, pods: Sequence[Object]) -> None:
        """Delete pods; raises the first refusal once all were tried."""
        answers = await _all(lambda pod: self._delete_one(owner, pod), pods)
        for answer in answers:
            if isinstance(answer, KubeError):
                raise answer

    async def remove_finalizer(self, owner_uid: str, pod: Object) -> None:
        """Let the pod go as far as this controller is concerned; without an owner nobody needs to remember it."""
        place = f"/metadata/finalizers/{list(finalizers_of(pod)).index(self._finalizer)}"
        operations = [
            {"op": "test", "path": "/metadata/uid", "value": uid_of(pod)},
            {"op": "test", "path": place, "value": self._finalizer},
            {"op": "remove", "path": place},
        ]
        try:
            released = await self._client.json_patch(_PODS, name_of(pod), operations, namespace_of(pod))
        except ObjectNotFound:
            self.writes.gone(owner_uid, uid_of(pod))
            return
        if owner_uid:
            self.writes.wrote(owner_uid, released)

    def tell(self, owner: Object, weight: Weight, reason: str, message: str) -> None:
        """Record an event about the owner."""
        self._recorder.record(Note(owner, self._owners.kind, self._owners.api_version, weight, reason, message))

    async def _create_one(self, owner: Object, template: Object) -> Object:
        metadata = template.get("metadata") or {}
        body: Object = {
            "metadata": {
                "generateName": metadata.get("generateName") or f"{name_of(owner)}-",
                "namespace": namespace_of(owner),
                "ownerReferences": [controller_reference(owner, self._owners.api_version, self._owners.kind)],
            },
            "spec": template["spec"],
        }
        for name in ("labels", "annotations"):
            if metadata.get(name):
                body["metadata"][name] = metadata[name]
        finalizers = [*(metadata.get("finalizers") or ()), *([self._finalizer] if self._finalizer else ())]
        if finalizers:
            body["metadata"]["finalizers"] = finalizers
        try:
            pod = await self._client.create(_PODS, body)
        except KubeError as error:
            if not _namespace_is_ending(error):
                self.tell(owner, "Warning", "FailedCreate", f"Error creating: {error.message}")
            raise
        self.writes.wrote(uid_of(owner), pod)
        self.tell(owner, "Normal", "SuccessfulCreate", f"Created pod: {name_of(pod)}")
        return pod

    async def _delete_one(self, owner: Object, pod: Object) -> Object:
        try:
            await self._client.delete(_PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod))
        except ObjectNotFound:
            self.writes.gone(uid_of(owner), uid_of(pod))
            return pod
        except KubeError as error:
            self.tell(owner, "Warning", "FailedDelete", f"Error deleting: {error.message}")
            raise
        self.writes.deleted(uid_of(owner), pod)
        self.tell(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
        return pod

    async def _is_alive(self, owner: Object) -> bool:
        """A live look before adopting: the cache may not know yet that the owner is going."""
        try:
            fresh = await self._client.get(self._owners, name_of(owner), namespace_of(owner))
        except ObjectNotFound:
            return False
        return uid_of(fresh) == uid_of(owner) and not is_terminating(fresh)

    async def _adopt(self, owner: Object, pod: Object) -> Object:
        reference = controller_reference(owner, self._owners.api_version, self._owners.kind)
        metadata: Object = {"uid": uid_of(pod), "ownerReferences": [*owners_of(pod), reference], **_version(pod)}
        if self._finalizer and self._finalizer not in finalizers_of(pod):
            metadata["finalizers"] = [*finalizers_of(pod), self._finalizer]
        adopted = await self._patch(pod, {"metadata": metadata})
        self.writes.wrote(uid_of(owner), adopted)
        return adopted

    async def _disown(self, owner: Object, pod: Object) -> None:
        if controller_uid(pod) != uid_of(owner):
            return
        left = [one for one in owners_of(pod) if one.get("uid") != uid_of(owner)]
        metadata: Object = {"uid": uid_of(pod), "ownerReferences": left or None, **_version(pod)}
        if self._finalizer in finalizers_of(pod):
            metadata["finalizers"] = [one for one in finalizers_of(pod) if one != self._finalizer] or None
        try:
            await self._patch(pod, {"metadata": metadata})
        except ObjectNotFound:
            self.writes.gone(uid_of(owner), uid_of(pod))

    async def _patch(self, pod: Object, patch: Object) -> Object:
        return await self._client.merge_patch(_PODS, name_of(pod), patch, namespace_of(pod))


def _version(pod: Object) -> Object:
    version = pod["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def _namespace_is_ending(error: KubeError) -> bool:
    return isinstance(error, ApiError) and any(cause.reason == "NamespaceTerminating" for cause in error.causes)


async def _all(act: Callable[[Object], Awaitable[Object]], items: Sequence[Object]) -> Sequence[Object | BaseException]:
    answers = await asyncio.gather(*(act(item) for item in items), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, KubeError):
            raise answer
    return answers
