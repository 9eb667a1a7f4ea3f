"""A whole world in virtual time: a sandbox cluster, a ledger in memory, and control planes that can be killed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from mooring.app import Mooring, Surroundings
from mooring.cli.installing import install_crds
from mooring.clock import Entropy, LoopClock
from mooring.control.claiming.minting import MintFailed
from mooring.kube.cache import Change
from mooring.kube.client import KubeClient
from mooring.kube.reflector import Reflector
from mooring.kube.resources import NAMESPACES, PODS, WORKERPOOLS
from mooring.kube.views import Pod
from mooring.ledger.faults import Fault, FaultyLedger, LedgerCall
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.claim import Claim
from mooring.model.pool import Pool
from mooring.model.worker import Worker
from mooring.sandbox.actors.kubelet.machine import NodeTemplate
from mooring.sandbox.actors.runtime.script import Script, scripts_from
from mooring.sandbox.cluster import Sandbox, virtual_sandbox
from mooring.sandbox.faults import FaultyTransport, Plan, Process, Rule
from mooring.sandbox.virtual import run_virtual

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NAMESPACE = "runners"
T = TypeVar("T")


@dataclass(slots=True)
class Witness:
    """Sees every pod as the API server stores it, and keeps the highest count ever."""

    most: int = 0
    added: int = 0
    alive: set[str] = field(default_factory=set)

    def see(self, change: Change[Pod]) -> None:
        pod = change.new or change.old
        assert pod is not None
        if change.new is None:
            self.alive.discard(pod.metadata.uid)
        elif pod.metadata.uid not in self.alive:
            self.alive.add(pod.metadata.uid)
            self.added += 1
        self.most = max(self.most, len(self.alive))


@dataclass(slots=True)
class Mint:
    """A mint in memory: counts what it made, fails when told to."""

    made: int = 0
    failing: int = 0

    async def mint(self, pool: Pool, claim: Claim) -> dict[str, Any] | None:
        if pool.spec.mint is None:
            return None
        if self.failing:
            self.failing -= 1
            raise MintFailed("the mint is closed")
        self.made += 1
        return {"secret": f"for {claim.id}"}


@dataclass(slots=True)
class Words:
    """What workers say of themselves, by name; silent ones are unknown."""

    said: dict[str, bool] = field(default_factory=dict)
    otherwise: bool | None = None

    def executing(self, worker: Worker) -> bool | None:
        return self.said.get(worker.name, self.otherwise)


LedgerFault = Callable[[LedgerCall], Fault]


def no_fault(_: LedgerCall) -> Fault:
    return Fault.NONE


class SharedFate:
    """A process that dies at its ledger is dead to its cluster too, and the other way round."""

    def __init__(self, process: Process, fault: LedgerFault) -> None:
        self._process = process
        self._life = process.life
        self.decide = fault

    def check(self) -> None:
        self._process.check(self._life)

    def crash(self, call: LedgerCall) -> BaseException:
        return self._process.crash(call.path)


@dataclass(slots=True)
class Replica:
    """A control plane that runs, and everything it called."""

    mooring: Mooring
    process: Process
    transport: FaultyTransport
    ledger: FaultyLedger
    task: asyncio.Task[None]

    def pod_creates(self) -> int:
        return sum(call.method == "POST" and call.path.endswith("/pods") for call in self.process.calls)

    async def kill(self) -> None:
        """As `kill -9` would: nothing it still tries gets out."""
        self.process.crash("killed")
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, BaseExceptionGroup):
            await self.task


class Harbour:
    """The world and the hands to move it with."""

    def __init__(self, sandbox: Sandbox, clock: LoopClock, entropy: Entropy) -> None:
        self.sandbox = sandbox
        self.client: KubeClient = sandbox.client
        self.clock = clock
        self.entropy = entropy
        self.store = MemoryStore()
        self.mint = Mint()
        self.words = Words()
        self.witness = Witness()
        self.replicas: list[Replica] = []

    def start(self, name: str = "a", rules: Sequence[Rule] = (), fault: LedgerFault = no_fault) -> Replica:
        """A control plane whose calls to the cluster suffer the rules, and those to the ledger the fault."""
        process = Process()
        transport = FaultyTransport(self.sandbox.transport, Plan(rules), self.clock, self.entropy, process)
        inner = MemoryLedger(self.store, clock=self.clock, entropy=self.entropy)
        ledger = FaultyLedger(inner, SharedFate(process, fault))
        given = Surroundings(KubeClient(transport), ledger, self.clock, self.entropy, name, self.mint, self.words)
        mooring = Mooring(given)
        replica = Replica(mooring, process, transport, ledger, asyncio.create_task(mooring.run()))
        self.replicas.append(replica)
        return replica

    async def pool(self, name: str = "linux", **spec: Any) -> None:
        template = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
        body = {"apiVersion": WORKERPOOLS.api_version, "kind": "WorkerPool", "metadata": {"name": name}}
        await self.client.create(WORKERPOOLS, {**body, "spec": {"template": template, **spec}}, NAMESPACE)

    async def change(self, spec: dict[str, Any], name: str = "linux") -> None:
        await self.client.merge_patch(WORKERPOOLS, name, {"spec": spec}, NAMESPACE)

    async def status(self, name: str = "linux") -> dict[str, Any]:
        found = await self.client.get(WORKERPOOLS.raw(), name, NAMESPACE)
        return dict(found.get("status") or {})

    async def pods(self) -> list[Pod]:
        return (await self.client.list(PODS, NAMESPACE)).items

    async def until(self, holds: Callable[[], Awaitable[bool]], within: float, what: str) -> float:
        """Wait in virtual time; answers how long it took."""
        started = self.clock.monotonic()
        while not await holds():
            if self.clock.monotonic() - started > within:
                raise AssertionError(f"not within {within} s: {what}; status {await self.status()}")
            await self.clock.sleep(0.25)
        return self.clock.monotonic() - started

    async def until_idle(self, count: int, within: float = 120.0, name: str = "linux") -> float:
        async def holds() -> bool:
            return (await self.status(name)).get("idle") == count

        return await self.until(holds, within, f"{count} idle workers")


@contextlib.asynccontextmanager
async def harbour(
    seed: int = 1, nodes: int = 4, scripts: Callable[[Any], Script | None] = lambda _: None
) -> AsyncIterator[Harbour]:
    """The world, with its CRDs, one namespace and a witness."""
    clock, entropy = LoopClock(START), Entropy(seed)
    templates = {f"node-{number}": NodeTemplate() for number in range(1, nodes + 1)}
    async with virtual_sandbox(clock, entropy, templates, scripts_from(scripts)) as sandbox:
        world = Harbour(sandbox, clock, entropy)
        await install_crds(world.client, clock)
        await world.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        )
        watcher = Reflector(world.client, PODS, clock=clock, entropy=entropy, namespace=NAMESPACE)
        watcher.subscribe(world.witness.see)
        watching = asyncio.create_task(watcher.run())
        await watcher.wait_synced()
        try:
            yield world
        finally:
            for replica in world.replicas:
                await replica.kill()
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching


def play(scenario: Callable[[], Any], seed: int | None = 1) -> Any:
    """Run a scenario in virtual time."""
    return run_virtual(scenario, seed=seed, start=START)
