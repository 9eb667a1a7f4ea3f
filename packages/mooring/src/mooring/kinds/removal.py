"""Removal of Mooring from a cluster, in an order in which users' work goes on.

1. The replicas stop, so that none of them protects or stamps anything again.
2. The policy of marks ends, if this account is not Mooring's own.
3. Protection is taken off the workers, then the budgets and placeholder pods of pools go, then the stamps.
4. If asked for, the objects of Mooring's kinds go, without what they own, and then the definitions.
5. Mooring's own objects go. Secrets and the namespace stay.

Every step may be repeated: what is gone already is not looked for.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from hawser import views
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import NotServed, ObjectChanged, ObjectNotFound
from hawser.resources import (
    BUDGETS,
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CRDS,
    DEPLOYMENTS,
    PODS,
    PRIORITYCLASSES,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)
from hawser.views.base import Meta
from mooring.kinds import load_crds
from mooring.kinds.manifests import manifests
from mooring.kinds.marks_policy import BINDINGS, POLICIES, policy_name
from mooring.kinds.release import Release
from mooring.kinds.resources import KINDS, is_worker_pool
from mooring.model import names
from mooring.model.errors import Refused, Unavailable
from mooring.planning.removal import MarkedPod, plan_unprotect, plan_unstamp

_OWN = (
    *(POLICIES, BINDINGS, SERVICEACCOUNTS, CLUSTERROLES, CLUSTERROLEBINDINGS, PRIORITYCLASSES),
    *(DEPLOYMENTS, BUDGETS, SERVICES),
)
BY_KIND: dict[str, Resource[Any]] = {resource.kind: resource for resource in _OWN}
_MANAGED_BY = "app.kubernetes.io/managed-by"
_WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.5
_ATTEMPTS = 5

Plan = Callable[[MarkedPod], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class RemovalOptions:
    """What to remove. `keep_objects` leaves Mooring's own objects, as in a Helm hook: Helm deletes them itself."""

    keep_objects: bool = False
    crds: bool = False
    dry_run: bool = False


