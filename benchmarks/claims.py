"""Claims against a real control plane, in one run: how fast, how late, how many writes, how much CPU.

    python benchmarks/claims.py [--workers 2000] [--seconds 60]

Starts kube-apiserver, controller-manager and scheduler (`make kubernetes`), simulated nodes, a PostgreSQL and one
`mooring serve`, fills a pool with warm workers, and then measures, all over HTTP as clients do:
the raw rate of pod merge-patches with 32 in flight; claims with 1, 10 and 40 clients; claim+release cycles; arrivals at
45/s, open loop; a burst of 300. Prints p50/p90/p99, API writes a claim, CPU-ms a claim by process, and the bars.
"""

import argparse
import asyncio
import contextlib
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from mooring.cli.installing import install_crds
from mooring.clock import Entropy, SystemClock
from mooring.kube.client import KubeClient
from mooring.kube.resources import NAMESPACES, PODS, WORKERPOOLS
from mooring.kube.transport import Request
from mooring.ledger.embedded import EmbeddedServer
from mooring.sandbox.actors.kubelet.machine import NodeTemplate
from mooring.sandbox.cluster import LocalOptions, kubernetes_nodes
from mooring.sandbox.kubernetes.launcher import ControlPlane

NAMESPACE, POOL, TOKEN = "bench", "pool", "bench-token"
PODS_A_NODE = 100
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_PATCHES = re.compile(r'^apiserver_request_total\{[^}]*resource="pods",[^}]*verb="PATCH"[^}]*\} (\d+)', re.MULTILINE)


@dataclass
class Bench:
    """What is measured, and how to reach it."""

    client: KubeClient
    session: aiohttp.ClientSession
    url: str
    pids: dict[str, int]
    held: list[tuple[str, int]] = field(default_factory=list)

    async def claim(self) -> float:
        """One claim; answers its latency in seconds."""
        started = time.perf_counter()
        body = {"owner": "bench", "ttlSeconds": 3600, "wait": 30}
        async with self.session.post(f"{self.url}/v1/pools/{NAMESPACE}/{POOL}/claims", json=body) as answer:
            claim = await answer.json()
            assert answer.status == 201, claim
        self.held.append((claim["id"], claim["epoch"]))
        return time.perf_counter() - started

    async def release(self, claim_id: str) -> None:
        async with self.session.delete(f"{self.url}/v1/claims/{claim_id}") as answer:
            await answer.read()
            assert answer.status == 200

    async def release_all(self) -> None:
        held, self.held = self.held, []
        await in_flight(40, [lambda claim_id=claim_id: self.release(claim_id) for claim_id, _ in held])
        await asyncio.sleep(2)

    async def pod_patches(self) -> int:
        answer = await self.client._transport.send(Request("GET", "/metrics"))
        return sum(int(count) for count in _PATCHES.findall((await answer.read()).decode()))

    def cpu(self) -> dict[str, float]:
        """CPU seconds used so far, by process."""
        return {name: _cpu_seconds(pid) for name, pid in self.pids.items()}


async def in_flight(limit: int, work: list[Callable[[], Awaitable[Any]]]) -> list[Any]:
    """Run everything, at most `limit` at once."""
    gate = asyncio.Semaphore(limit)

    async def run(one: Callable[[], Awaitable[Any]]) -> Any:
        async with gate:
            return await one()

    return await asyncio.gather(*(run(one) for one in work))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS


def show(name: str, latencies: list[float], wall: float, patches: int, cpu: dict[str, float]) -> None:
    """One line of the table."""
    ranked = sorted(latencies)
    p50, p90, p99 = (ranked[min(len(ranked) - 1, int(len(ranked) * q))] * 1e3 for q in (0.5, 0.9, 0.99))
    costs = "  ".join(f"{process} {seconds / len(ranked) * 1e3:.2f}" for process, seconds in cpu.items())
    writes = patches / len(ranked)
    print(f"{name:<22} {len(ranked) / wall:>8.0f}/s  p50 {p50:>7.1f}  p90 {p90:>7.1f}  p99 {p99:>7.1f} ms"
          f"  writes {writes:.2f}  CPU-ms: {costs}", flush=True)  # fmt: skip


async def measure(bench: Bench, name: str, run: Callable[[], Awaitable[list[float]]]) -> tuple[list[float], float]:
    """Run one phase between two readings of the counters."""
    patches, cpu, started = await bench.pod_patches(), bench.cpu(), time.perf_counter()
    latencies = await run()
    wall = time.perf_counter() - started
    used = {process: seconds - cpu[process] for process, seconds in bench.cpu().items()}
    show(name, latencies, wall, await bench.pod_patches() - patches, used)
    return latencies, len(latencies) / wall


async def raw_patch_rate(bench: Bench, count: int) -> float:
    """Merge-patches of pods straight to the API server, 32 in flight."""
    pods = (await bench.client.list(PODS, NAMESPACE)).items[:count]

    async def patch(name: str, value: int) -> float:
        started = time.perf_counter()
        annotation = {"metadata": {"annotations": {"bench": str(value)}}}
        await bench.client.merge_patch(PODS, name, annotation, NAMESPACE)
        return time.perf_counter() - started

    work = [lambda pod=pod, n=n: patch(pod.metadata.name, n) for n, pod in enumerate(pods)]
    _, rate = await measure(bench, "raw patch, 32 in flight", lambda: in_flight(32, work))
    return rate


