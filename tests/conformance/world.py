"""Two clusters, one of them real, and the hands with which probes touch either."""

import asyncio
import contextlib
import json
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from mooring.clock import Entropy, SystemClock
from mooring.kube.client import KubeClient
from mooring.kube.connection import Target, connect
from mooring.kube.crds.installing import install_crds
from mooring.kube.credentials import Credential, FixedCredential, bearer
from mooring.kube.errors import KubeError, ObjectNotFound
from mooring.kube.kubeconfig import load_kubeconfig
from mooring.kube.resources import CONFIGMAPS, EVENTS, NAMESPACES, PODS, SERVICEACCOUNTS, Resource
from mooring.kube.transport import Request, Transport
from mooring.sandbox.actors.fleet import Fleet
from mooring.sandbox.actors.kubelet.machine import NodeTemplate
from mooring.sandbox.cluster import LocalOptions, Sandbox, kubernetes_nodes, local_sandbox
from mooring.sandbox.kubernetes.launcher import ControlPlane

T = TypeVar("T")
Body = dict[str, Any]

GPU_TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
NODES = {
    "plain-1": NodeTemplate(labels={"disk": "ssd"}),
    "plain-2": NodeTemplate(labels={"disk": "hdd"}),
    "gpu-1": NodeTemplate(labels={"disk": "nvme", "accelerator": "a100"}, taints=(GPU_TAINT,)),
}


@contextlib.asynccontextmanager
async def open_cluster(kind: str) -> AsyncIterator[Sandbox]:
    """The sandbox over a loopback port, or nodes on a real control plane; pods are simulated on both."""
    clock, entropy = SystemClock(), Entropy()
    options = LocalOptions(nodes=NODES, runtime="simulated")
    with tempfile.TemporaryDirectory(prefix="mooring-conformance-") as folder:
        if kind == "sandbox":
            async with local_sandbox(Path(folder), clock, entropy, options) as cluster:
                yield cluster
            return
        async with (
            ControlPlane.start(None, clock=clock, entropy=entropy) as plane,
            kubernetes_nodes(plane, Path(folder), clock, entropy, options) as cluster,
        ):
            yield cluster


class HostedCluster:
    """A cluster that lives in a thread of its own for a whole test session."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._cluster: Sandbox | None = None
        self._thread = threading.Thread(target=self._main, name=f"conformance {kind}")
        self._numbers = count(1)

    def start(self) -> "HostedCluster":
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def run(self, probe: Callable[["Probe"], Coroutine[Any, Any, T]]) -> T:
        """Run one probe in a namespace of its own."""
        return asyncio.run_coroutine_threadsafe(self._run(probe), self._loop).result(timeout=120)

    async def _run(self, probe: Callable[["Probe"], Coroutine[Any, Any, T]]) -> T:
        assert self._cluster is not None
        cluster, name = self._cluster, f"probe-{next(self._numbers)}"
        assert cluster.kubeconfig is not None
        hands = Probe(self.kind, cluster.client, cluster.transport, cluster.fleet, cluster.kubeconfig, name)
        await hands.make_namespace()
        return await probe(hands)

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        except BaseException as error:  # noqa: BLE001 - told to whoever started the cluster
            self._failure = error
        finally:
            self._ready.set()
            self._loop.close()

    async def _live(self) -> None:
        async with open_cluster(self.kind) as cluster:
            await install_crds(cluster.client, SystemClock())
            self._cluster = cluster
            self._ready.set()
            await self._stop.wait()


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
            return await self.exists(SERVICEACCOUNTS, "default") and (
                self.kind == "sandbox" or await self.exists(CONFIGMAPS, "kube-root-ca.crt")
            )

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

    async def refusal(self, attempt: Awaitable[Any]) -> KubeError:
        """The error that an attempt must end with."""
        try:
            await attempt
        except KubeError as error:
            return error
        raise AssertionError(f"was not refused on {self.kind}")

    async def code(self, attempt: Awaitable[Any]) -> int:
        """The HTTP status that an attempt must be refused with."""
        error = await self.refusal(attempt)
        return int(error.status.code)  # type: ignore[attr-defined]
