"""The environment of `claims.py`: a real control plane, a PostgreSQL, one `mooring serve` and a pool of warm workers.

Mooring creates the workers, which run on simulated nodes. When all are ready, the kubelets are stopped, because their
watches would use CPU. The nodes stay Ready: the node controller's grace period is one day.
"""

import asyncio
import contextlib
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drydock import ControlPlane, LocalOptions, NodeTemplate, PlaneOptions, kubernetes_nodes
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import connect
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NAMESPACES, PODS
from mooring.kinds.installation import install_crds
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.embedded import EmbeddedServer

NAMESPACE, POOL, TOKEN = "bench", "pool", "bench-token"
PODS_A_NODE = 100
RAW = "raw"
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "worker"}], "automountServiceAccountToken": False}}
SERVE = (sys.executable, "-m", "mooring", "serve")
CLOCK = SystemClock()


@dataclass(frozen=True)
class Stage:
    """The processes that are measured, and their addresses."""

    plane: ControlPlane
    client: KubeClient
    database: str
    mooring_ports: list[int]  # of each replica
    pids: dict[str, int]  # the process, or the parent of several, by name
    raw_pods: list[str]


@dataclass(frozen=True)
class Cores:
    """The cores of the control plane and of Mooring: separate halves, or all cores for both."""

    plane: set[int]
    mooring: set[int]

    @classmethod
    def of_this_machine(cls, *, apart: bool) -> "Cores":
        cores = sorted(os.sched_getaffinity(0))
        half = len(cores) // 2
        return cls(set(cores[:half]), set(cores[half:])) if apart and half else cls(set(cores), set(cores))


@contextlib.contextmanager
def starting_on(cores: set[int]) -> Iterator[None]:
    """Processes that are started in this context run on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.asynccontextmanager
async def staged(
    workers: int, raw_pods: int, *, budget: bool, cores: Cores, serve: Sequence[str] = SERVE, replicas: int = 1
) -> AsyncIterator[Stage]:
    """The environment with all workers warm, and idle; `serve` starts one of as many replicas as asked for."""
    entropy = Entropy()
    async with contextlib.AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mooring-bench-")))
        database = EmbeddedServer(root / "postgres", clock=CLOCK, entropy=entropy)
        patient = PlaneOptions(node_monitor_grace_seconds=86_400)
        starting = ControlPlane.start(None, clock=CLOCK, entropy=entropy, options=patient)
        with starting_on(cores.plane):
            plane = await stack.enter_async_context(starting)
        connection = await connect(load_kubeconfig(plane.kubeconfig).target(), CLOCK)
        stack.push_async_callback(connection.close)
        client = KubeClient(connection)
        with starting_on(cores.mooring):
            url = await database.start()
        stack.push_async_callback(database.stop)
        await install_crds(client, CLOCK)
        await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        ports = [_free_port() for _ in range(replicas)]
        nodes = {f"n-{n}": NodeTemplate(capacity=_CAPACITY) for n in range((workers + raw_pods) // PODS_A_NODE + 2)}
        options = LocalOptions(nodes=nodes, runtime="simulated")
        async with kubernetes_nodes(plane, root / "nodes", CLOCK, entropy, options):
            names = await _make_raw_pods(client, raw_pods)
            await _make_pool(client, workers, budget)
            pids = {}
            for number, port in enumerate(ports, start=1):
                serving = _serving(serve, plane.kubeconfig, url, root / f"state-{number}", port)
                with starting_on(cores.mooring):
                    pids[_replica(number)] = await stack.enter_async_context(serving)
            await _until_warm(client, workers)
        await asyncio.sleep(5)
        assert database.pid is not None
        yield Stage(plane, client, url, ports, {**pids, "postgres": database.pid, **plane.pids}, names)


def _replica(number: int) -> str:
    return "mooring" if number == 1 else f"mooring-{number}"


async def _make_raw_pods(client: KubeClient, count: int) -> list[str]:
    """Pods like workers that Mooring does not watch: their patches measure the API server alone."""
    names = [f"{RAW}-{number}" for number in range(count)]
    for name in names:
        await client.create(PODS, {"metadata": {"name": name, "labels": {"app": RAW}}, **TEMPLATE}, NAMESPACE)
    return names


async def _make_pool(client: KubeClient, workers: int, budget: bool) -> None:
    spec = {
        "warm": workers,
        "max": workers,
        "reuse": "Always",
        "idleSeconds": 86_400,
        "protection": {"budget": budget},
        "template": TEMPLATE,
    }
    await client.create(WORKERPOOLS, {"metadata": {"name": POOL}, "spec": spec}, NAMESPACE)


async def _until_warm(client: KubeClient, workers: int) -> None:
    """Wait until all workers are idle, then set `warm` to 0, so that claims do not make the pool grow."""
    while True:
        await asyncio.sleep(2)
        pool = await client.get(WORKERPOOLS, POOL, NAMESPACE)
        print(f"\rwarm workers: {pool.status.idle}/{workers}", end="", file=sys.stderr, flush=True)
        if pool.status.idle >= workers:
            break
    print(file=sys.stderr)
    await client.merge_patch(WORKERPOOLS, POOL, {"spec": {"warm": 0}}, NAMESPACE)


@contextlib.asynccontextmanager
async def _serving(serve: Sequence[str], kubeconfig: Path, database: str, state: Path, port: int) -> AsyncIterator[int]:
    """Run `mooring serve` in a process; its process id."""
    environment = {
        **os.environ,
        "MOORING_PORT": str(port),
        "MOORING_STATE": str(state),
        "MOORING_DATABASE": database,
        "MOORING_KUBECONFIG": str(kubeconfig),
        "MOORING_TOKEN": TOKEN,
        "MOORING_LOG_LEVEL": "error",
    }
    process = await asyncio.create_subprocess_exec(*serve, env=environment)
    try:
        yield process.pid
    finally:
        process.terminate()
        await process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


_CAPACITY = {"cpu": "1000", "memory": "1000Gi", "pods": str(PODS_A_NODE + 20), "ephemeral-storage": "1000Gi"}
