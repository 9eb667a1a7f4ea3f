"""How fast the sandbox API is on this machine: lists, watches, writes. Prints what it measures.

python -m benchmarks.sandbox
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from mooring.clock import Entropy, SystemClock
from mooring.kube.http import HttpTransport
from mooring.kube.transport import Request, Transport
from mooring.sandbox.api.http import serve
from mooring.sandbox.api.server import ADMIN, ApiServer

PODS = 10_000
NODES = 500
WATCHERS = 10
CHANGES = 5_000
WRITES = 2_000
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


async def timed(work: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = await work()
    return time.perf_counter() - began, result


async def fill(api: ApiServer) -> None:
    for number in range(NODES):
        await call(api, "POST", "/api/v1/nodes", {"metadata": {"name": f"node-{number}"}})
    seconds, _ = await timed(lambda: _create_pods(api))
    print(f"create in process      {PODS / seconds:8.0f} pods/s   {seconds / PODS * 1e6:6.0f} us each")


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

    for name, work in (("label patch", label), ("status patch", status)):
        seconds, _ = await timed(work)
        print(f"{name:<14} in proc. {WRITES / seconds:8.0f} writes/s {seconds / WRITES * 1e6:6.0f} us each")


async def measure_lists(transport: Transport) -> None:
    for attempt in range(3):
        seconds, (pods, nodes) = await timed(lambda: _list_all(transport))
        size = (len(pods) + len(nodes)) / 1e6
        print(f"list {PODS} pods + {NODES} nodes over HTTP, run {attempt + 1}: {seconds:.3f} s, {size:.1f} MB")


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
    began = time.process_time()
    seconds, _ = await timed(change)
    busy = time.process_time() - began
    print(
        f"{CHANGES} changes seen by {WATCHERS} watchers over HTTP: {CHANGES / seconds:.0f} changes/s,"
        f" {busy / CHANGES * 1e6:.0f} us CPU a change for server and watchers together"
    )


async def main() -> None:
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
    asyncio.run(main())
