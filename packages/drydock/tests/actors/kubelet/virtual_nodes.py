"""Nodes in virtual time: drydock's API and a fleet of simulated pods, without any controllers."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from drydock.actors.kubelet.fleet import Fleet, FleetOptions
from drydock.actors.kubelet.server import KubeletServer
from drydock.api.server import ADMIN, ApiServer
from drydock.faults.plan import Plan, Rule
from drydock.faults.transport import FaultyTransport
from drydock.runtime.script import SCRIPT_ANNOTATION, Script, Scripts, default_script
from drydock.runtime.simulated import SimulatedRuntime
from drydock.virtual.loop import VirtualLoop
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.credentials import AuthenticatedTransport, Credential, Credentials, FixedCredential, bearer
from hawser.errors import ConnectionFailed
from hawser.resources import EVENTS, PODS, SERVICEACCOUNTS
from hawser.transport import Request, Response, Transport

Object = dict[str, Any]
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class CountingTransport:
    """Counts what goes by, by method and plural; while it is broken no patch gets through.

    `meanwhile` happens once, just before the next patch of a pod arrives.
    """

    inner: Transport
    broken: bool = False
    meanwhile: Callable[[], Awaitable[object]] | None = None
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)

    async def send(self, request: Request) -> Response:
        parts = request.path.split("/")
        plural = next((part for part in ("leases", "pods", "nodes", "events") if part in parts), parts[-1])
        self.calls[request.method, plural] += 1
        if self.broken and request.method == "PATCH":
            raise ConnectionFailed("the cable is out")
        if (request.method, plural) == ("PATCH", "pods") and (happens := self.meanwhile):
            self.meanwhile = None
            await happens()
        return await self.inner.send(request)


@dataclass(frozen=True)
class VirtualNodes:
    """One or more nodes, and the clock they live by."""

    clock: Clock
    client: KubeClient
    fleet: Fleet
    transport: CountingTransport

    @property
    def calls(self) -> Counter[tuple[str, str]]:
        return self.transport.calls

    async def create_pod(self, name: str, *runs: Script, node: str = "node-1", **spec: Any) -> Object:
        """A pod on the node that plays these scripts, one a run."""
        annotations = {SCRIPT_ANNOTATION: msgspec.json.encode({"runs": runs}).decode()} if runs else {}
        container = {"name": "app", "image": "app:1", **spec.pop("container", {})}
        body = {
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {"nodeName": node, "containers": [container], **spec},
        }
        return await self.client.create(PODS.raw(), body)

    async def pod(self, name: str) -> Object:
        return await self.client.get(PODS.raw(), name, "default")

    async def status(self, name: str) -> Object:
        status: Object = (await self.pod(name))["status"]
        return status

    async def container(self, name: str) -> Object:
        entry: Object = (await self.status(name))["containerStatuses"][0]
        return entry

    async def events(self, name: str) -> list[tuple[str, str]]:
        listed = await self.client.list(EVENTS.raw(), "default")
        about = [event for event in listed.items if event["involvedObject"]["name"] == name]
        return [(event["reason"], event["message"]) for event in about]


@asynccontextmanager
async def virtual_nodes(
    nodes: int = 1,
    *,
    scripts: Scripts = default_script,
    options: FleetOptions = FleetOptions(),
    faults: Sequence[Rule] = (),
) -> AsyncIterator[VirtualNodes]:
    """A few nodes that run; faults are between them and the API."""
    clock, entropy = VirtualLoop.running().clock, Entropy(1)
    api = ApiServer(clock, entropy, tokens={"admin": ADMIN})
    counting = CountingTransport(FaultyTransport(api, Plan(faults), clock, entropy))
    credentials = Credentials(FixedCredential(Credential(bearer("admin"))), clock)
    client = KubeClient(AuthenticatedTransport(counting, credentials))
    fleet = Fleet(client, SimulatedRuntime(clock, scripts), clock=clock, entropy=entropy, options=options)
    api.introduce_kubelet(KubeletServer(fleet))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(fleet.run())
        await client.create(SERVICEACCOUNTS, {"metadata": {"name": "default", "namespace": "default"}})
        for number in range(1, nodes + 1):
            await fleet.add_node(f"node-{number}")
        yield VirtualNodes(clock, client, fleet, counting)
        task.cancel()
