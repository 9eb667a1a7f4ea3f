"""EndpointSlices: for each Service the addresses and ports of the pods it selects, and how they are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drydock.actors.machinery.informers import BY_CONTROLLER, BY_NAMESPACE, Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import (
    Key,
    Object,
    controller_reference,
    is_terminating,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    spec_of,
    status_of,
    uid_of,
)
from drydock.actors.machinery.own_writes import OwnWrites
from drydock.actors.machinery.pods import is_finished, is_ready, node_name_of
from drydock.actors.machinery.selection import Selection
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import ObjectNotFound
from hawser.fitting.selectors import compile_map
from hawser.resources import ENDPOINTSLICES

_CONTROLLER = "endpointslice-controller.k8s.io"
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_SERVICE_NAME = "kubernetes.io/service-name"
_HEADLESS = "service.kubernetes.io/headless"
_ZONE = "topology.kubernetes.io/zone"
_MOST_ENDPOINTS = 100
_SLICES = ENDPOINTSLICES.raw()


@dataclass(slots=True)
class SlicePlan:
    """One slice as it should be, and the one it replaces."""

    ports: Sequence[Object]
    current: Object | None = None
    endpoints: list[Object] = field(default_factory=list)


def plan_slices(
    service: Object, pods: Iterable[Object], zones: Mapping[str, str], current: Sequence[Object]
) -> list[SlicePlan]:
    """The slices a Service should have: for each mapping of ports, of at most 100 endpoints.

    An endpoint stays in the slice it is in, so that one pod's change rewrites one slice.
    """
    wanted: dict[str, tuple[list[Object], dict[str, Object]]] = {}
    for pod in pods:
        if not is_finished(pod) and status_of(pod).get("podIP"):
            ports = _ports(service, pod)
            wanted.setdefault(repr(ports), (ports, {}))[1][uid_of(pod)] = _endpoint(service, pod, zones)
    plans: list[SlicePlan] = []
    for ports, endpoints in wanted.values():
        kept = [SlicePlan(ports, one) for one in current if (one.get("ports") or []) == ports]
        for plan in kept:
            assert plan.current is not None
            uids = [(one.get("targetRef") or {}).get("uid", "") for one in plan.current.get("endpoints") or ()]
            plan.endpoints = [endpoints.pop(uid) for uid in uids if uid in endpoints]
        plans += _fill(kept, ports, list(endpoints.values()))
    # A Service without endpoints has one empty slice.
    return plans or [SlicePlan((), current[0] if current else None)]


def _fill(kept: list[SlicePlan], ports: Sequence[Object], rest: list[Object]) -> list[SlicePlan]:
    """Put the rest where there is room, then into new slices; slices left empty are given up."""
    for plan in kept:
        room = _MOST_ENDPOINTS - len(plan.endpoints)
        plan.endpoints += rest[:room]
        rest = rest[room:]
    while rest:
        kept.append(SlicePlan(ports, endpoints=rest[:_MOST_ENDPOINTS]))
        rest = rest[_MOST_ENDPOINTS:]
    return [plan for plan in kept if plan.endpoints]


def _endpoint(service: Object, pod: Object, zones: Mapping[str, str]) -> Object:
    serving, terminating = is_ready(pod), is_terminating(pod)
    ready = bool(spec_of(service).get("publishNotReadyAddresses")) or (serving and not terminating)
    endpoint: Object = {
        "addresses": [status_of(pod)["podIP"]],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {"kind": "Pod", "namespace": namespace_of(pod), "name": name_of(pod), "uid": uid_of(pod)},
    }
    node = node_name_of(pod)
    if node:
        endpoint["nodeName"] = node
    if zones.get(node):
        endpoint["zone"] = zones[node]
    if spec_of(pod).get("hostname") and spec_of(pod).get("subdomain") == name_of(service):
        endpoint["hostname"] = spec_of(pod)["hostname"]
    return endpoint


def _ports(service: Object, pod: Object) -> list[Object]:
    ports: list[Object] = []
    for port in spec_of(service).get("ports") or ():
        number = _target_port(port, pod)
        if number is None:
            continue
        found = {"name": port.get("name") or "", "port": number, "protocol": port.get("protocol") or "TCP"}
        if port.get("appProtocol"):
            found["appProtocol"] = port["appProtocol"]
        ports.append(found)
    return ports


def _target_port(port: Object, pod: Object) -> int | None:
    """The number behind a target port; a name is looked up in the pod's containers."""
    target: Any = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    spec = spec_of(pod)
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    for container in (*(spec.get("containers") or ()), *sidecars):
        for offered in container.get("ports") or ():
            protocol = offered.get("protocol") or "TCP"
            if offered.get("name") == target and protocol == (port.get("protocol") or "TCP"):
                return int(offered["containerPort"])
    return None


