"""The speed of the embedded Kubernetes: lists, watches and writes of 10,000 pods, and an hour in virtual time.

python -m benchmarks.sandbox [--small]
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from benchmarks.bars import Bar, judge
from drydock import ADMIN, ApiServer, VirtualLoop, plain_nodes, run_virtual, serve, virtual_cluster
from hawser.clock import Entropy, SystemClock
from hawser.http import HttpTransport
from hawser.resources import NAMESPACES, REPLICASETS
from hawser.resources import PODS as WORKER_PODS
from hawser.transport import Request, Transport

NODES = 500
WATCHERS = 10
WORKER_NODES = 50
REPLACED_A_MINUTE = 10
# For each object in the full size, on two cores of 2024.
CREATE_BAR_US, PATCH_BAR_US, LIST_BAR_US, WATCH_BAR_US = 600.0, 400.0, 100.0, 800.0
SPEED_BAR = 60.0  # virtual seconds in a second of CPU, with 500 workers
HEADERS = {"authorization": "Bearer token", "user-agent": "benchmark", "accept": "application/json"}
MERGE = {**HEADERS, "content-type": "application/merge-patch+json"}
POD_PATH = "/api/v1/namespaces/default/pods"


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    pods: int = 10_000
    changes: int = 5_000
    writes: int = 2_000
    workers: int = 500


SMALL = Sizes(pods=1_000, changes=500, writes=500, workers=100)


def pod(number: int) -> dict[str, Any]:
    """A pod as large as those of worker fleets."""
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


def report(what: str, count: int, wall: float, busy: float, bar: float) -> Bar:
    """Print the rate; the bar is about the CPU of each."""
    print(f"{what:<44} {count / wall:8.0f}/s  {busy / count * 1e6:6.0f} us CPU each")
    return Bar(f"CPU-us: {what}", busy / count * 1e6, bar)


async def timed(work: Callable[[], Awaitable[Any]]) -> tuple[float, float, Any]:
    """Seconds of time, seconds of this process's CPU, and the result."""
    began, began_busy = time.perf_counter(), time.process_time()
    result = await work()
    return time.perf_counter() - began, time.process_time() - began_busy, result


async def fill(api: ApiServer, sizes: Sizes) -> Bar:
    """Create nodes and pods."""
    for number in range(NODES):
        await call(api, "POST", "/api/v1/nodes", {"metadata": {"name": f"node-{number}"}})
    wall, busy, _ = await timed(lambda: _create_pods(api, sizes.pods))
    return report("create pods, in process", sizes.pods, wall, busy, CREATE_BAR_US)


async def _create_pods(api: ApiServer, count: int) -> None:
    for number in range(count):
        await call(api, "POST", POD_PATH, pod(number))


async def measure_writes(api: ApiServer, sizes: Sizes) -> list[Bar]:
    """Patches of labels and of status."""

    async def label() -> None:
        for number in range(sizes.writes):
            body = {"metadata": {"labels": {"busy": str(number)}}}
            await call(api, "PATCH", f"{POD_PATH}/worker-{number:05d}", body, **MERGE)

    async def status() -> None:
        for number in range(sizes.writes):
            body = {"status": {"phase": "Running", "podIP": f"10.0.0.{number % 250}"}}
            await call(api, "PATCH", f"{POD_PATH}/worker-{number:05d}/status", body, **MERGE)

    bars = []
    for name, work in (("patch labels, in process", label), ("patch status, in process", status)):
        wall, busy, _ = await timed(work)
        bars.append(report(name, sizes.writes, wall, busy, PATCH_BAR_US))
    return bars


async def measure_lists(transport: Transport, sizes: Sizes) -> Bar:
    """Lists of all pods and nodes; the bar is about the best of three."""
    count, best = sizes.pods + NODES, float("inf")
    for attempt in range(3):
        wall, busy, (pods, nodes) = await timed(lambda: _list_all(transport))
        size = (len(pods) + len(nodes)) / 1e6
        print(
            f"list {sizes.pods} pods and {NODES} nodes over HTTP, run {attempt + 1}: {wall:.3f} s, "
            f"{busy:.3f} s CPU of server and client, {size:.1f} MB"
        )
        best = min(best, busy)
    return Bar("CPU-us: list an object over HTTP", best / count * 1e6, LIST_BAR_US)


