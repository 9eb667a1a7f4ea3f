"""A node's side of the API: its Node object, the lease that says it is alive, and its conditions."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import structlog

from drydock.actors.kubelet.machine import Machine
from drydock.actors.machinery.objects import (
    Object,
    condition_is_true,
    condition_of,
    status_of,
    uid_of,
)
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import AlreadyExists, KubeError, ObjectNotFound
from hawser.resources import LEASES, NODES
from hawser.views.base import format_micro_time, format_time

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
REPORT_SECONDS = 300.0
KUBELET_VERSION = "v1.36.3"
_OS_IMAGE = "drydock"
_HEALTHY = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_log = structlog.get_logger("drydock")


@dataclass(frozen=True, slots=True)
class Pulse:
    """How a node's kubelet shows itself: which start of it this is, where its logs are, how often it renews."""

    boot_id: str
    log_port: int
    renew_seconds: float


class NodeKeeper:
    """Keeps one node registered and alive in the API."""

    def __init__(self, client: KubeClient, clock: Clock, machine: Machine, pulse: Pulse) -> None:
        self._client = client
        self._clock = clock
        self._machine = machine
        self._pulse = pulse
        self._node: Object | None = None
        self._reported_at = 0.0

    @property
    def name(self) -> str:
        return self._machine.name

    async def register(self) -> None:
        """Create the Node, or take over the one that an earlier life of this node left."""
        body = self._node_object()
        try:
            self._node = await self._client.create(NODES.raw(), body)
        except AlreadyExists:
            found = await self._client.get(NODES.raw(), self.name)
            labels = {**body["metadata"]["labels"], **(found["metadata"].get("labels") or {})}
            self._node = await self._client.merge_patch(NODES.raw(), self.name, {"metadata": {"labels": labels}})
        await self._report()
        await self._renew()

    async def run(self) -> None:
        """Renew the lease until cancelled, or until the Node is gone: a kubelet does not register twice."""
        while self._node is not None:
            await self._clock.sleep(self._pulse.renew_seconds)
            await self._machine.awake.wait()
            await self._beat()

    async def _beat(self) -> None:
        if self._node is None:
            return
        try:
            await self._renew()
            if self._clock.monotonic() - self._reported_at >= REPORT_SECONDS:
                await self._report()
        except KubeError as error:
            _log.info("node not renewed", node=self.name, error=str(error))

    async def observe(self, node: Object, *, gone: bool) -> None:
        """What the watch shows. Who calls a living node not ready is contradicted.

        A watch that lags may show the end of an earlier node of this name only now.
        """
        if self._node is None or uid_of(node) != uid_of(self._node):
            return
        if gone:
            self._node = None
            return
        self._node = node
        if self._machine.awake.is_set() and not condition_is_true(node, "Ready"):
            await self.report_now()

    async def report_now(self) -> None:
        """Renew and report at once, as after a pause."""
        if self._node is None:
            return
        try:
            await self._renew()
            await self._report()
        except KubeError as error:
            _log.info("node not reported", node=self.name, error=str(error))

    async def unregister(self) -> None:
        """The machine is gone: remove its Node and its lease."""
        self._node = None
        for resource, namespace in ((NODES, None), (LEASES, LEASE_NAMESPACE)):
            try:
                await self._client.delete(resource.raw(), self.name, namespace)
            except ObjectNotFound:
                continue

    async def _renew(self) -> None:
        renewal: Object = {"holderIdentity": self.name, "renewTime": format_micro_time(self._clock.now())}
        try:
            await self._client.merge_patch(LEASES, self.name, {"spec": renewal}, LEASE_NAMESPACE)
        except ObjectNotFound:
            assert self._node
            owner = {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": uid_of(self._node)}
            metadata = {"name": self.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
            spec = {**renewal, "leaseDurationSeconds": LEASE_SECONDS}
            await self._client.create(LEASES, {"metadata": metadata, "spec": spec}, LEASE_NAMESPACE)

    async def _report(self) -> None:
        assert self._node
        now = self._clock.now()
        others = [entry for entry in status_of(self._node).get("conditions") or () if entry["type"] not in _HEALTHY]
        status = {**self._status_object(), "conditions": [*others, *self._conditions(self._node, now)]}
        self._node = await self._client.merge_patch(NODES.raw(), self.name, {"status": status}, subresource="status")
        self._reported_at = self._clock.monotonic()

    def _conditions(self, node: Object, now: datetime) -> list[Object]:
        conditions = []
        for kind, (status, reason, message) in _HEALTHY.items():
            old = condition_of(node, kind)
            since = old["lastTransitionTime"] if old and old.get("status") == status else format_time(now)
            conditions.append(
                {
                    "type": kind,
                    "status": status,
                    "reason": reason,
                    "message": message,
                    "lastHeartbeatTime": format_time(now),
                    "lastTransitionTime": since,
                }
            )
        return conditions

    def _node_object(self) -> Object:
        template = self._machine.template
        labels = {**_machine_labels(self.name), **template.labels}
        spec: Object = {}
        if template.taints:
            spec["taints"] = [dict(taint) for taint in template.taints]
        if template.provider_id:
            spec["providerID"] = template.provider_id
        metadata = {"name": self.name, "labels": labels, "annotations": dict(template.annotations)}
        return {"metadata": metadata, "spec": spec, "status": self._status_object()}

    def _status_object(self) -> Object:
        capacity = dict(self._machine.template.capacity)
        return {
            "capacity": capacity,
            "allocatable": dict(self._machine.allocatable),
            "addresses": [
                {"type": "InternalIP", "address": self._machine.address},
                {"type": "Hostname", "address": self.name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._pulse.log_port}},
            "nodeInfo": _node_info(self._pulse.boot_id),
        }


def is_ours(node: Object) -> bool:
    """Whether a kubelet of this kind has registered the node."""
    return bool((status_of(node).get("nodeInfo") or {}).get("osImage") == _OS_IMAGE)


def _machine_labels(name: str) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _architecture(),
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": _architecture(),
    }


def _architecture() -> str:
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def _node_info(boot_id: str) -> Mapping[str, str]:
    return {
        "machineID": boot_id.replace("-", ""),
        "systemUUID": boot_id,
        "bootID": boot_id,
        "kernelVersion": platform.release(),
        "osImage": _OS_IMAGE,
        "containerRuntimeVersion": "drydock://0.2.0",
        "kubeletVersion": KUBELET_VERSION,
        "kubeProxyVersion": KUBELET_VERSION,
        "operatingSystem": "linux",
        "architecture": _architecture(),
    }
