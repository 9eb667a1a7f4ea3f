"""A whole world: a cluster, a ledger, and control planes that can be killed. `open_stage` makes it in virtual time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from mooring.app import Mooring, Surroundings
from mooring.clock import Clock, Entropy, LoopClock
from mooring.control.claiming.activity import PolledActivity
from mooring.control.switches import Switches
from mooring.incidents.cast import Doctor, Mint, Witness, Words
from mooring.incidents.documents import StagedDocuments
from mooring.incidents.replica import LedgerFault, Replica, SharedFate, no_fault
from mooring.kube.client import KubeClient
from mooring.kube.crds.installing import install_crds
from mooring.kube.reflector import Reflector
from mooring.kube.resources import NAMESPACES, PODS, WORKERPOOLS
from mooring.kube.views import Pod
from mooring.ledger.faults import FaultyLedger
from mooring.ledger.port import Ledger
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.errors import MooringError
from mooring.model.timeouts import Timeouts
from mooring.sandbox.actors.runtime.contract import ContainerRun
from mooring.sandbox.actors.runtime.script import Script, scripts_from
from mooring.sandbox.cluster import Nodes, Sandbox, virtual_sandbox
from mooring.sandbox.faults import FaultyTransport, Plan, Process, Rule, SkewedClock

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NAMESPACE = "runners"
TICK_SECONDS = 10.0
_LOOK_SECONDS = 0.25


class NotInTime(MooringError):
    """What had to come about did not."""

    code = "not_in_time"


class Audience(Protocol):
    """Who watches a stage."""

    def told(self, seconds: float, text: str) -> None:
        """Something happened."""
        ...

    def seen(self, seconds: float, gauges: Mapping[str, object]) -> None:
        """How things stand; called every few seconds of the stage's time."""
        ...


class Nobody:
    """An empty house."""

    def told(self, seconds: float, text: str) -> None:
        return None

    def seen(self, seconds: float, gauges: Mapping[str, object]) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Setting:
    """What a stage is built of. `open_ledger` gives each control plane its own way to the one ledger."""

    sandbox: Sandbox
    clock: Clock
    entropy: Entropy
    open_ledger: Callable[[], Ledger]
    hurry: float = 1.0  # how many times shorter than in the story every wait and grace is


