"""Real parts: a control plane, a PostgreSQL, and replicas of `mooring serve`, each behind links of its own."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import aiohttp

from drydock import Cluster, ControlPlane, LocalOptions, PlaneOptions, kubernetes_nodes, plain_nodes
from hawser.clock import Entropy, SystemClock
from hawser.resources import NAMESPACES
from mooring.kinds.installation import install_crds
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.embedded import EmbeddedServer
from packages.mooring.tests.fire.links import Link, open_links
from packages.mooring.tests.soak.stage import TOKEN, environment_of, free_port

NAMESPACE, POOL = "fire", "pool"
NAMES = ("a", "b", "c")
_NODES = 4
_LOOK_SECONDS, _STEP_SECONDS, _START_SECONDS = 2.0, 0.2, 60.0
_SOCKET = ".s.PGSQL.5432"
_TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}


class Replica:
    """One `mooring serve`, started again after it was killed."""

    def __init__(self, name: str, environment: dict[str, str], log: Path, links: tuple[Link, Link]) -> None:
        self.name = name
        self.url = f"http://127.0.0.1:{environment['MOORING_PORT']}"
        self.api_link, self.ledger_link = links
        self._environment = environment
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self.stopped = False

    async def start(self) -> None:
        program = str(Path(sys.executable).with_name("mooring"))
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                program, "serve", env=self._environment, stdout=log, stderr=log
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def end(self, number: signal.Signals) -> None:
        """By a signal, and wait until it has ended."""
        if self._process is not None and self._process.returncode is None:
            self.send(signal.SIGCONT)
            self.send(number)
            await self._process.wait()

    async def until_ready(self, session: aiohttp.ClientSession) -> None:
        """After a start, unless it takes very long: then the next fault finds one replica less."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                while not (await self.describe(session)).get("ready"):
                    await asyncio.sleep(_STEP_SECONDS)

    async def describe(self, session: aiohttp.ClientSession, within: float = _LOOK_SECONDS) -> dict[str, Any]:
        """What /readyz says; empty while it does not answer."""
        with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
            timeout = aiohttp.ClientTimeout(total=within)
            async with session.get(f"{self.url}/readyz", timeout=timeout) as answer:
                body: dict[str, Any] = await answer.json()
                return {**body, "ready": answer.status == 200}
        return {}


@dataclass
class Parts:
    """What runs, and how to reach it."""

    plane: ControlPlane
    cluster: Cluster
    database: EmbeddedServer
    replicas: list[Replica]
    session: aiohttp.ClientSession
    folder: Path
    headers: dict[str, str] = field(default_factory=lambda: {"authorization": f"Bearer {TOKEN}"})

    async def until_ready(self, within: float = 120.0) -> None:
        """All replicas answer, and one leads."""
        async with asyncio.timeout(within):
            while True:
                found = [await replica.describe(self.session) for replica in self.replicas]
                if all(one.get("ready") for one in found) and sum(one["leading"] for one in found) == 1:
                    return
                await asyncio.sleep(_STEP_SECONDS)

    async def pool_status(self) -> dict[str, Any]:
        found = await self.cluster.client.get(WORKERPOOLS.raw(), POOL, NAMESPACE)
        return dict(found.get("status") or {})


@contextlib.asynccontextmanager
async def real_parts(folder: Path, workers: int) -> AsyncIterator[Parts]:
    """Everything started, three replicas ready, and a pool of so many idle workers that are reused."""
    clock, entropy = SystemClock(), Entropy()
    async with contextlib.AsyncExitStack() as stack:
        plane = await stack.enter_async_context(
            ControlPlane.start(folder / "plane", clock=clock, entropy=entropy, options=PlaneOptions(audit=True))
        )
        options = LocalOptions(nodes=plain_nodes(_NODES), runtime="simulated")
        cluster = await stack.enter_async_context(kubernetes_nodes(plane, folder / "cluster", clock, entropy, options))
        database = EmbeddedServer(folder / "postgres", clock=clock, entropy=entropy)
        await database.start()
        stack.push_async_callback(database.stop)
        await install_crds(cluster.client, clock)
        await cluster.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        spec = {
            "warm": workers,
            "max": workers + workers // 4,
            "reuse": "Always",
            "idleSeconds": 20,
            # These workers do not report: what a fault leaves stamped is reclaimed by their silence alone.
            "reclaim": {"silentSeconds": 60, "policy": "Delete"},
            "template": _TEMPLATE,
        }
        await cluster.client.create(WORKERPOOLS, {"metadata": {"name": POOL}, "spec": spec}, NAMESPACE)
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        sockets = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fire-")))
        parts = Parts(plane, cluster, database, [], session, folder)
        parts.replicas += await _replicas(stack, parts, sockets)
        stack.push_async_callback(_end, parts)
        for replica in parts.replicas:
            await replica.start()
        await parts.until_ready()
        yield parts


async def _replicas(stack: contextlib.AsyncExitStack, parts: Parts, sockets: Path) -> list[Replica]:
    api_port = urlsplit(parts.plane.url).port
    assert api_port is not None
    address, _, socket_folder = parts.database.url.partition("?host=")
    database = str(Path(unquote(socket_folder)) / _SOCKET)
    ports = {name: free_port() for name in NAMES}
    ways = {f"api {name}": (str(ports[name]), str(api_port)) for name in NAMES}
    ways |= {f"ledger {name}": (str(sockets / name / _SOCKET), database) for name in NAMES}
    links = await stack.enter_async_context(open_links(ways))
    replicas = []
    for name in NAMES:
        kubeconfig = parts.folder / f"{name}.kubeconfig"
        kubeconfig.write_text(parts.plane.kubeconfig.read_text().replace(f":{api_port}", f":{ports[name]}"))
        url = f"{address}?host={quote(str(sockets / name), safe='')}"
        settings = environment_of(parts.cluster, url, parts.folder / name, free_port())
        own_settings = {"MOORING_KUBECONFIG": str(kubeconfig), "MOORING_REPLICA": name}
        one_caller = {"MOORING_OPEN_REQUESTS": "5000", "MOORING_CONNECTIONS_EACH": "10000"}  # acts for all clients
        environment = {**settings, **own_settings, **one_caller}
        own = (links[f"api {name}"], links[f"ledger {name}"])
        replicas.append(Replica(name, environment, parts.folder / f"{name}.log", own))
    return replicas


async def _end(parts: Parts) -> None:
    for replica in parts.replicas:
        replica.api_link.mend()
        replica.ledger_link.mend()
        await replica.end(signal.SIGKILL)
