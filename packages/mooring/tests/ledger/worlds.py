"""What the contract suite stands on: a ledger that several processes may open, and words for claims."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from hawser.clock import Entropy, SystemClock
from mooring.ledger.port import Ledger
from mooring.ledger.postgres import PostgresLedger
from mooring.ledger.postgres.database import DatabaseOptions
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.audit import AuditEntry, Subject
from mooring.model.claim import Claim, NewClaim, WorkerSlot
from packages.mooring.tests.postgres import PostgresForTests

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
POOL = ("ci", "linux")


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


class World(AbstractAsyncContextManager["World"]):
    """One database and the processes that use it; their connections are closed at the end."""

    def __init__(self) -> None:
        self._opened: list[Ledger] = []

    async def open(self) -> Ledger:
        """Another process."""
        ledger = await self._connect()
        self._opened.append(ledger)
        return ledger

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        for ledger in self._opened:
            await ledger.close()

    @abstractmethod
    async def _connect(self) -> Ledger: ...

    @abstractmethod
    async def back_up(self) -> Callable[[], Any]:
        """Take a backup; the answer, awaited, puts it in place of the database."""


class MemoryWorld(World):
    def __init__(self) -> None:
        super().__init__()
        self._store = MemoryStore()

    async def _connect(self) -> Ledger:
        return MemoryLedger(self._store, clock=SystemClock(), entropy=Entropy())

    async def back_up(self) -> Callable[[], Any]:
        saved = self._store.backup()

        async def restore() -> None:
            self._store.restore(saved)

        return restore


class PostgresWorld(World):
    def __init__(self, server: PostgresForTests) -> None:
        super().__init__()
        self._server = server
        self.url = server.fresh_database()
        self.name = urlsplit(self.url).path.lstrip("/")
        self._replaced = False

    async def close(self) -> None:
        await super().close()
        if not self._replaced:
            self._server.give_back(self.url)

    async def _connect(self) -> Ledger:
        patient = DatabaseOptions(pool_size=4, connect_timeout_seconds=30, statement_timeout_seconds=30)
        return await PostgresLedger.open(self.url, clock=SystemClock(), entropy=Entropy(), options=patient)

    async def back_up(self) -> Callable[[], Any]:
        saved = f"{self.name}_backup"
        await self._copy(self.name, saved)

        async def restore() -> None:
            self._replaced = True
            await self._shut(self.name)
            await self._server.admin(f"DROP DATABASE {self.name}")
            await self._copy(saved, self.name)

        return restore

    async def cut_connections(self) -> None:
        """As a restart of the server does, without its cost."""
        await self._shut(self.name)
        await self._server.admin(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS true")

    async def _copy(self, source: str, target: str) -> None:
        await self._shut(source)
        await self._server.admin(
            f"CREATE DATABASE {target} TEMPLATE {source}", f"ALTER DATABASE {source} ALLOW_CONNECTIONS true"
        )

    async def _shut(self, name: str) -> None:
        await self._server.admin(
            f"ALTER DATABASE {name} ALLOW_CONNECTIONS false",
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'",
        )


_ids = Entropy(7)


def asked(owner: str = "acme", **changes: Any) -> NewClaim:
    """A request for a claim on the pool."""
    namespace, pool = POOL
    values: dict[str, Any] = {
        "id": _ids.uuid(),
        "namespace": namespace,
        "pool": pool,
        "owner": owner,
        "ttl_seconds": 60,
    }
    return NewClaim(**(values | changes))


def on(pod: str, slot: int = 0) -> WorkerSlot:
    return WorkerSlot(pod_name=pod, pod_uid=f"uid-{pod}", slot=slot, address="127.64.0.1")


def entry(action: str = "delete", name: str = "w-1", **changes: Any) -> AuditEntry:
    values: dict[str, Any] = {
        "id": _ids.uuid(),
        "at": NOW,
        "actor": "stamped-has-claim",
        "replica": "r-1",
        "action": action,
        "subject": Subject("Pod", "ci", name, f"uid-{name}"),
        "reason": "a stamp without a claim",
        "evidence": {"proofs": ["no live claim", "never started"], "age": 301.5},
    }
    return AuditEntry(**(values | changes))


async def claimed(ledger: Ledger, pod: str = "a", **changes: Any) -> Claim:
    return (await ledger.claims.insert_claimed(asked(**changes), on(pod), now=NOW, overtake=True)).require()


async def queued(ledger: Ledger, wait_seconds: float = 60, **changes: Any) -> Claim:
    return (await ledger.claims.insert_queued(asked(**changes), now=NOW, wait_until=after(wait_seconds))).require()


async def running(ledger: Ledger, pod: str = "a", **changes: Any) -> Claim:
    claim = await claimed(ledger, pod, **changes)
    return (await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW)).require()


async def eventually(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until it holds; fails when it does not within the time."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.005)