class Removal:
    """Removes one installation, and reports each act."""

    def __init__(self, client: KubeClient, clock: Clock, release: Release, report: Callable[[str], None]) -> None:
        self._client = client
        self._clock = clock
        self._release = release
        self._report = report

    async def run(self, options: RemovalOptions) -> None:
        """All steps in order. Raises `Refused` for an installation of Helm whose objects are to be removed."""
        act = not options.dry_run
        if not options.keep_objects:
            await self._check_manager()
        await self._stop_replicas(act)
        if not options.keep_objects:
            await self._delete_own(((BINDINGS, policy_name(self._release)),), act)
        await self._patch_workers("protection of", plan_unprotect, act)
        await self._delete_of_pools(BUDGETS, names.POOL, act)
        await self._delete_of_pools(PODS, names.HEADROOM, act)
        await self._patch_workers("stamp of", plan_unstamp, act)
        if options.crds:
            await self._delete_kinds(act)
        if not options.keep_objects:
            await self._delete_own(reversed(list(self._own_objects())), act)

    async def _check_manager(self) -> None:
        name, namespace = self._release.name, self._release.namespace
        try:
            found = await self._client.get(DEPLOYMENTS.raw(), name, namespace)
        except ObjectNotFound:
            return
        if found["metadata"].get("labels", {}).get(_MANAGED_BY) == "Helm":
            raise Refused(
                f"Deployment {namespace}/{name} belongs to a Helm release",
                fix=f"helm uninstall {name} --namespace {namespace}; it runs this command as a hook",
            )

    async def _stop_replicas(self, act: bool) -> None:
        name, namespace = self._release.name, self._release.namespace
        try:
            found = await self._client.get(DEPLOYMENTS.raw(), name, namespace)
        except ObjectNotFound:
            return
        if replicas := found["spec"].get("replicas", 1):
            self._note(act, "stop", f"Deployment {namespace}/{name} ({replicas} replicas)")
            if act:
                await self._client.merge_patch(DEPLOYMENTS, name, {"spec": {"replicas": 0}}, namespace)
        if act:
            selector = ",".join(f"{key}={value}" for key, value in self._release.selector.items())

            async def stopped() -> bool:
                return not (await self._client.list(PODS, namespace, label_selector=selector)).items

            await self._wait(stopped, f"pods of Deployment {namespace}/{name} are still there")

    async def _patch_workers(self, what: str, plan: Plan, act: bool) -> None:
        pods = (await self._client.list(PODS, label_selector=names.POOL)).items
        for pod in pods:
            if _owned_by_pool(pod.metadata) and plan(_marked(pod)) is not None:
                self._note(act, "end", f"{what} Pod {pod.metadata.namespace}/{pod.metadata.name}")
                if act:
                    await self._patch_worker(pod, plan)

    async def _patch_worker(self, pod: views.Pod, plan: Plan) -> None:
        """Kubelets write on pods at any time, so a conflict means another look."""
        for _ in range(_ATTEMPTS):
            patch = plan(_marked(pod))
            if patch is None:
                return
            name, namespace, uid = pod.metadata.name, pod.metadata.namespace, pod.metadata.uid
            try:
                await self._client.merge_patch(PODS, name, patch, namespace)
                return
            except ObjectNotFound:
                return
            except ObjectChanged:
                try:
                    pod = await self._client.get(PODS, name, namespace)
                except ObjectNotFound:
                    return
                if pod.metadata.uid != uid:
                    return  # another pod of that name
        raise Unavailable(f"Pod {pod.metadata.namespace}/{pod.metadata.name} changes all the time", fix="run it again")

    async def _delete_of_pools(self, resource: Resource[Any], label: str, act: bool) -> None:
        """What pools own beside their workers: budgets, and placeholder pods, which nobody else would delete."""
        for found in (await self._client.list(resource, label_selector=label)).items:
            meta = found.metadata
            if _owned_by_pool(meta):
                what = "placeholder Pod" if resource is PODS else resource.kind
                self._note(act, "delete", f"{what} {meta.namespace}/{meta.name}")
                if act:
                    await self._delete(resource, meta.name, meta.namespace, uid=meta.uid)

    async def _delete_kinds(self, act: bool) -> None:
        for resource in reversed(KINDS):
            try:
                found = (await self._client.list(resource.raw())).items
            except NotServed:
                continue
            for body in found:
                meta = body["metadata"]
                self._note(act, "delete", f"{resource.kind} {meta['namespace']}/{meta['name']}, and leave what it owns")
                if act:
                    await self._orphan(resource, meta)
            if act:
                await self._wait(partial(self._is_empty, resource), f"{resource.plural} are still there")
        for crd in load_crds():
            name = crd["metadata"]["name"]
            self._note(act, "delete", f"CustomResourceDefinition {name}")
            if act:
                await self._delete(CRDS, name, None)
                await self._wait(partial(self._is_gone, CRDS, name), f"{name} is still there")

    async def _orphan(self, resource: Resource[Any], meta: dict[str, Any]) -> None:
        """Delete an object without its dependents. No replica is left that would work off its finalizer."""
        kept = [one for one in meta.get("finalizers", ()) if not one.startswith(names.OWN_PREFIX)]
        if len(kept) < len(meta.get("finalizers", ())):
            patch = {"metadata": {"uid": meta["uid"], "finalizers": kept}}
            await self._client.merge_patch(resource, meta["name"], patch, meta["namespace"])
        try:
            await self._client.delete(resource, meta["name"], meta["namespace"], uid=meta["uid"], propagation="Orphan")
        except (ObjectNotFound, ObjectChanged):
            return

    def _own_objects(self) -> Iterable[tuple[Resource[Any], str]]:
        """All but the binding of the policy, which goes before the marks."""
        for body in manifests(self._release, ""):
            if body["kind"] in BY_KIND and body["kind"] != BINDINGS.kind:
                yield BY_KIND[body["kind"]], body["metadata"]["name"]

    async def _delete_own(self, objects: Iterable[tuple[Resource[Any], str]], act: bool) -> None:
        for resource, name in objects:
            namespace = self._release.namespace if resource.namespaced else None
            try:
                found = await self._client.get(resource.raw(), name, namespace)
            except (ObjectNotFound, NotServed):
                continue
            meta = found["metadata"]
            if meta.get("labels", {}).get(_MANAGED_BY) != self._release.managed_by:
                self._report(f"left {resource.kind} {name}: 'mooring install' has not made it")
                continue
            self._note(act, "delete", f"{resource.kind} {name}")
            if act:
                await self._delete(resource, name, namespace, uid=meta["uid"])

    # -- what the steps share

    async def _delete(self, resource: Resource[Any], name: str, namespace: str | None, uid: str = "") -> None:
        try:
            await self._client.delete(resource, name, namespace, uid=uid)
        except (ObjectNotFound, ObjectChanged):
            return

    async def _is_empty(self, resource: Resource[Any]) -> bool:
        return not (await self._client.list(resource.raw())).items

    async def _is_gone(self, resource: Resource[Any], name: str) -> bool:
        try:
            await self._client.get(resource.raw(), name)
        except ObjectNotFound:
            return True
        return False

    async def _wait(self, holds: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        deadline = self._clock.monotonic() + _WAIT_SECONDS
        while not await holds():
            if self._clock.monotonic() > deadline:
                raise Unavailable(f"after {_WAIT_SECONDS:.0f} s {otherwise}", fix="look at them, then run it again")
            await self._clock.sleep(_POLL_SECONDS)

    def _note(self, act: bool, verb: str, what: str) -> None:
        self._report(f"{verb} {what}" if act else f"would {verb} {what}")


def _owned_by_pool(meta: Meta) -> bool:
    return any(is_worker_pool(owner.kind, owner.api_version) for owner in meta.owner_references)


def _marked(pod: views.Pod) -> MarkedPod:
    meta = pod.metadata
    return MarkedPod(meta.namespace, meta.name, meta.uid, meta.resource_version, meta.labels, meta.annotations)
