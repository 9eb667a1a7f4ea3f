"""Two replicas of `mooring serve` behind one address, a PostgreSQL, and a sandbox whose pods are processes."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp

from drydock import Cluster, LocalOptions, local_cluster, plain_nodes
from hawser.clock import Entropy, SystemClock
from mooring.kinds.installation import install_crds
from mooring.ledger.embedded import EmbeddedServer
from packages.mooring.tests.fire.links import Cable, Streams
from packages.mooring.tests.soak.stage import TOKEN, environment_of, free_port

NODES = 4


class Replica:
    """One `mooring serve`."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self.port = int(environment["MOORING_PORT"])
        self._environment = environment
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                str(Path(sys.executable).with_name("mooring")), "serve", env=self._environment, stdout=log, stderr=log
            )

    async def kill(self) -> None:
        """Without a warning."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
            await self._process.wait()

    async def until_ready(self, seconds: float = 120) -> None:
        async with asyncio.timeout(seconds), aiohttp.ClientSession() as session:
            while True:
                with contextlib.suppress(aiohttp.ClientError, OSError):
                    async with session.get(f"http://127.0.0.1:{self.port}/readyz") as answer:
                        if answer.status == 200:
                            return
                await asyncio.sleep(0.1)


class Fleet:
    """`state` is a state folder as `mooring up` writes it."""

    def __init__(self, state: Path, cluster: Cluster) -> None:
        self.state = state
        self.cluster = cluster
        self.replicas: list[Replica] = []
        self.kills = 0

    async def connect(self) -> Streams:
        """To the first replica that accepts, as a Service does."""
        for replica in self.replicas:
            with contextlib.suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", replica.port)
        raise ConnectionRefusedError

    async def restart(self, replica: Replica) -> None:
        """Kill it, and start it again; the other one serves meanwhile."""
        await replica.kill()
        self.kills += 1
        self.replicas.sort(key=lambda other: other is replica)
        await replica.start()
        await replica.until_ready()

    @property
    def nodes(self) -> list[str]:
        return [f"node-{number}" for number in range(1, NODES + 1)]


@contextlib.asynccontextmanager
async def running_fleet(folder: Path) -> AsyncIterator[Fleet]:
    """Everything started, both replicas ready."""
    clock, entropy = SystemClock(), Entropy()
    options = LocalOptions(nodes=plain_nodes(NODES), runtime="process")
    async with contextlib.AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(local_cluster(folder / "cluster", clock, entropy, options))
        database = EmbeddedServer(folder / "postgres", clock=clock, entropy=entropy)
        url = await database.start()
        stack.push_async_callback(database.stop)
        await install_crds(cluster.client, clock)
        fleet = Fleet(folder / "state", cluster)
        cable = Cable(fleet.connect)
        service = await asyncio.start_server(cable.accept, "127.0.0.1", 0)
        stack.callback(cable.close)
        stack.callback(service.close)
        address = f"http://127.0.0.1:{service.sockets[0].getsockname()[1]}"
        for name in ("a", "b"):
            environment = environment_of(cluster, url, folder / name, free_port())
            settings = {"MOORING_REPLICA": name, "MOORING_WORKER_URL": address}
            replica = Replica({**environment, **settings}, folder / f"{name}.log")
            fleet.replicas.append(replica)
            stack.push_async_callback(replica.kill)
            await replica.start()
        for replica in fleet.replicas:
            await replica.until_ready()
        fleet.state.mkdir()
        (fleet.state / "url").write_text(address)
        (fleet.state / "token").write_text(TOKEN)
        (fleet.state / "kubeconfig").write_text(Path(cluster.kubeconfig).read_text())
        yield fleet