class EndpointController:
    """Keeps the slices of each Service true to its pods."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock) -> None:
        self._client = client
        self._informers = informers
        self._selection = Selection()
        self._own_slices = OwnWrites(clock)
        self.loop: ReconcileLoop[Key] = ReconcileLoop("endpoints", self._reconcile, clock)
        informers.services.subscribe(self._on_service)
        informers.pods.subscribe(self._on_pod)
        informers.slices.subscribe(self._on_slice)

    def _on_service(self, change: Change[Object]) -> None:
        service = change.latest
        if change.new is None:
            self._selection.drop(key_of(service))
            self._own_slices.forget_owner(uid_of(service))
            return
        pods = self._informers.pods.cache.by_index(BY_NAMESPACE, namespace_of(service))
        self._selection.select(key_of(service), compile_map(spec_of(service).get("selector")), pods)
        self.loop.add(key_of(service))

    def _on_pod(self, change: Change[Object]) -> None:
        if change.new is None:
            assert change.old is not None
            touched = self._selection.remove(key_of(change.old))
        elif change.old is None or labels_of(change.old) != labels_of(change.new):
            touched = self._selection.place(change.new)
        elif _looks_the_same(change.old, change.new):
            return
        else:
            touched = self._selection.selectors_of(key_of(change.new))
        for service in touched:
            self.loop.add(service)

    def _on_slice(self, change: Change[Object]) -> None:
        """Slices are put right again when somebody else changes or deletes them."""
        one = change.latest
        if labels_of(one).get(_MANAGED_BY) == _CONTROLLER:
            if change.new is None:
                for owner in one["metadata"].get("ownerReferences") or ():
                    self._own_slices.gone(owner["uid"], uid_of(one))
            self.loop.add((namespace_of(one), labels_of(one).get(_SERVICE_NAME, "")))

    async def _reconcile(self, key: Key) -> float | None:
        service = self._informers.services.cache.get(*key)
        if service is None or is_terminating(service) or not spec_of(service).get("selector"):
            return None
        if spec_of(service).get("type") == "ExternalName":
            return None
        cached = self._informers.slices.cache.by_index(BY_CONTROLLER, uid_of(service))
        current = [
            one
            for one in self._own_slices.over(uid_of(service), cached)
            if labels_of(one).get(_MANAGED_BY) == _CONTROLLER and not is_terminating(one)
        ]
        plans = plan_slices(service, self._selected(key), self._zones(), current)
        for plan in plans:
            body = _body(service, plan.ports, plan.endpoints)
            if plan.current is None:
                created = await self._client.create(_SLICES, body)
                self._own_slices.wrote(uid_of(service), created)
            elif not _says(plan.current, body):
                await self._replace(service, plan.current, body)
        kept = {uid_of(plan.current) for plan in plans if plan.current is not None}
        for surplus in current:
            if uid_of(surplus) not in kept:
                await self._delete(service, surplus)
        return None

    def _selected(self, service: Key) -> list[Object]:
        found = (self._informers.pods.cache.get(*pod) for pod in self._selection.members(service))
        return [pod for pod in found if pod is not None]

    def _zones(self) -> dict[str, str]:
        nodes = self._informers.nodes.cache.values()
        return {name_of(node): labels_of(node)[_ZONE] for node in nodes if _ZONE in labels_of(node)}

    async def _replace(self, service: Object, current: Object, body: Object) -> None:
        metadata = {**current["metadata"], "labels": body["metadata"]["labels"]}
        written = await self._client.update(_SLICES, {**current, **body, "metadata": metadata})
        self._own_slices.wrote(uid_of(service), written)

    async def _delete(self, service: Object, one: Object) -> None:
        try:
            await self._client.delete(_SLICES, name_of(one), namespace_of(one), uid=uid_of(one))
        except ObjectNotFound:
            self._own_slices.gone(uid_of(service), uid_of(one))
        else:
            self._own_slices.deleted(uid_of(service), one)


def _looks_the_same(old: Object, new: Object) -> bool:
    """Whether nothing changed that an endpoint shows."""
    return (
        status_of(old).get("podIP") == status_of(new).get("podIP")
        and node_name_of(old) == node_name_of(new)
        and (is_ready(old), is_finished(old), is_terminating(old))
        == (is_ready(new), is_finished(new), is_terminating(new))
    )


def _body(service: Object, ports: Sequence[Object], endpoints: Sequence[Object]) -> Object:
    labels = {**labels_of(service), _MANAGED_BY: _CONTROLLER, _SERVICE_NAME: name_of(service)}
    if spec_of(service).get("clusterIP") in (None, "", "None"):
        labels[_HEADLESS] = ""
    return {
        "metadata": {
            "generateName": f"{name_of(service)}-",
            "namespace": namespace_of(service),
            "labels": labels,
            "ownerReferences": [controller_reference(service, "v1", "Service")],
        },
        "addressType": "IPv4",
        "endpoints": list(endpoints),
        "ports": list(ports),
    }


def _says(current: Object, body: Object) -> bool:
    return bool(
        (current.get("endpoints") or []) == body["endpoints"]
        and (current.get("ports") or []) == body["ports"]
        and labels_of(current) == body["metadata"]["labels"]
    )
