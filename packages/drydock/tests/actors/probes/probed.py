"""What every probe is given, and how it tells what it saw."""

import re
from collections.abc import Callable, Coroutine
from typing import Any

from drydock.actors.kubelet.fleet import Fleet
from drydock.actors.kubelet.machine import NodeTemplate
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.resources import EVENTS, PODS, Resource

Object = dict[str, Any]
Facts = Any
Probe = Callable[["Probed"], Coroutine[Any, Any, Facts]]


class Probed:
    """A namespace of some cluster, and the machines of that cluster."""

    def __init__(self, client: KubeClient, clock: Clock, namespace: str, fleet: Fleet) -> None:
        self.client = client
        self.clock = clock
        self.namespace = namespace
        self.fleet = fleet

    async def own_node(self, name: str, cpu: str = "4") -> Object:
        """A node for this probe alone; returns what a pod's spec needs to get there."""
        key = f"probe-{name}"
        capacity = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
        taint = {"key": key, "effect": "NoSchedule"}
        await self.fleet.add_node(name, NodeTemplate(labels={key: "yes"}, taints=(taint,), capacity=capacity))
        tolerations = [{"key": key, "operator": "Exists"}]
        return {"nodeSelector": {key: "yes"}, "tolerations": tolerations}

    async def until_running(self, *names: str) -> None:
        async def running() -> bool:
            pods = [await self.get(PODS, name) for name in names]
            return all(one["status"].get("phase") == "Running" for one in pods)

        await self.until(running)

    async def create(self, resource: Resource[Any], body: Object) -> Object:
        return await self.client.create(resource.raw(), body, self.namespace)

    async def get(self, resource: Resource[Any], name: str) -> Object:
        return await self.client.get(resource.raw(), name, self.namespace)

    async def patch(self, resource: Resource[Any], name: str, patch: Object) -> Object:
        return await self.client.merge_patch(resource.raw(), name, patch, self.namespace)

    async def items(self, resource: Resource[Any], labels: str = "") -> list[Object]:
        return (await self.client.list(resource.raw(), self.namespace, label_selector=labels)).items

    async def until(self, check: Callable[[], Coroutine[Any, Any, Any]], within: float = 60.0) -> None:
        begin = self.clock.monotonic()
        while not await check():
            assert self.clock.monotonic() - begin < within, f"not within {within} s"
            await self.clock.sleep(0.25)

    async def until_condition(self, resource: Resource[Any], name: str, kind: str, within: float = 60.0) -> Object:
        async def reached() -> bool:
            conditions = (await self.get(resource, name))["status"].get("conditions") or ()
            return any(one["type"] == kind and one["status"] == "True" for one in conditions)

        await self.until(reached, within)
        return await self.get(resource, name)

    async def until_observed(self, resource: Resource[Any], name: str) -> Object:
        """The object after its controller has seen the last change of its spec, and had a moment to act on it."""

        async def observed() -> bool:
            found = await self.get(resource, name)
            return bool(found["status"].get("observedGeneration") == found["metadata"]["generation"])

        await self.until(observed)
        await self.clock.sleep(2)
        return await self.get(resource, name)

    async def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of what controllers said about an object; how often is a matter of timing."""
        await self.clock.sleep(1.5)
        found = [event for event in await self.items(EVENTS) if event["involvedObject"]["name"] == name]
        return sorted({(event["type"], event["reason"], plain(event["message"])) for event in found})


_HASH = re.compile(r"\b(web|j|strict|p)-[a-z0-9]{5,10}(-[a-z0-9]{5})?\b")
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")


def plain(value: Any) -> Any:
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, str):
        return "<time>" if _STAMP.match(value) else _HASH.sub(r"\1-<hash>", value)
    return value


def conditions(item: Object) -> Facts:
    found = item["status"].get("conditions") or ()
    return [plain({key: one[key] for key in ("type", "status", "reason", "message") if key in one}) for one in found]


def told(item: Object, kind: str) -> Facts:
    return [one for one in conditions(item) if one["type"] == kind]
