"""How fast the sandbox API is on this machine: lists, watches, writes. Prints what it measures.

python -m benchmarks.sandbox
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from mooring.clock import Entropy, SystemClock
from mooring.kube.http import HttpTransport
from mooring.kube.resources import NAMESPACES, REPLICASETS
from mooring.kube.resources import PODS as WORKER_PODS
from mooring.kube.transport import Request, Transport
from mooring.sandbox.api.http import serve
from mooring.sandbox.api.server import ADMIN, ApiServer
from mooring.sandbox.cluster import plain_nodes, virtual_sandbox
from mooring.sandbox.virtual import VirtualLoop, run_virtual

PODS = 10_000
NODES = 500
WATCHERS = 10
CHANGES = 5_000
WRITES = 2_000
WORKERS = 500
WORKER_NODES = 50
REPLACED_A_MINUTE = 10
HEADERS = {"authorization": "Bearer token", "user-agent": "benchmark", "accept": "application/json"}
MERGE = {**HEADERS, "content-type": "application/merge-patch+json"}
POD_PATH = "/api/v1/namespaces/default/pods"


def pod(number: int) -> dict[str, Any]:
    """A pod of the size that worker fleets have."""
    environment = [{"name": f"SETTING_{index}", "value": f"value-{index}"} for index in range(8)]
    container = {
        "name": "worker",
        "image": "registry.example/worker:1.2.3",
        "env": environment,
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        "ports": [{"containerPort": 8080}],
    }
    labels = {"mooring.dev/pool": f"pool-{number % 10}", "mooring.dev/worker": f"w{number}"}
    return {
        "metadata": {"name": f"worker-{number:05d}", "labels": labels},
        "spec": {"nodeName": f"node-{number % NODES}", "containers": [container]},
    }


async def call(transport: Transport, method: str, path: str, body: Any = None, **headers: str) -> bytes:
    encoded = msgspec.json.encode(body) if body is not None else None
    path, _, query = path.partition("?")
    pairs = tuple((key, value) for key, _, value in (part.partition("=") for part in query.split("&") if part))
    response = await transport.send(Request(method, path, pairs, headers or HEADERS, encoded, None))
    answer = await response.read()
    assert response.status < 300, answer
    return answer


def report(what: str, count: int, wall: float, busy: float) -> None:
    print(f"{what:<44} {count / wall:8.0f}/s  {busy / count * 1e6:6.0f} us CPU each")


async def timed(work: Callable[[], Awaitable[Any]]) -> tuple[float, float, Any]:
    """Seconds on the clock, seconds of this process's CPU, and the result."""
    began, began_busy = time.perf_counter(), time.process_time()
    result = await work()
    return time.perf_counter() - began, time.process_time() - began_busy, result


async def fill(api: ApiServer) -> None:
    for number in range(NODES):
        await call(api, "POST", "/api/v1/nodes", {"metadata": {"name": f"node-{number}"}})
    wall, busy, _ = await timed(lambda: _create_pods(api))
    report("create pods, in process", PODS, wall, busy)


async def _create_pods(api: ApiServer) -> None:
    for number in range(PODS):
        await call(api, "POST", POD_PATH, pod(number))


async def measure_writes(api: ApiServer) -> None:
    async def label() -> None:
        for number in range(WRITES):
            body = {"metadata": {"labels": {"busy": str(number)}}}
            await call(api, "PATCH", f"{POD_PATH}/worker-{number:05d}", body, **MERGE)

    async def status() -> None:
        for number in range(WRITES):
            body = {"status": {"phase": "Running", "podIP": f"10.0.0.{number % 250}"}}
            await call(api, "PATCH", f"{POD_PATH}/worker-{number:05d}/status", body, **MERGE)

    for name, work in (("patch labels, in process", label), ("patch status, in process", status)):
        wall, busy, _ = await timed(work)
        report(name, WRITES, wall, busy)


