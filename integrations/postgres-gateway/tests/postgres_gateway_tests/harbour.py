"""Real parts for the tests: a sandbox whose workers are processes with DuckDB, a Mooring, and a gateway in a thread."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drydock import Drift, LocalOptions, local_cluster, plain_nodes
from hawser.clock import Entropy, SystemClock
from hawser.resources import NODES, PODS
from mooring.client.aio import AsyncMooring
from mooring_postgres_gateway.directory import Directory
from mooring_postgres_gateway.gateway import Gateway, GatewayLimits
from mooring_postgres_gateway.handshake import Handshake
from mooring_postgres_gateway.link import Claims
from mooring_postgres_gateway.pool import pool_spec
from mooring_postgres_gateway.proof import encode_public_key, write_private_key
from mooring_postgres_gateway.scram import make_verifier
from mooring_postgres_gateway.tls import TlsFiles
from packages.mooring.tests.client.dock import NAMESPACE, TOKEN, Dock

USER, PASSWORD = "ada", "a password"
SALT = bytes(range(16))


@dataclass
class Port:
    """A gateway in a thread of its own, and how to reach it."""

    gateway: Gateway
    loop: asyncio.AbstractEventLoop
    number: int

    def url(self, database: str = "main", **options: Any) -> str:
        words = "&".join(f"{name}={value}" for name, value in options.items())
        return f"postgresql://{USER}:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{self.number}/{database}?{words}"

    def call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)


@dataclass
class Harbour:
    """A cluster with a Mooring."""

    dock: Dock
    folder: Path
    key: Any
    databases: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def directory(self) -> Path:
        return self.folder / "directory.toml"

    def pool(self, *arguments: str, **changes: Any) -> str:
        spec = pool_spec(encode_public_key(self.key), arguments, **changes)
        return self.dock.pool(**spec)

    def database(self, pool: str, name: str = "main", **changes: Any) -> str:
        self.databases[name] = {"pool": pool, "owner": "acme", "users": [USER], "wait_seconds": 30, **changes}
        self.write_directory()
        return name

    def write_directory(self) -> None:
        self.directory.write_text(directory_text(self.databases))

    @contextlib.contextmanager
    def gateway(
        self, limits: GatewayLimits = GatewayLimits(), tls: TlsFiles | None = None, *, require_tls: bool = False
    ) -> Iterator[Port]:
        self.write_directory()
        claims = Claims(AsyncMooring(self.dock.url, TOKEN), self.key)
        handshake = Handshake(Directory(self.directory), tls, Entropy(), require_tls=require_tls)
        with serving(lambda: Gateway(handshake, claims, Entropy(), limits)) as port:
            yield port

    def pods(self, pool: str) -> list[Any]:
        return self.dock.pods(pool)

    def busy_pods(self, pool: str) -> list[Any]:
        return [pod for pod in self.pods(pool) if pod.metadata.labels.get("mooring.dev/busy") == "true"]

    def kill_worker(self, pod: Any) -> None:
        """Its process ends without notice, as in a crash of its node."""
        self.dock.call(self.dock.client.delete(PODS, pod.metadata.name, NAMESPACE, grace_seconds=0))

    def drain(self, node: str) -> threading.Thread:
        drift = Drift(self.dock.sandbox.client, self.dock.sandbox.fleet, SystemClock(), Entropy())
        from drydock import DrainPolicy

        policy = DrainPolicy(deadline_seconds=None, retry_seconds=0.5)
        thread = threading.Thread(target=lambda: self.dock.call_long(drift.drain(node, policy)), daemon=True)
        thread.start()
        return thread

    def reopen(self, node: str) -> None:
        self.dock.call(
            self.dock.sandbox.client.merge_patch(NODES, node, {"spec": {"unschedulable": None, "taints": None}})
        )


def directory_text(databases: dict[str, dict[str, Any]], password: str = PASSWORD) -> str:
    verifier = make_verifier(password, SALT).encode()
    lines = [f'[users.{USER}]\nverifier = "{verifier}"']
    for name, fields in databases.items():
        lines.append(f"[databases.{name}]")
        lines += [f"{key} = {_toml(value)}" for key, value in fields.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    return str(list(value)) if isinstance(value, list) else repr(value)


@contextlib.contextmanager
def serving(build: Any) -> Iterator[Port]:
    """A gateway on a loop in a thread."""
    loop = asyncio.new_event_loop()
    opened: list[Port] = []
    ready = threading.Event()
    stopping = asyncio.Event()

    async def serve() -> None:
        gateway = build()
        opened.append(Port(gateway, loop, await gateway.listen("127.0.0.1", 0)))
        ready.set()
        await stopping.wait()
        await gateway.drain(0.5)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield opened[0]
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(30)
        assert not thread.is_alive()
        loop.close()


@contextlib.contextmanager
def open_harbour(folder: Path) -> Iterator[Harbour]:
    """A sandbox of three nodes, and a Mooring."""

    def start(clock: Any, entropy: Any) -> Any:
        return local_cluster(folder / "sandbox", clock, entropy, LocalOptions(nodes=plain_nodes(3)))

    with Dock(start) as dock:
        yield Harbour(dock, folder, write_private_key(folder / "gateway.pem"))
