"""A stage for faults: a sandbox with real worker processes, a PostgreSQL, two `mooring serve`, a gateway."""

import asyncio
import contextlib
import itertools
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from drydock import Cluster, DrainPolicy, Drift, LocalOptions, local_cluster, plain_nodes
from hawser.clock import Entropy, SystemClock
from hawser.resources import NAMESPACES, NODES, PODS
from mooring.client.aio import AsyncMooring
from mooring.kinds.installation import install_crds
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.embedded import EmbeddedServer
from mooring_postgres_gateway.directory import Directory
from mooring_postgres_gateway.gateway import Gateway
from mooring_postgres_gateway.handshake import Handshake
from mooring_postgres_gateway.link import Claims
from mooring_postgres_gateway.pool import pool_spec
from mooring_postgres_gateway.proof import encode_public_key, write_private_key
from packages.mooring.tests.soak.stage import TOKEN, environment_of, free_port
from postgres_gateway_tests.harbour import PASSWORD, USER, directory_text

NAMESPACE, POOL = "queries", "duck"
NODE_NAMES = 3


class Replica:
    """One `mooring serve`, started again whenever it dies."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._environment = environment
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self.port = int(environment["MOORING_PORT"])

    async def run(self) -> None:
        program = str(Path(sys.executable).with_name("mooring"))
        try:
            while True:
                with self._log.open("ab") as log:
                    self._process = await asyncio.create_subprocess_exec(
                        program, "serve", env=self._environment, stdout=log, stderr=log
                    )
                await self._process.wait()
        finally:
            if self._process is not None and self._process.returncode is None:
                self._process.kill()
                await self._process.wait()

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def until_ready(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                    async with session.get(f"http://127.0.0.1:{self.port}/readyz") as answer:
                        if answer.status == 200:
                            return
                await asyncio.sleep(0.2)


class Front:
    """What a Service is: each connection goes to a replica that accepts it."""

    def __init__(self, replicas: list[Replica]) -> None:
        self._turns = itertools.cycle(replicas)
        self._count = len(replicas)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(self._count):
            with contextlib.suppress(OSError):
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", next(self._turns).port)
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
                break
        writer.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    sink.close()


@dataclass
class FaultyStage:
    """What is disturbed, and the hands that do it."""

    sandbox: Cluster
    replicas: list[Replica]
    gateway: Gateway
    url: str
    lake: Path
    counts: dict[str, int] = field(default_factory=dict)

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    async def disturb(self, every_seconds: float) -> None:
        """A drain, the death of a worker and the death of a replica, in turns, until cancelled."""
        nodes = itertools.cycle([node.metadata.name for node in (await self.sandbox.client.list(NODES)).items])
        replicas = itertools.cycle(self.replicas)
        while True:
            await self.drain(next(nodes))
            await asyncio.sleep(every_seconds)
            await self.kill_busy_worker()
            await asyncio.sleep(every_seconds)
            next(replicas).kill()
            self._count("replicas killed")
            await asyncio.sleep(every_seconds)

    async def drain(self, node: str) -> None:
        client = self.sandbox.client
        drift = Drift(client, self.sandbox.fleet, SystemClock(), Entropy())
        await drift.drain(node, DrainPolicy(deadline_seconds=None, retry_seconds=0.5))
        self._count("nodes drained")
        await client.merge_patch(NODES, node, {"spec": {"unschedulable": None, "taints": None}})

    async def kill_busy_worker(self) -> None:
        busy = (await self.sandbox.client.list(PODS, NAMESPACE, label_selector="mooring.dev/busy=true")).items
        if busy:
            await self.sandbox.client.delete(PODS, busy[0].metadata.name, NAMESPACE, grace_seconds=0)
            self._count("workers killed")

    def runs_of(self, query: int) -> int:
        """How often a statement that writes into the lake has run."""
        folder = self.lake / f"q={query}"
        return len(list(folder.iterdir())) if folder.exists() else 0


@contextlib.asynccontextmanager
async def faulty_stage(folder: Path, workers: int) -> AsyncIterator[FaultyStage]:
    """Everything started, with so many warm workers."""
    clock, entropy = SystemClock(), Entropy()
    async with contextlib.AsyncExitStack() as stack:
        options = LocalOptions(nodes=plain_nodes(NODE_NAMES))
        sandbox = await stack.enter_async_context(local_cluster(folder / "cluster", clock, entropy, options))
        database = EmbeddedServer(folder / "postgres", clock=clock, entropy=entropy)
        ledger = await database.start()
        stack.push_async_callback(database.stop)
        await install_crds(sandbox.client, clock)
        await sandbox.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        key = write_private_key(folder / "gateway.pem")
        protection = {"graceSeconds": 5, "ceilingSeconds": 600}
        spec = pool_spec(encode_public_key(key), warm=workers, max=2 * workers, protection=protection)
        await sandbox.client.create(WORKERPOOLS, {"metadata": {"name": POOL}, "spec": spec}, NAMESPACE)
        replicas = []
        for name in ("a", "b"):
            environment = environment_of(sandbox, ledger, folder / f"state-{name}", free_port())
            replicas.append(Replica(environment, folder / f"serve-{name}.log"))
        for replica in replicas:
            await stack.enter_async_context(_beside(replica.run()))
        for replica in replicas:
            await replica.until_ready()
        front = await asyncio.start_server(Front(replicas).accept, "127.0.0.1", 0)
        stack.callback(front.close)
        gateway, port = await _gateway(folder, key, f"http://127.0.0.1:{front.sockets[0].getsockname()[1]}")
        stack.push_async_callback(gateway.drain, 1.0)
        await _until_warm(sandbox, workers)
        (folder / "lake").mkdir()
        url = f"postgresql://{USER}:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{port}/main"
        yield FaultyStage(sandbox, replicas, gateway, url, folder / "lake")


async def _gateway(folder: Path, key: Any, mooring_url: str) -> tuple[Gateway, int]:
    fields = {"pool": f"{NAMESPACE}/{POOL}", "owner": "acme", "users": [USER], "wait_seconds": 60, "idle_seconds": 0.5}
    (folder / "directory.toml").write_text(directory_text({"main": fields}))
    handshake = Handshake(Directory(folder / "directory.toml"), None, Entropy(), require_tls=False)
    gateway = Gateway(handshake, Claims(AsyncMooring(mooring_url, TOKEN), key), Entropy())
    return gateway, await gateway.listen("127.0.0.1", 0)


async def _until_warm(sandbox: Cluster, workers: int) -> None:
    while (await sandbox.client.get(WORKERPOOLS, POOL, NAMESPACE)).status.idle < workers:
        await asyncio.sleep(0.2)


@contextlib.asynccontextmanager
async def _beside(work: Any) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