async def measure_lists(transport: Transport) -> None:
    for attempt in range(3):
        wall, busy, (pods, nodes) = await timed(lambda: _list_all(transport))
        size = (len(pods) + len(nodes)) / 1e6
        print(
            f"list {PODS} pods and {NODES} nodes over HTTP, run {attempt + 1}: {wall:.3f} s, {busy:.3f} s CPU of server"
            f" and client, {size:.1f} MB"
        )


async def _list_all(transport: Transport) -> tuple[bytes, bytes]:
    return await call(transport, "GET", "/api/v1/pods"), await call(transport, "GET", "/api/v1/nodes")


async def measure_watches(api: ApiServer, transport: Transport) -> None:
    version = api.cluster.store.version

    async def watch() -> int:
        query = (("watch", "1"), ("resourceVersion", str(version)))
        response = await transport.send(Request("GET", "/api/v1/pods", query, HEADERS, None, None))
        seen = 0
        async for chunk in response:
            seen += chunk.count(b'{"type":')
            if seen >= CHANGES:
                await response.close()
                return seen
        return seen

    watchers = [asyncio.create_task(watch()) for _ in range(WATCHERS)]

    async def change() -> None:
        for number in range(CHANGES):
            body = {"metadata": {"labels": {"changed": str(number)}}}
            await call(api, "PATCH", f"{POD_PATH}/worker-{number % PODS:05d}", body, **MERGE)
            if number % 20 == 0:
                await asyncio.sleep(0)
        await asyncio.gather(*watchers)

    await asyncio.sleep(0.2)
    wall, busy, _ = await timed(change)
    report(f"change pods seen by {WATCHERS} watchers over HTTP", CHANGES, wall, busy)


async def live_for_an_hour() -> int:
    """Workers of one ReplicaSet: each minute a tenth is claimed and released, and some are replaced."""
    clock = VirtualLoop.running().clock
    async with virtual_sandbox(clock, Entropy(1), plain_nodes(WORKER_NODES)) as sandbox:
        template = {"metadata": {"labels": {"app": "w"}}, "spec": pod(0)["spec"]}
        del template["spec"]["nodeName"]
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "500m"}}
        spec = {"replicas": WORKERS, "selector": {"matchLabels": {"app": "w"}}, "template": template}
        body = {"metadata": {"name": "w", "namespace": "default"}, "spec": spec}
        await sandbox.client.create(REPLICASETS.raw(), body, "default")
        for minute in range(60):
            await clock.sleep(60)
            workers = (await sandbox.client.list(WORKER_PODS, "default")).items
            names = [worker.metadata.name for worker in workers if worker.metadata.deletion_timestamp is None]
            for name in names[minute % 10 :: 10]:
                for busy in ("true", None):
                    labels = {"metadata": {"labels": {"busy": busy}}}
                    await sandbox.client.merge_patch(WORKER_PODS.raw(), name, labels, "default")
            for name in names[:REPLACED_A_MINUTE]:
                await sandbox.client.delete(WORKER_PODS, name, "default")
        alive = (await sandbox.client.list(WORKER_PODS, "default")).items
        assert sum(worker.status.phase == "Running" for worker in alive) >= WORKERS - REPLACED_A_MINUTE
        newest = await sandbox.client.list(NAMESPACES.raw())
        return int(newest.resource_version)


def measure_virtual_hour() -> None:
    began, began_busy = time.perf_counter(), time.process_time()
    versions = run_virtual(live_for_an_hour, seed=1, start=datetime(2026, 3, 1, tzinfo=UTC))
    wall, busy = time.perf_counter() - began, time.process_time() - began_busy
    print(f"an hour of {WORKERS} workers in virtual time: {wall:.1f} s, {busy:.1f} s CPU, {versions} writes")


async def measure_api() -> None:
    api = ApiServer(SystemClock(), Entropy(), tokens={"token": ADMIN})
    await fill(api)
    await measure_writes(api)
    async with serve(api) as address:
        transport = HttpTransport(address)
        try:
            await measure_lists(transport)
            await measure_watches(api, transport)
        finally:
            await transport.close()
    await api.close()


if __name__ == "__main__":
    measure_virtual_hour()
    asyncio.run(measure_api())
