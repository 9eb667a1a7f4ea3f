"""Worlds for kubelet tests: nodes that run local processes, on the embedded API and on a real control plane."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drydock.actors.kubelet.fleet import Fleet
from drydock.actors.kubelet.machine import NodeTemplate
from drydock.actors.kubelet.server import KubeletServer
from drydock.api.server import ADMIN, ApiServer
from drydock.cluster import LocalOptions, kubernetes_nodes
from drydock.kubernetes.launcher import ControlPlane
from drydock.processes.supervisor import Supervisor
from drydock.runtime.process import ProcessRuntime
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.credentials import AuthenticatedTransport, Credential, Credentials, FixedCredential, bearer
from hawser.errors import ObjectNotFound
from hawser.resources import EVENTS, NAMESPACES, PODS, SERVICEACCOUNTS

Object = dict[str, Any]
_numbers = itertools.count(1)
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class World:
    """A namespace of a cluster and one node in it."""

    client: KubeClient
    fleet: Fleet
    namespace: str
    node: str

    async def create_pod(self, name: str, container: Object, **spec: Any) -> Object:
        """A pod on our node. `container` may leave out name and image."""
        body = {
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "nodeName": self.node,
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "app", "image": "busybox", **container}],
                **spec,
            },
        }
        return await self.client.create(PODS.raw(), body)

    async def pod(self, name: str) -> Object:
        return await self.client.get(PODS.raw(), name, self.namespace)

    async def until(self, name: str, holds: Callable[[Object], bool]) -> Object:
        """The pod, once it is so."""
        pod: Object = {}
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not holds(pod := await self.pod(name)):
                    await asyncio.sleep(0.03)
        except TimeoutError:
            raise AssertionError(f"not within {PATIENCE_SECONDS} s; last seen {pod.get('status')}") from None
        return pod

    async def until_gone(self, name: str) -> None:
        with contextlib.suppress(ObjectNotFound):
            await self.until(name, lambda _: False)

    async def log(self, name: str, **options: Any) -> str:
        return await self.client.logs(name, self.namespace, **options)

    async def until_log(self, name: str, text: str) -> str:
        """The log, once it holds the text."""
        log = ""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while text not in (log := await self.log(name)):
                    await asyncio.sleep(0.03)
        except TimeoutError:
            raise AssertionError(f"no {text!r} within {PATIENCE_SECONDS} s; the log is {log!r}") from None
        return log

    async def until_event(self, name: str, reason: str, message: str) -> None:
        told: list[tuple[str, str]] = []
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while (reason, message) not in (told := await self.events(name)):
                    await asyncio.sleep(0.03)
        except TimeoutError:
            raise AssertionError(f"only told {told}") from None

    async def events(self, name: str) -> list[tuple[str, str]]:
        listed = await self.client.list(EVENTS.raw(), self.namespace)
        about = [event for event in listed.items if event["involvedObject"]["name"] == name]
        return [(event["reason"], event["message"]) for event in about]


def phase(wanted: str) -> Callable[[Object], bool]:
    return lambda pod: pod.get("status", {}).get("phase") == wanted


def container_state(pod: Object, index: int = 0) -> Object:
    statuses = pod.get("status", {}).get("containerStatuses") or []
    return statuses[index]["state"] if statuses else {}


def waiting(reason: str) -> Callable[[Object], bool]:
    return lambda pod: container_state(pod).get("waiting", {}).get("reason") == reason


def is_ready(pod: Object) -> bool:
    conditions = {entry["type"]: entry["status"] for entry in pod.get("status", {}).get("conditions") or ()}
    return conditions.get("Ready") == "True"


@contextlib.asynccontextmanager
async def embedded_world(folder: Path, *, mounts: bool = True) -> AsyncIterator[World]:
    """Drydock's API in this process, without any controllers; on request on a machine that allows no mounts."""
    clock, entropy = SystemClock(), Entropy()
    api = ApiServer(clock, entropy, tokens={"admin": ADMIN})
    credentials = Credentials(FixedCredential(Credential(bearer("admin"))), clock)
    client = KubeClient(AuthenticatedTransport(api, credentials))
    async with Supervisor(str(folder)) as supervisor:
        supervisor.mounts = supervisor.mounts and mounts
        runtime = ProcessRuntime(folder, supervisor, clock)
        fleet = Fleet(client, runtime, clock=clock, entropy=entropy)
        api.introduce_kubelet(KubeletServer(fleet))
        async with running(fleet):
            await fleet.add_node("node-1", NodeTemplate())
            await client.create(NAMESPACES, {"metadata": {"name": "test"}})
            await client.create(SERVICEACCOUNTS, {"metadata": {"name": "default", "namespace": "test"}})
            yield World(client, fleet, "test", "node-1")
    await api.close()


@contextlib.asynccontextmanager
async def kubernetes_world(plane: ControlPlane, folder: Path) -> AsyncIterator[World]:
    """A namespace and a node of their own on the real control plane."""
    name = f"kubelet-{next(_numbers)}"
    options = LocalOptions(nodes={name: NodeTemplate()})
    async with kubernetes_nodes(plane, folder, SystemClock(), Entropy(), options) as cluster:
        await cluster.client.create(NAMESPACES, {"metadata": {"name": name}})
        world = World(cluster.client, cluster.fleet, name, name)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                with contextlib.suppress(ObjectNotFound):
                    await cluster.client.get(SERVICEACCOUNTS, "default", name)
                    break
                await asyncio.sleep(0.05)
        yield world
        await cluster.fleet.remove_node(name)
        await cluster.client.delete(NAMESPACES, name)


@contextlib.asynccontextmanager
async def running(fleet: Fleet) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(fleet.run())
        try:
            yield
        finally:
            task.cancel()


def shell(script: str, **more: Any) -> dict[str, Any]:
    return {"command": ["sh", "-c", script], **more}
