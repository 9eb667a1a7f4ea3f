"""The reflector behind a hostile proxy, on real sockets, while 2,000 objects change 200 times a second.

Runs for about 15 s each; MOORING_CHAOS_SECONDS sets another duration, such as 300 for a long run.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from drydock import ADMIN, ApiServer, ControlPlane, serve
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import Connection, Target
from hawser.credentials import Credential, FixedCredential, bearer
from hawser.reflector import Pace, Reflector, Scope
from hawser.resources import CONFIGMAPS, NAMESPACES
from hawser.tls import Trust
from hawser.views import ConfigMap
from packages.drydock.tests.requirements import require_kubernetes
from packages.hawser.tests.chaos_proxy import FAULTS, ChaosProxy
from packages.hawser.tests.witness import Witness

SECONDS = float(os.environ.get("MOORING_CHAOS_SECONDS", "15"))
OBJECTS = 2000
CHANGES_PER_SECOND = 200
LEAST_CHANGES = 300  # on a machine that is busy with other things
WRITERS = 8
NAMESPACE = "chaos"
TOKEN = "chaos-admin"
# Relists stay an hour apart: the watch alone must get it right.
PACE = Pace(silence_seconds=2, watch_seconds=(5, 10), retry_seconds=(0.1, 1))


@dataclass
class Load:
    """Somebody who changes the objects all the time."""

    client: KubeClient
    entropy: Entropy
    changes: int = 0

    async def fill(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        numbers = iter(range(OBJECTS))

        async def write() -> None:
            for number in numbers:
                await self._create(f"object-{number}")

        async with asyncio.TaskGroup() as group:
            for _ in range(WRITERS):
                group.create_task(write())

    async def run(self, writer: int) -> None:
        """Change the objects that are this writer's own, in step with the clock however long a change takes."""
        clock = SystemClock()
        due = clock.monotonic()
        while True:
            due += WRITERS / CHANGES_PER_SECOND
            await clock.sleep(max(0.0, due - clock.monotonic()))
            name = f"object-{self.entropy.below(OBJECTS // WRITERS) * WRITERS + writer}"
            if self.entropy.below(10) == 0:
                await self.client.delete(CONFIGMAPS, name, NAMESPACE)
                await self._create(name)
                self.changes += 2
            else:
                patch = {"data": {"changed": self.entropy.token(16)}}
                await self.client.merge_patch(CONFIGMAPS, name, patch, NAMESPACE)
                self.changes += 1

    async def _create(self, name: str) -> None:
        body = {"metadata": {"name": name, "namespace": NAMESPACE}, "data": {"text": "x" * 400}}
        await self.client.create(CONFIGMAPS, body)


def connection_to(server: str, trust: Trust = Trust(), token: str = TOKEN) -> Connection:
    return Connection(Target(server, trust, FixedCredential(Credential(bearer(token)))), SystemClock())


@asynccontextmanager
async def connected(server: str, trust: Trust, token: str) -> AsyncIterator[KubeClient]:
    connection = connection_to(server, trust, token)
    try:
        yield KubeClient(connection)
    finally:
        await connection.close()


async def survive(server: str, trust: Trust, tls: ssl.SSLContext | bool, token: str) -> None:
    """The whole test, against any API server."""
    entropy = Entropy(2026)
    proxy = ChaosProxy(server, tls, entropy)
    async with connected(server, trust, token) as direct, proxy.serving() as address:
        load = Load(direct, entropy)
        await load.fill()
        async with connected(address, Trust(), token) as disturbed:
            reflector = Reflector(
                disturbed, CONFIGMAPS, clock=SystemClock(), entropy=Entropy(), scope=Scope(NAMESPACE), pace=PACE
            )
            witness = Witness()
            reflector.subscribe(witness.hear)
            running = asyncio.create_task(reflector.run())
            writing = [asyncio.create_task(load.run(writer)) for writer in range(WRITERS)]
            seconds = await storm(proxy, [running, *writing])
            for task in writing:
                task.cancel()
            await asyncio.wait(writing)
            failures = [task.exception() for task in writing if not task.cancelled()]
            proxy.calm = True
            await agree(direct, reflector)
            running.cancel()
            await asyncio.wait((running,))
    print(f"{load.changes} changes at {load.changes / seconds:.0f}/s; {reflector.health}; {dict(proxy.fired)}")
    assert failures == []
    assert running.cancelled()
    assert reflector.health.subscriber_failures == 0, "an object's version went backwards: see the log"
    assert witness.versions == versions(reflector.cache.values())
    assert load.changes > LEAST_CHANGES
    assert set(proxy.fired) == FAULTS


async def storm(proxy: ChaosProxy, tasks: list[asyncio.Task[None]]) -> float:
    """Until the time is over and every fault has been seen; returns the seconds it took."""
    clock = SystemClock()
    began = clock.monotonic()
    while not any(task.done() for task in tasks):
        await clock.sleep(0.2)
        seconds = clock.monotonic() - began
        if seconds > SECONDS and (set(proxy.fired) == FAULTS or seconds > SECONDS * 5):
            break
    return clock.monotonic() - began


async def agree(direct: KubeClient, reflector: Reflector[ConfigMap]) -> None:
    """The cache becomes equal to a fresh list. A write that the network held back may still arrive: list again."""
    clock = SystemClock()
    deadline = clock.monotonic() + 60
    while True:
        truth = versions((await direct.list(CONFIGMAPS, NAMESPACE)).items)
        held = versions(reflector.cache.values())
        if held == truth or clock.monotonic() > deadline:
            break
        await clock.sleep(0.5)
    assert held == truth


def versions(items: list[ConfigMap] | tuple[ConfigMap, ...]) -> dict[str, str]:
    return {item.metadata.name: item.metadata.resource_version for item in items}


@pytest.mark.realtime
@pytest.mark.slow
async def test_the_cache_survives_a_hostile_network_to_drydock() -> None:
    api = ApiServer(SystemClock(), Entropy(), tokens={TOKEN: ADMIN})
    async with serve(api) as server:
        await survive(server, Trust(), True, TOKEN)
    await api.close()


@pytest.mark.realtime
@pytest.mark.slow
@pytest.mark.kubernetes
async def test_the_cache_survives_a_hostile_network_to_a_real_control_plane() -> None:
    require_kubernetes()
    async with ControlPlane.start(None, clock=SystemClock(), entropy=Entropy()) as plane:
        tls = ssl.create_default_context(cafile=str(plane.authority))
        await survive(plane.url, Trust(authority=plane.authority.read_bytes()), tls, plane.token)
