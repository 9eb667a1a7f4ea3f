"""The stage of the soak: a sandbox cluster over sockets, a PostgreSQL, a control plane that rises when it is killed."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from drydock import Cluster, LocalOptions, local_cluster, plain_nodes
from hawser.clock import Entropy, SystemClock
from hawser.resources import NAMESPACES, PODS
from mooring.kinds.installation import install_crds
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.embedded import EmbeddedServer
from mooring.model import names
from packages.mooring.tests.soak.witness import Witness

NAMESPACE, POOL, TOKEN = "soak", "pool", "soak-token"
HURRY = 15.0
_NODES = 4
_TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}


class ControlPlane:
    """`mooring serve`, started again whenever it dies."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._environment = environment
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self.lives = 0

    async def run(self) -> None:
        """Until cancelled."""
        program = [sys.executable, "-m", "packages.mooring.tests.soak.hurried", str(HURRY)]
        try:
            while True:
                with self._log.open("ab") as log:
                    self._process = await asyncio.create_subprocess_exec(
                        *program, env=self._environment, stdout=log, stderr=log
                    )
                self.lives += 1
                await self._process.wait()
        finally:
            if self._process is not None and self._process.returncode is None:
                self._process.kill()
                await self._process.wait()

    def kill(self) -> None:
        """Without a word of warning."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()


@dataclass
class Stage:
    """What is soaked, and how to reach and to hurt it."""

    sandbox: Cluster
    database: EmbeddedServer
    control_plane: ControlPlane
    session: aiohttp.ClientSession
    witness: Witness = field(default_factory=Witness)

    async def until_ready(self) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with self.session.get("/readyz") as answer:
                    if answer.status == 200:
                        return
            await asyncio.sleep(0.1)

    async def restart_database(self) -> None:
        """Ended as an operator or a crash ends it; its own keeper starts it again."""
        pid = self.database.pid
        assert pid is not None
        os.kill(pid, signal.SIGINT if self.database.restarts % 2 == 0 else signal.SIGQUIT)
        while self.database.pid in (None, pid):
            await asyncio.sleep(0.1)

    async def leftovers(self, workers: int) -> str:
        """What is not as it must be at the end; empty when nothing is."""
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with self.session.get("/v1/claims?state=queued,claimed,running") as answer:
                if answer.status != 200 or (await answer.json())["total"]:
                    return f"open claims: {await answer.text()}"[:600]
            pods = (await self.sandbox.client.list(PODS, NAMESPACE)).items
            stamped = [
                f"{pod.metadata.name} {pod.metadata.annotations}"
                for pod in pods
                if names.EPOCH in pod.metadata.annotations or names.OWNER in pod.metadata.labels
            ]
            if stamped:
                return f"stamps left: {stamped}"[:600]
            status = (await self.sandbox.client.get(WORKERPOOLS, POOL, NAMESPACE)).status
            return "" if status.idle == workers == len(pods) else f"{len(pods)} pods, {status.idle} idle"
        return "no answer"

    async def watch(self) -> None:
        """Show every change of a pod to the witness."""
        client = self.sandbox.client
        version = (await client.list(PODS, NAMESPACE)).resource_version
        while True:
            async with client.watch(PODS.raw(), NAMESPACE, resource_version=version) as events:
                async for event in events:
                    version = event.resource_version
                    if event.type != "BOOKMARK":
                        self.witness.sees(event)


@contextlib.asynccontextmanager
async def soaking(folder: Path, workers: int) -> AsyncIterator[Stage]:
    """Everything started, and a pool of so many idle workers that are reused."""
    clock, entropy = SystemClock(), Entropy()
    options = LocalOptions(nodes=plain_nodes(_NODES), runtime="simulated")
    async with contextlib.AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(local_cluster(folder / "cluster", clock, entropy, options))
        database = EmbeddedServer(folder / "postgres", clock=clock, entropy=entropy)
        url = await database.start()
        stack.push_async_callback(database.stop)
        await install_crds(sandbox.client, clock)
        await sandbox.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        spec = {"warm": workers, "max": workers, "reuse": "Always", "idleSeconds": 86_400, "template": _TEMPLATE}
        await sandbox.client.create(WORKERPOOLS, {"metadata": {"name": POOL}, "spec": spec}, NAMESPACE)
        port = free_port()
        plane = ControlPlane(environment_of(sandbox, url, folder / "state", port), folder / "serve.log")
        session = aiohttp.ClientSession(
            f"http://127.0.0.1:{port}",
            headers={"authorization": f"Bearer {TOKEN}"},
            timeout=aiohttp.ClientTimeout(total=40),
            connector=aiohttp.TCPConnector(limit=0),
        )
        await stack.enter_async_context(session)
        stage = Stage(sandbox, database, plane, session)
        beside = [asyncio.create_task(plane.run()), asyncio.create_task(stage.watch())]
        try:
            await stage.until_ready()
            yield stage
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)


def environment_of(sandbox: Cluster, database: str, state: Path, port: int) -> dict[str, str]:
    """The settings of one `mooring serve`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MOORING_", "KUBECONFIG"))}
    return {
        **inherited,
        "MOORING_PORT": str(port),
        "MOORING_STATE": str(state),
        "MOORING_DATABASE": database,
        "MOORING_KUBECONFIG": str(sandbox.kubeconfig),
        "MOORING_TOKEN": TOKEN,
        "MOORING_LOG_LEVEL": "warning",
    }


_PORTS = iter(range(20_000 + os.getpid() % 10_000, 32_000))


def free_port() -> int:
    """A port that nobody uses now, below those of outgoing connections: one may take it while a replica is away."""
    for port in _PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")
