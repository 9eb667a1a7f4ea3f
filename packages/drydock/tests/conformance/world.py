"""Two clusters, one of them real, and the hands with which probes touch either."""

import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from drydock.actors.kubelet.fleet import Fleet
from drydock.actors.kubelet.machine import NodeTemplate
from drydock.cluster import Cluster, LocalOptions, kubernetes_nodes, local_cluster
from drydock.hosting import Host, hosted
from drydock.kubernetes.launcher import ControlPlane
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import Target, connect
from hawser.credentials import Credential, FixedCredential, bearer
from hawser.errors import ApiError, ObjectNotFound
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import CONFIGMAPS, EVENTS, NAMESPACES, PODS, SERVICEACCOUNTS, Resource
from hawser.transport import Request, Transport

T = TypeVar("T")
Body = dict[str, Any]

GPU_TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
NODES = {
    "plain-1": NodeTemplate(labels={"disk": "ssd"}),
    "plain-2": NodeTemplate(labels={"disk": "hdd"}),
    "gpu-1": NodeTemplate(labels={"disk": "nvme", "accelerator": "a100"}, taints=(GPU_TAINT,)),
}


@contextlib.asynccontextmanager
async def open_cluster(kind: str) -> AsyncIterator[Cluster]:
    """The embedded cluster over a loopback port, or nodes on a real control plane; pods are simulated on both."""
    clock, entropy = SystemClock(), Entropy()
    options = LocalOptions(nodes=NODES, runtime="simulated")
    with tempfile.TemporaryDirectory(prefix="drydock-conformance-") as folder:
        if kind == "embedded":
            async with local_cluster(Path(folder), clock, entropy, options) as cluster:
                yield cluster
            return
        async with (
            ControlPlane.start(None, clock=clock, entropy=entropy) as plane,
            kubernetes_nodes(plane, Path(folder), clock, entropy, options) as cluster,
        ):
            yield cluster


class HostedCluster:
    """A cluster that lives in a thread of its own for a whole test session."""

    def __init__(self, kind: str, host: Host[Cluster]) -> None:
        self.kind = kind
        self._host = host
        self._numbers = count(1)

    def run(self, probe: Callable[["Probe"], Coroutine[Any, Any, T]]) -> T:
        """Run one probe in a namespace of its own."""
        return self._host.run(self._run(probe), timeout_seconds=120)

    async def _run(self, probe: Callable[["Probe"], Coroutine[Any, Any, T]]) -> T:
        cluster, name = self._host.value, f"probe-{next(self._numbers)}"
        assert cluster.kubeconfig is not None
        hands = Probe(self.kind, cluster.client, cluster.transport, cluster.fleet, cluster.kubeconfig, name)
        await hands.make_namespace()
        return await probe(hands)


@contextlib.contextmanager
def hosted_cluster(kind: str) -> Iterator[HostedCluster]:
    """A cluster of that kind, until the end of the block."""
    with hosted(lambda: open_cluster(kind), f"conformance {kind}") as host:
        yield HostedCluster(kind, host)


@dataclass(slots=True)
class Probe:
    """What a probe may use."""

    kind: str
    client: KubeClient
    transport: Transport
    fleet: Fleet
    kubeconfig: Path
    namespace: str
    clock: SystemClock = field(default_factory=SystemClock)

    async def make_namespace(self) -> None:
        """A namespace in which only the probe moves: what controllers put into every new one is already there."""
        await self.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        )

        async def furnished() -> bool:
            return await self.exists(SERVICEACCOUNTS, "default") and await self.exists(CONFIGMAPS, "kube-root-ca.crt")

        await self.until(furnished)

    async def pod(self, name: str = "p", **changes: Any) -> Body:
        """A pod on no node in particular; `metadata`, `annotations`, `labels` and fields of the spec may be given."""
        metadata = {"name": name, "labels": changes.pop("labels", {}), "annotations": changes.pop("annotations", {})}
        metadata |= changes.pop("metadata", {})
        container = {"name": "main", "image": "app", "command": ["run"], **changes.pop("container", {})}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 1, **changes}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        return await self.client.create(PODS.raw(), body, self.namespace)

    async def make(self, resource: Resource[Any], name: str, **fields: Any) -> Body:
        metadata = {"name": name, **fields.pop("metadata", {})}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}
        return await self.client.create(resource.raw(), body, self.namespace if resource.namespaced else None)

    async def get(self, resource: Resource[Any], name: str = "p") -> Body:
        return await self.client.get(resource.raw(), name, self.namespace if resource.namespaced else None)

    @contextlib.asynccontextmanager
    async def as_bearer(self, token: str) -> AsyncIterator[KubeClient]:
        """A client that shows this token and nothing else."""
        target = load_kubeconfig(self.kubeconfig).target()
        identity = FixedCredential(Credential(bearer(token)))
        connection = await connect(Target(target.server, target.trust, identity), self.clock)
        try:
            yield KubeClient(connection)
        finally:
            await connection.close()

    async def send(self, method: str, path: str, body: Body, content_type: str = "application/json") -> int:
        """A request that the client would not make; answers the HTTP status."""
        headers = {"content-type": content_type, "accept": "application/json"}
        answer = await self.transport.send(Request(method, path, headers=headers, body=json.dumps(body).encode()))
        await answer.read()
        return answer.status

    async def exists(self, resource: Resource[Any], name: str = "p") -> bool:
        try:
            await self.get(resource, name)
        except ObjectNotFound:
            return False
        return True

    async def pods(self, selector: str = "") -> list[Body]:
        return (await self.client.list(PODS.raw(), self.namespace, label_selector=selector)).items

    async def phase(self, name: str = "p") -> str:
        return str((await self.get(PODS, name)).get("status", {}).get("phase"))

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds: float = 30.0) -> None:
        """Wait until it holds; a probe that waits in vain has failed."""
        deadline = self.clock.monotonic() + seconds
        while not await holds():
            if self.clock.monotonic() > deadline:
                raise AssertionError(f"not within {seconds} s on {self.kind}")
            await self.clock.sleep(0.1)

    async def until_running(self, name: str = "p") -> Body:
        async def running() -> bool:
            return await self.phase(name) == "Running"

        await self.until(running)
        return await self.get(PODS, name)

    async def until_gone(self, resource: Resource[Any], name: str = "p", seconds: float = 30.0) -> None:
        async def gone() -> bool:
            return not await self.exists(resource, name)

        await self.until(gone, seconds)

    async def events(self, name: str, reason: str) -> list[str]:
        found = await self.client.list(
            EVENTS.raw(), self.namespace, field_selector=f"involvedObject.name={name},reason={reason}"
        )
        return [str(event.get("message", "")) for event in found.items]

    async def refusal(self, attempt: Awaitable[Any]) -> ApiError:
        """The error that an attempt must end with."""
        try:
            await attempt
        except ApiError as error:
            return error
        raise AssertionError(f"was not refused on {self.kind}")

    async def code(self, attempt: Awaitable[Any]) -> int:
        """The HTTP status that an attempt must be refused with."""
        error = await self.refusal(attempt)
        return int(error.status.code)