async def _list_all(transport: Transport) -> tuple[bytes, bytes]:
    return await call(transport, "GET", "/api/v1/pods"), await call(transport, "GET", "/api/v1/nodes")


async def measure_watches(api: ApiServer, transport: Transport, sizes: Sizes) -> Bar:
    """Changes of pods, until every watcher has seen all of them."""
    version = api.cluster.store.version

    async def watch() -> int:
        query = (("watch", "1"), ("resourceVersion", str(version)))
        response = await transport.send(Request("GET", "/api/v1/pods", query, HEADERS, None, None))
        seen = 0
        async for chunk in response:
            seen += chunk.count(b'{"type":')
            if seen >= sizes.changes:
                await response.close()
                return seen
        return seen

    watchers = [asyncio.create_task(watch()) for _ in range(WATCHERS)]

    async def change() -> None:
        for number in range(sizes.changes):
            body = {"metadata": {"labels": {"changed": str(number)}}}
            await call(api, "PATCH", f"{POD_PATH}/worker-{number % sizes.pods:05d}", body, **MERGE)
            if number % 20 == 0:
                await asyncio.sleep(0)
        await asyncio.gather(*watchers)

    await asyncio.sleep(0.2)
    wall, busy, _ = await timed(change)
    return report(f"change, seen by {WATCHERS} watchers over HTTP", sizes.changes, wall, busy, WATCH_BAR_US)


async def live_for_an_hour(count: int) -> int:
    """The workers of one ReplicaSet: each minute a tenth is claimed and released, and some are replaced."""
    clock = VirtualLoop.running().clock
    async with virtual_cluster(clock, Entropy(1), plain_nodes(WORKER_NODES)) as sandbox:
        template = {"metadata": {"labels": {"app": "w"}}, "spec": pod(0)["spec"]}
        del template["spec"]["nodeName"]
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "500m"}}
        spec = {"replicas": count, "selector": {"matchLabels": {"app": "w"}}, "template": template}
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
        assert sum(worker.status.phase == "Running" for worker in alive) >= count - REPLACED_A_MINUTE
        newest = await sandbox.client.list(NAMESPACES.raw())
        return int(newest.resource_version)


def measure_virtual_hour(sizes: Sizes) -> Bar:
    """An hour of workers in virtual time; the bar is about CPU."""
    began, began_busy = time.perf_counter(), time.process_time()
    versions = run_virtual(lambda: live_for_an_hour(sizes.workers), seed=1, start=datetime(2026, 3, 1, tzinfo=UTC))
    wall, busy = time.perf_counter() - began, time.process_time() - began_busy
    print(f"an hour of {sizes.workers} workers in virtual time: {wall:.1f} s, {busy:.1f} s CPU, {versions} writes")
    return Bar(f"virtual seconds in a CPU second, {sizes.workers} workers", 3600 / busy, SPEED_BAR, at_least=True)


async def measure_api(sizes: Sizes) -> list[Bar]:
    """Writes in process, lists and watches over HTTP."""
    api = ApiServer(SystemClock(), Entropy(), tokens={"token": ADMIN})
    bars = [await fill(api, sizes), *await measure_writes(api, sizes)]
    async with serve(api) as address:
        transport = HttpTransport(address)
        try:
            bars.append(await measure_lists(transport, sizes))
            bars.append(await measure_watches(api, transport, sizes))
        finally:
            await transport.close()
    await api.close()
    return bars


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    sizes = SMALL if parser.parse_args().small else Sizes()
    return judge([measure_virtual_hour(sizes), *asyncio.run(measure_api(sizes))])


if __name__ == "__main__":
    sys.exit(main())
