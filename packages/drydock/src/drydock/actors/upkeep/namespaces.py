"""Namespace deletion: pods first, then everything else, then the finalizer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from drydock.actors.garbage.kinds_known import KnownKinds
from drydock.actors.machinery.informers import Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import (
    Object,
    finalizers_of,
    find_condition,
    is_terminating,
    name_of,
    spec_of,
    status_of,
    uid_of,
)
from drydock.actors.machinery.pods import is_finished
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import NotServed, ObjectConflict, ObjectNotFound
from hawser.resources import NAMESPACES, PODS, Resource
from hawser.views.base import format_time

_FINALIZER = "kubernetes"
_FINALIZERS_ESTIMATE_SECONDS = 15.0
_DELETION_DELAY_SECONDS = 5.0  # time for every API server to refuse what would be created meanwhile
_NAMESPACES = NAMESPACES.raw()
_PODS = PODS.raw()

_FINE: Mapping[str, tuple[str, str]] = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass(slots=True)
class Remains:
    """What is left in a namespace after a round of deleting."""

    counts: dict[str, int] = field(default_factory=dict)  # by `plural.group`
    finalizers: dict[str, int] = field(default_factory=dict)
    wait_seconds: float = 0.0

    def note(self, resource: Resource[Object], items: list[Object]) -> None:
        if not items:
            return
        self.counts[f"{resource.plural}.{resource.group}"] = len(items)
        for item in items:
            for finalizer in finalizers_of(item):
                self.finalizers[finalizer] = self.finalizers.get(finalizer, 0) + 1


def compute_conditions(namespace: Object, remains: Remains, now: datetime) -> list[Object]:
    """The five conditions of a namespace on its way out."""
    told = {kind: ("False", *words) for kind, words in _FINE.items()}
    if remains.counts:
        parts = sorted(f"{kind} has {count} resource instances" for kind, count in remains.counts.items())
        message = f"Some resources are remaining: {', '.join(parts)}"
        told["NamespaceContentRemaining"] = ("True", "SomeResourcesRemain", message)
    if remains.finalizers:
        parts = sorted(f"{name} in {count} resource instances" for name, count in remains.finalizers.items())
        message = f"Some content in the namespace has finalizers remaining: {', '.join(parts)}"
        told["NamespaceFinalizersRemaining"] = ("True", "SomeFinalizersRemain", message)
    current: list[Object] = status_of(namespace).get("conditions") or []
    conditions: list[Object] = []
    for kind, (status, reason, message) in told.items():
        old = find_condition(current, kind)
        new = {"type": kind, "status": status, "reason": reason, "message": message}
        kept = old is not None and all(old.get(name) == value for name, value in new.items())
        stamp = old["lastTransitionTime"] if kept and old is not None else format_time(now)
        conditions.append({**new, "lastTransitionTime": stamp})
    return conditions


class NamespaceController:
    """Empties namespaces that are being deleted."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock) -> None:
        self._client = client
        self._informers = informers
        self._clock = clock
        self._kinds = KnownKinds(informers)
        self.loop: ReconcileLoop[str] = ReconcileLoop("namespaces", self._reconcile, clock, workers=2)
        informers.namespaces.subscribe(self._on_namespace)

    def _on_namespace(self, change: Change[Object]) -> None:
        if change.new is not None and is_terminating(change.new):
            self.loop.add_after(name_of(change.new), _DELETION_DELAY_SECONDS)

    async def _reconcile(self, name: str) -> float | None:
        try:
            namespace = await self._client.get(_NAMESPACES, name)
        except ObjectNotFound:
            return None
        if not is_terminating(namespace) or _FINALIZER not in (spec_of(namespace).get("finalizers") or ()):
            return None
        remains = await self._empty(name)
        namespace = await self._report(namespace, remains)
        if remains.counts:
            return remains.wait_seconds / 2 + 1
        left = [one for one in spec_of(namespace)["finalizers"] if one != _FINALIZER]
        finalized = {**namespace, "spec": {**spec_of(namespace), "finalizers": left}}
        try:
            await self._client.update(_NAMESPACES, finalized, subresource="finalize")
        except ObjectNotFound:
            pass
        return None

    async def _empty(self, name: str) -> Remains:
        remains = Remains()
        pods = await self._delete_all(_PODS, name)
        remains.note(_PODS, pods)
        graces = [spec_of(pod).get("terminationGracePeriodSeconds") or 0 for pod in pods if not is_finished(pod)]
        remains.wait_seconds = max(graces, default=0)
        if pods:
            return remains
        for resource in self._kinds.namespaced():
            if resource.plural != _PODS.plural:
                remains.note(resource, await self._delete_all(resource, name))
        if remains.finalizers:
            remains.wait_seconds = _FINALIZERS_ESTIMATE_SECONDS
        return remains

    async def _delete_all(self, resource: Resource[Object], namespace: str) -> list[Object]:
        """Delete everything of a kind; returns what is still there."""
        try:
            items = (await self._client.list(resource, namespace)).items
        except (ObjectNotFound, NotServed):
            return []  # the kind itself has gone
        if not items:
            return []
        for item in items:
            if not is_terminating(item):
                try:
                    await self._client.delete(
                        resource, name_of(item), namespace, uid=uid_of(item), propagation="Background"
                    )
                except (ObjectNotFound, ObjectConflict):
                    continue
        return (await self._client.list(resource, namespace)).items

    async def _report(self, namespace: Object, remains: Remains) -> Object:
        conditions = compute_conditions(namespace, remains, self._clock.now())
        if conditions == status_of(namespace).get("conditions"):
            return namespace
        status = {**status_of(namespace), "conditions": conditions}
        return await self._client.update(_NAMESPACES, {**namespace, "status": status}, subresource="status")