async def run_phases(bench: Bench, workers: int, seconds: int) -> None:
    """All phases, then the bars."""
    count = workers // 3
    raw = await raw_patch_rate(bench, count)
    best = 0.0
    for clients in (1, 10, 40):
        number = max(50, count if clients > 1 else count // 4)
        work = [bench.claim for _ in range(number)]
        _, rate = await measure(bench, f"claims, {clients} clients", lambda c=clients, w=work: in_flight(c, w))
        best = max(best, rate)
        await bench.release_all()

    async def cycle() -> float:
        latency = await bench.claim()
        claim_id, _ = bench.held.pop()
        await bench.release(claim_id)
        return latency

    await measure(bench, "claim+release, 20", lambda: in_flight(20, [cycle for _ in range(count)]))
    steady, _ = await measure(bench, f"45/s for {seconds} s", lambda: arrivals(bench, 45.0, seconds))
    await bench.release_all()
    burst, _ = await measure(bench, "burst of 300", lambda: in_flight(300, [bench.claim for _ in range(300)]))
    ranked, burst_p50 = sorted(steady), sorted(burst)[len(burst) // 2]
    p50, p99 = ranked[len(ranked) // 2] * 1e3, ranked[int(len(ranked) * 0.99)] * 1e3
    print(f"\nclaims/s over raw patches/s: {best / raw:.2f} (bar 0.80)")
    print(f"at 45/s: p50 {p50:.1f} ms (bar 15), p99 {p99:.1f} ms (bar 50); burst p50 {burst_p50:.2f} s (bar 0.50)")


async def arrivals(bench: Bench, rate: float, seconds: int) -> list[float]:
    """Poisson arrivals that do not wait for one another; each claim is given back after a second."""
    tasks: list[asyncio.Task[float]] = []
    chance = random.Random(45)
    ends = time.perf_counter() + seconds

    async def visit() -> float:
        latency = await bench.claim()
        claim_id, _ = bench.held.pop()
        await asyncio.sleep(1)
        await bench.release(claim_id)
        return latency

    while time.perf_counter() < ends:
        tasks.append(asyncio.create_task(visit()))
        await asyncio.sleep(chance.expovariate(rate))
    return list(await asyncio.gather(*tasks))


@contextlib.asynccontextmanager
async def serving(kubeconfig: Path, database: str, state: Path) -> AsyncIterator[tuple[str, int]]:
    """A `mooring serve` of its own process."""
    port = 18080
    environment = {
        **os.environ,
        "MOORING_PORT": str(port),
        "MOORING_STATE": str(state),
        "MOORING_DATABASE": database,
        "MOORING_KUBECONFIG": str(kubeconfig),
        "MOORING_TOKEN": TOKEN,
        "MOORING_LOG_LEVEL": "error",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "mooring", "serve", env=environment)
    try:
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        await process.wait()


async def main(workers: int, seconds: int) -> None:
    """Set the stage and measure."""
    clock, entropy = SystemClock(), Entropy()
    nodes = {f"n-{n}": NodeTemplate(capacity=_CAPACITY) for n in range(workers // PODS_A_NODE + 2)}
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as folder:
        root = Path(folder)
        database = EmbeddedServer(root / "postgres", clock=clock, entropy=entropy)
        async with contextlib.AsyncExitStack() as stack:
            plane = await stack.enter_async_context(ControlPlane.start(None, clock=clock, entropy=entropy))
            options = LocalOptions(nodes=nodes, runtime="simulated")
            cluster = await stack.enter_async_context(kubernetes_nodes(plane, root / "nodes", clock, entropy, options))
            url = await database.start()
            stack.push_async_callback(database.stop)
            await install_crds(cluster.client, clock)
            await fill(cluster.client, workers)
            where, pid = await stack.enter_async_context(serving(plane.kubeconfig, url, root / "state"))
            headers = {"Authorization": f"Bearer {TOKEN}"}
            connector = aiohttp.TCPConnector(limit=400)
            session = await stack.enter_async_context(aiohttp.ClientSession(headers=headers, connector=connector))
            pids = {"mooring": pid, "apiserver": plane.pids["kube-apiserver"], "etcd": plane.pids["etcd"]}
            bench = Bench(cluster.client, session, where, pids)
            await until_idle(bench, workers)
            await run_phases(bench, workers, seconds)


_CAPACITY = {"cpu": "1000", "memory": "1000Gi", "pods": str(PODS_A_NODE + 20), "ephemeral-storage": "1000Gi"}


async def fill(client: KubeClient, workers: int) -> None:
    """The pool; its workers are made by Mooring itself."""
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    template = {"spec": {"containers": [{"name": "main", "image": "worker"}], "automountServiceAccountToken": False}}
    spec = {"warm": workers // 2, "max": workers, "reuse": "Always", "idleSeconds": 86_400, "template": template}
    body = {"apiVersion": WORKERPOOLS.api_version, "kind": "WorkerPool", "metadata": {"name": POOL}, "spec": spec}
    await client.create(WORKERPOOLS, body, NAMESPACE)


async def until_idle(bench: Bench, workers: int) -> None:
    """Grow to all workers, then keep half as the floor, so that claims do not make the pool grow meanwhile."""
    spec = {"spec": {"warm": workers}}
    await bench.client.merge_patch(WORKERPOOLS, POOL, spec, NAMESPACE)
    while True:
        await asyncio.sleep(2)
        pool = await bench.client.get(WORKERPOOLS, POOL, NAMESPACE)
        print(f"\rwarm workers: {pool.status.idle}/{workers}", end="", file=sys.stderr, flush=True)
        if pool.status.idle >= workers:
            break
    await bench.client.merge_patch(WORKERPOOLS, POOL, {"spec": {"warm": 0}}, NAMESPACE)
    print(file=sys.stderr)
    await asyncio.sleep(5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    asyncio.run(main(arguments.workers, arguments.seconds))
