"""The same probes on drydock's controllers and on the real ones: the facts must be the same.

The real control plane is one of its own, because the scheduler's sentences count every node there is.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from drydock.actors.kubelet.fleet import Fleet
from drydock.actors.machinery.objects import condition_of
from drydock.kubernetes.components import PlaneOptions
from drydock.kubernetes.launcher import ControlPlane
from drydock.runtime.simulated import SimulatedRuntime
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import connect
from hawser.errors import ObjectNotFound
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NAMESPACES, NODES, PODS, SERVICEACCOUNTS
from packages.drydock.tests.actors.cluster import Cluster, cluster
from packages.drydock.tests.actors.probes import PROBES, Facts, Probed
from packages.drydock.tests.actors.scheduler.scheduling_cases import CASES, Case
from packages.drydock.tests.planes import control_plane_in_a_thread
from packages.drydock.tests.requirements import require_kubernetes

Object = dict[str, Any]
NOT_READY = "node.kubernetes.io/not-ready"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    require_kubernetes()
    with control_plane_in_a_thread(PlaneOptions(node_monitor_grace_seconds=25)) as started:
        yield started


@asynccontextmanager
async def client_of(plane: ControlPlane) -> AsyncIterator[KubeClient]:
    connection = await connect(load_kubeconfig(plane.kubeconfig, {}).target(), SystemClock())
    try:
        yield KubeClient(connection)
    finally:
        await connection.close()


# -- the scheduler's sentences


async def sentence(client: KubeClient, clock: Any, case: Case) -> str:
    """What the scheduler says of the pod; everything is gone again afterwards."""
    for node in case.nodes:
        await client.create(NODES.raw(), {"metadata": node["metadata"], "spec": node["spec"]})
        await client.merge_patch(
            NODES.raw(), node["metadata"]["name"], {"status": node["status"]}, subresource="status"
        )
    for node in case.nodes:
        while any(taint["key"] == NOT_READY for taint in (await read(client, node))["spec"].get("taints") or ()):
            await clock.sleep(0.05)
    for one in case.bound:
        await client.create(PODS.raw(), one, "default")
    await clock.sleep(0.4)
    await client.create(PODS.raw(), case.pod, "default")
    try:
        for _ in range(200):
            condition = condition_of(await client.get(PODS.raw(), "p", "default"), "PodScheduled")
            if condition is not None:
                return str(condition.get("message", ""))
            await clock.sleep(0.05)
        return ""
    finally:
        for one in [*case.bound, case.pod]:
            await client.delete(PODS, one["metadata"]["name"], "default", grace_seconds=0)
        for node in case.nodes:
            await client.delete(NODES, node["metadata"]["name"])
        await clock.sleep(0.4)


async def read(client: KubeClient, node: Object) -> Object:
    return await client.get(NODES.raw(), node["metadata"]["name"])


@pytest.mark.realtime
@pytest.mark.kubernetes
async def test_kube_scheduler_says_what_the_table_says(plane: ControlPlane) -> None:
    async def ask() -> dict[str, str]:
        async with client_of(plane) as client:
            await default_account(client)
            return {case.name: await sentence(client, SystemClock(), case) for case in CASES}

    assert await ask() == {case.name: case.message for case in CASES}


async def default_account(client: KubeClient, namespace: str = "default") -> None:
    while True:
        try:
            await client.get(SERVICEACCOUNTS, "default", namespace)
            return
        except ObjectNotFound:
            await SystemClock().sleep(0.1)


async def test_drydocks_scheduler_says_what_the_table_says(world: Cluster) -> None:
    said = {case.name: await sentence(world.client, world.clock, case) for case in CASES}
    assert said == {case.name: case.message for case in CASES}


# -- the controllers' deeds


@pytest.fixture(scope="module")
def real_facts(plane: ControlPlane) -> dict[str, Facts]:
    """All probes at once on the real control plane, with simulated kubelets."""

    async def probe() -> dict[str, Facts]:
        async with client_of(plane) as client:
            clock = SystemClock()
            fleet = Fleet(client, SimulatedRuntime(clock), clock=clock, entropy=Entropy())
            task = asyncio.create_task(fleet.run())
            for name in ("n1", "n2"):
                await fleet.add_node(name)

            async def one(number: int) -> Facts:
                namespace = f"probe-{number}"
                await client.create(NAMESPACES.raw(), {"metadata": {"name": namespace}})
                await default_account(client, namespace)
                return await PROBES[number](Probed(client, clock, namespace, fleet))

            facts = await asyncio.gather(*(one(number) for number in range(len(PROBES))), return_exceptions=True)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return {made.__name__: fact for made, fact in zip(PROBES, facts, strict=True)}

    return asyncio.run(probe())


@pytest.mark.kubernetes
@pytest.mark.slow
@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.__name__)
async def test_drydock_does_what_kubernetes_does(probe: Any, real_facts: dict[str, Facts]) -> None:
    async def tell() -> Facts:
        async with cluster() as world:
            await world.add_nodes("n1", "n2")
            await world.client.create(NAMESPACES.raw(), {"metadata": {"name": "probe-0"}})
            await world.sleep(1)
            return await probe(Probed(world.client, world.clock, "probe-0", world.fleet))

    assert await tell() == real_facts[probe.__name__]
