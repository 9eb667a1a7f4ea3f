"""A whole cluster in virtual time: drydock's API, all controllers, and kubelets whose containers are scripts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from drydock.actors.controllers import Controllers
from drydock.actors.kubelet.fleet import Fleet
from drydock.actors.kubelet.machine import NodeTemplate
from drydock.actors.machinery.objects import Object, condition_is_true
from drydock.api.server import ADMIN, ApiServer
from drydock.faults import FaultyTransport, Plan
from drydock.runtime.script import SCRIPT_ANNOTATION
from drydock.runtime.simulated import SimulatedRuntime
from drydock.virtual.loop import VirtualLoop
from hawser.client import KubeClient
from hawser.clock import Entropy
from hawser.errors import ObjectNotFound
from hawser.resources import EVENTS, JOBS, NODES, PODS, Resource
from hawser.transport import Request, Response

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class _Administrator:
    """A transport that adds the administrator's token, and counts."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self.counts: dict[str, int] = {}

    async def send(self, request: Request) -> Response:
        headers = {**request.headers, "authorization": "Bearer admin-token"}
        kind = request.path.split("/namespaces/")[-1].split("/")[1:2] or [request.path.rsplit("/", 1)[-1]]
        place = f"{request.method} {kind[0]}"
        self.counts[place] = self.counts.get(place, 0) + 1
        return await self._api.send(replace(request, headers=headers))


class Cluster:
    """What a test talks to: an API, controllers behind a storm, and kubelets, in the tasks of `group`."""

    def __init__(self, seed: int, storm: Plan, group: asyncio.TaskGroup) -> None:
        self.clock = clock = VirtualLoop.running().clock
        administrator = _Administrator(ApiServer(clock, Entropy(seed), tokens={"admin-token": ADMIN}))
        self.counts = administrator.counts
        self.client = KubeClient(administrator)
        self.entropy = Entropy(seed + 1)
        self.fleet = Fleet(self.client, SimulatedRuntime(clock), clock=clock, entropy=Entropy(seed + 2))
        stormy = FaultyTransport(administrator, storm, clock, Entropy(seed + 3))
        self.process = stormy.process  # what the controllers called, and the faults that hit them
        self.controllers = Controllers(KubeClient(stormy), clock, self.entropy)
        self.task: asyncio.Task[None] | None = None
        self.group = group

    async def start_controllers(self) -> None:
        self.task = self.group.create_task(self.controllers.run())
        await self.controllers.wait_synced()

    async def stop_controllers(self) -> None:
        """They die where they stand; none of their listeners may have failed."""
        for shared in self.controllers.informers.shared():
            assert shared.reflector.health.subscriber_failures == 0, shared.resource.plural
        assert self.task is not None
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def restart_controllers(self) -> None:
        await self.stop_controllers()
        self.controllers = Controllers(self.client, self.clock, self.entropy)
        await self.start_controllers()

    async def add_nodes(self, *names: str, template: NodeTemplate = NodeTemplate()) -> None:
        """Add nodes and wait until they take pods."""
        for name in names:
            await self.fleet.add_node(name, template)

        async def open_for_pods() -> bool:
            nodes = [await self.node(name) for name in names]
            taints = [taint for node in nodes for taint in node["spec"].get("taints") or ()]
            return not any(taint["key"] == "node.kubernetes.io/not-ready" for taint in taints)

        await self.until(open_for_pods, every=0.1)

    async def create(self, resource: Resource[Any], body: Object, namespace: str = "default") -> Object:
        return await self.client.create(resource.raw(), body, namespace if resource.namespaced else None)

    async def get(self, resource: Resource[Any], name: str, namespace: str = "default") -> Object:
        return await self.client.get(resource.raw(), name, namespace if resource.namespaced else None)

    async def find(self, resource: Resource[Any], name: str, namespace: str = "default") -> Object | None:
        try:
            return await self.get(resource, name, namespace)
        except ObjectNotFound:
            return None

    async def items(self, resource: Resource[Any], namespace: str = "default", labels: str = "") -> list[Object]:
        place = namespace if resource.namespaced else None
        return (await self.client.list(resource.raw(), place, label_selector=labels)).items

    async def patch(self, resource: Resource[Any], name: str, patch: Object, namespace: str = "default") -> Object:
        place = namespace if resource.namespaced else None
        return await self.client.merge_patch(resource.raw(), name, patch, place)

    async def delete(self, resource: Resource[Any], name: str, namespace: str = "default", **options: Any) -> None:
        await self.client.delete(resource, name, namespace if resource.namespaced else None, **options)

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)

    async def until(
        self, check: Callable[[], Coroutine[Any, Any, bool]], within: float = 120.0, every: float = 0.5
    ) -> float:
        """Wait until the check holds; returns how long it took."""
        begin = self.clock.monotonic()
        while not await check():
            waited = self.clock.monotonic() - begin
            assert waited < within, f"not within {within} s"
            await self.clock.sleep(every)
        return float(self.clock.monotonic() - begin)

    async def until_gone(
        self, resource: Resource[Any], name: str, namespace: str = "default", within: float = 120
    ) -> float:
        async def gone() -> bool:
            return await self.find(resource, name, namespace) is None

        return await self.until(gone, within, every=0.1)

    async def until_job(self, name: str, condition: str = "Complete", within: float = 120.0) -> Object:
        async def reached() -> bool:
            return condition_is_true(await self.get(JOBS, name), condition)

        await self.until(reached, within)
        return await self.get(JOBS, name)

    async def events_about(self, name: str, reason: str = "", namespace: str = "default") -> list[Object]:
        return [
            event
            for event in await self.items(EVENTS, namespace)
            if event["involvedObject"]["name"] == name and reason in ("", event["reason"])
        ]

    async def pods(self, labels: str = "") -> list[Object]:
        return await self.items(PODS, labels=labels)

    async def node(self, name: str) -> Object:
        return await self.get(NODES, name)


@asynccontextmanager
async def cluster(seed: int = 7, storm: Plan = Plan()) -> AsyncIterator[Cluster]:
    """A running cluster without nodes; the storm is between its controllers and its API."""
    async with asyncio.TaskGroup() as group:
        running = Cluster(seed, storm, group)
        kubelets = group.create_task(running.fleet.run())
        await running.start_controllers()
        await running.fleet.wait_synced()
        yield running
        await running.stop_controllers()
        kubelets.cancel()


def script(**what: Any) -> Object:
    """The annotation that makes a simulated container do this."""
    return {SCRIPT_ANNOTATION: msgspec.json.encode({"runs": [what]}).decode()}


def pod(name: str, *, labels: Object | None = None, annotations: Object | None = None, **spec: Any) -> Object:
    return {
        "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
        "spec": {"containers": [{"name": "main", "image": "busybox"}], **spec},
    }


def job(name: str, *, annotations: Object | None = None, restart: str = "Never", **spec: Any) -> Object:
    template = {
        "metadata": {"annotations": annotations or {}},
        "spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": "busybox"}]},
    }
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def deployment(
    name: str, replicas: int, *, annotations: Object | None = None, image: str = "busybox", **spec: Any
) -> Object:
    template = {
        "metadata": {"labels": {"app": name}, "annotations": annotations or {}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    selector = {"matchLabels": {"app": name}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": selector, "template": template, **spec},
    }
