"""Somebody who writes on an object just before Mooring's request for it arrives, or puts another one in its place."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from drydock.faults import resource_of
from hawser.client import KubeClient
from hawser.errors import ObjectNotFound
from hawser.resources import Resource
from hawser.transport import Request, Response, Transport
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

Meddle = Callable[[str], Awaitable[None]]


class MeddlingTransport:
    """Around another transport: calls `meddle` with the name of the object before the first requests of that method."""

    def __init__(self, inner: Transport, method: str, plural: str, meddle: Meddle, times: int) -> None:
        self._inner = inner
        self._method = method
        self._plural = plural
        self._meddle = meddle
        self._times = times
        self.statuses: list[int] = []  # of the requests that were meddled with

    async def send(self, request: Request) -> Response:
        parts = request.path.split("/")
        hit = request.method == self._method and resource_of(request.path) == self._plural
        if not hit or self.done or parts[-2] != self._plural:
            return await self._inner.send(request)
        await self._meddle(parts[-1])
        response = await self._inner.send(request)
        self.statuses.append(response.status)
        return response

    @property
    def done(self) -> bool:
        """Whether requests pass as they are from now on."""
        return len(self.statuses) >= self._times


def touch(client: KubeClient, resource: Resource[Any], touched: list[str]) -> Meddle:
    """Write an annotation: the same object, in another version; `touched` gets its uid."""

    async def meddle(name: str) -> None:
        patch = {"metadata": {"annotations": {"example.com/touched": str(len(touched))}}}
        found = await client.merge_patch(resource, name, patch, NAMESPACE)
        touched.append(found.metadata.uid)

    return meddle


def swap(client: KubeClient, resource: Resource[Any], made: list[str]) -> Meddle:
    """Delete it, and create the like under the same name; `made` gets the uids."""

    async def meddle(name: str) -> None:
        found = await client.get(resource.raw(), name, NAMESPACE)
        await client.delete(resource, name, NAMESPACE, grace_seconds=0, propagation="Background")
        meta = {key: found["metadata"].get(key) for key in ("name", "labels", "annotations", "ownerReferences")}
        kept = {key: value for key, value in found.items() if key not in ("metadata", "status")}
        try:
            await client.get(resource, name, NAMESPACE)
        except ObjectNotFound:
            again = await client.create(resource.raw(), {**kept, "metadata": meta}, NAMESPACE)
            made.append(again["metadata"]["uid"])

    return meddle


def meddle_with(
    world: Harbour, resource: Resource[Any], meddle: Meddle, *, method: str = "DELETE", times: int = 1
) -> MeddlingTransport:
    """Control planes that are started from now on are meddled with."""
    transport = MeddlingTransport(world.sandbox.transport, method, resource.plural, meddle, times)
    world.sandbox = replace(world.sandbox, transport=transport)
    return transport