class Stage:
    """The world and the hands to move it with."""

    def __init__(self, setting: Setting, audience: Audience) -> None:
        self.sandbox = setting.sandbox
        self.client: KubeClient = setting.sandbox.client
        self.clock = clock = setting.clock
        self.entropy = entropy = setting.entropy
        self.hurry = setting.hurry
        self.timeouts = Timeouts().hurried(setting.hurry)
        self.ledger = setting.open_ledger()
        self._open_ledger = setting.open_ledger
        self.mint = Mint()
        self.words: PolledActivity = Words(clock)
        self.documents = StagedDocuments()
        self.doctor = Doctor()
        self.witness = Witness()
        self.watch = Reflector(self.client, PODS, clock=clock, entropy=entropy, namespace=NAMESPACE)
        self.watch.subscribe(self.witness.see)
        self.replicas: list[Replica] = []
        self.gauges: dict[str, Callable[[], object]] = {}
        self._audience = audience
        self._began = clock.monotonic()
        self._parts: list[asyncio.Task[None]] = []

    @property
    def seconds(self) -> float:
        """Since the curtain rose."""
        return self.clock.monotonic() - self._began

    def hurried(self, seconds: float) -> float:
        """A time of the story as it is played here."""
        return seconds / self.hurry

    def enter(self, part: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let somebody play along until the end, or until told to leave."""
        task = asyncio.create_task(part)
        self._parts.append(task)
        return task

    async def leave(self, parts: Iterable[asyncio.Task[None]]) -> None:
        """End these; a part that failed before is a failure of the play."""
        for task in parts:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def close(self) -> None:
        """Everybody leaves, and every control plane dies."""
        await self.leave(self._parts)
        for replica in self.replicas:
            await replica.kill()

    def narrate(self, text: str) -> None:
        """Tell the audience what happens."""
        self._audience.told(self.seconds, text)

    async def tick(self) -> None:
        """Show the gauges again and again, until cancelled."""
        while True:
            self._audience.seen(self.seconds, {name: read() for name, read in self.gauges.items()})
            await self.clock.sleep(self.hurried(TICK_SECONDS))

    def start(self, name: str = "a", rules: Sequence[Rule] = (), fault: LedgerFault = no_fault) -> Replica:
        """A control plane whose calls to the cluster suffer the rules, and those to the ledger the fault."""
        process, clock = Process(), SkewedClock(self.clock)
        transport = FaultyTransport(self.sandbox.transport, Plan(rules), self.clock, self.entropy, process)
        ledger = FaultyLedger(self._open_ledger(), SharedFate(process, fault))
        given = Surroundings(
            KubeClient(transport),
            ledger,
            clock,
            self.entropy,
            name,
            self.mint,
            self.words,
            self.documents,
            self.doctor,
        )
        mooring = Mooring(given, self.timeouts)
        replica = Replica(mooring, process, transport, ledger, clock, asyncio.create_task(mooring.run()))
        self.replicas.append(replica)
        return replica

    async def pause(self, rules: Sequence[str]) -> None:
        """Flip kill switches, as `mooring pause` does: they stay off for every control plane that comes."""
        switches = Switches(self.ledger, self.clock)
        for rule in rules:
            await switches.pause(rule, actor="replay", reason="this half runs without protection")

    async def pool(self, name: str = "linux", **spec: Any) -> None:
        """Make a pool."""
        template = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
        body = {"apiVersion": WORKERPOOLS.api_version, "kind": "WorkerPool", "metadata": {"name": name}}
        await self.client.create(WORKERPOOLS, {**body, "spec": {"template": template, **spec}}, NAMESPACE)

    async def change(self, spec: dict[str, Any], name: str = "linux") -> None:
        """Patch a pool's spec."""
        await self.client.merge_patch(WORKERPOOLS, name, {"spec": spec}, NAMESPACE)

    async def status(self, name: str = "linux") -> dict[str, Any]:
        """A pool's status."""
        found = await self.client.get(WORKERPOOLS.raw(), name, NAMESPACE)
        return dict(found.get("status") or {})

    async def pods(self) -> list[Pod]:
        """All pods, read now."""
        return (await self.client.list(PODS, NAMESPACE)).items

    async def until(self, holds: Callable[[], Awaitable[bool]], within: float, what: str) -> float:
        """Wait in the stage's time; answers how long it took."""
        started = self.clock.monotonic()
        while not await holds():
            if self.clock.monotonic() - started > within:
                raise NotInTime(f"not within {within} s: {what}; status {await self.status()}")
            await self.clock.sleep(_LOOK_SECONDS)
        return self.clock.monotonic() - started

    async def until_idle(self, count: int, within: float = 120.0, name: str = "linux") -> float:
        """Wait until exactly so many workers are idle."""

        async def holds() -> bool:
            return (await self.status(name)).get("idle") == count

        return await self.until(holds, within, f"{count} idle workers")


@contextlib.asynccontextmanager
async def open_stage(
    seed: int,
    nodes: Nodes,
    scripts: Callable[[ContainerRun], Script | None] = lambda _: None,
    audience: Audience = Nobody(),
) -> AsyncIterator[Stage]:
    """The world, with its CRDs, one namespace and a witness; must be called in virtual time."""
    clock, entropy = LoopClock(START), Entropy(seed)
    store = MemoryStore()
    async with virtual_sandbox(clock, entropy, nodes, scripts_from(scripts)) as sandbox:
        setting = Setting(sandbox, clock, entropy, lambda: MemoryLedger(store, clock=clock, entropy=entropy))
        async with raise_curtain(setting, audience) as stage:
            yield stage


@contextlib.asynccontextmanager
async def raise_curtain(setting: Setting, audience: Audience) -> AsyncIterator[Stage]:
    """A stage with the CRDs, one namespace and a witness in its cluster; at the end everybody leaves."""
    stage = Stage(setting, audience)
    await install_crds(stage.client, setting.clock)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await stage.client.create(NAMESPACES, namespace)
    stage.enter(stage.watch.run())
    stage.enter(stage.tick())
    await stage.watch.wait_synced()
    try:
        yield stage
    finally:
        await stage.close()
