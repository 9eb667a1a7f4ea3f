"""A whole environment: a cluster, a ledger, and control planes that can be killed. `open_stage` is in virtual time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from drydock import Cluster, ContainerRun, Nodes, Script, scripts_from, virtual_cluster
from drydock.faults import FaultyTransport, Plan, Process, Rule, SkewedClock
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy, LoopClock
from hawser.reflector import Reflector, Scope
from hawser.resources import NAMESPACES, PODS
from hawser.views import Pod
from mooring.app import Adapters, Dependencies, Mooring, ReplicaOptions
from mooring.controllers.activity import PolledActivity
from mooring.engine.switches import Switches
from mooring.incidents.documents import StagedDocuments
from mooring.incidents.fakes import Doctor, Gateway, Mint, ScriptedActivity, Witness
from mooring.incidents.replica import LedgerFault, Replica, SharedFate, no_fault
from mooring.incidents.scene import Scene, compute_cells
from mooring.kinds.installation import install_crds, install_headroom_class
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.faults import FaultyLedger
from mooring.ledger.port import Ledger
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.errors import MooringError
from mooring.model.timeouts import Timeouts

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NAMESPACE = "runners"
TICK_SECONDS = 10.0
_LOOK_SECONDS = 0.25


class NotInTime(MooringError):
    """An expected state was not reached in time."""

    code = "not_in_time"


class Audience(Protocol):
    """Shows what happens on a stage."""

    def report(self, seconds: float, text: str) -> None:
        """An event of the story."""
        ...

    def show(self, seconds: float, gauges: Mapping[str, object]) -> None:
        """The gauges; called every few seconds of the stage's time."""
        ...

    def see(self, seconds: float, scene: Callable[[], Scene]) -> None:
        """The map may have changed: `scene` reads it. Called for each change of a pod, and with the gauges."""
        ...


class Nobody:
    """Shows nothing."""

    def report(self, seconds: float, text: str) -> None:
        return None

    def show(self, seconds: float, gauges: Mapping[str, object]) -> None:
        return None

    def see(self, seconds: float, scene: Callable[[], Scene]) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Setting:
    """The parts of a stage. `open_ledger` gives each control plane its own connection to the one ledger."""

    sandbox: Cluster
    clock: Clock
    entropy: Entropy
    open_ledger: Callable[[], Ledger]
    hurry: float = 1.0  # the factor by which all times are divided


class Stage:
    """The environment, and the actions that plays need."""

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
        self.words: PolledActivity = ScriptedActivity(clock)
        self.documents = StagedDocuments()
        self.doctor = Doctor()
        self.gateway = Gateway()
        self.witness = Witness()
        self.watch = Reflector(self.client, PODS, clock=clock, entropy=entropy, scope=Scope(NAMESPACE))
        self.watch.subscribe(self.witness.see)
        self.watch.subscribe(lambda _: audience.see(self.seconds, self.scene))
        self.replicas: list[Replica] = []
        self.gauges: dict[str, Callable[[], object]] = {}
        self._audience = audience
        self._began = clock.monotonic()
        self._parts: list[asyncio.Task[None]] = []

    @property
    def seconds(self) -> float:
        """Seconds since the stage was opened."""
        return self.clock.monotonic() - self._began

    def hurried(self, seconds: float) -> float:
        """A time of the story, divided by the factor of this stage."""
        return seconds / self.hurry

    def enter(self, part: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a task until the end of the stage, or until it is stopped."""
        task = asyncio.create_task(part)
        self._parts.append(task)
        return task

    async def leave(self, parts: Iterable[asyncio.Task[None]]) -> None:
        """Stop these tasks; a task that failed before fails the play."""
        for task in parts:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def close(self) -> None:
        """Stop all tasks and kill every control plane."""
        await self.leave(self._parts)
        for replica in self.replicas:
            await replica.kill()

    def narrate(self, text: str) -> None:
        """Report an event to the audience."""
        self._audience.report(self.seconds, text)

    async def tick(self) -> None:
        """Show the gauges repeatedly, until cancelled."""
        while True:
            self._audience.show(self.seconds, self._read_gauges())
            self._audience.see(self.seconds, self.scene)
            await self.clock.sleep(self.hurried(TICK_SECONDS))

    def scene(self) -> Scene:
        """The map of this moment. It awaits nothing, so that a replay that is recorded is the same replay."""
        known = self.replicas[-1].mooring.nodes.by_name if self.replicas else {}
        draining = {name for name, node in known.items() if node.draining_because}
        return Scene(
            {name: "draining" if name in draining else "open" for name in self.sandbox.fleet.node_names},
            compute_cells(self.watch.cache.values()),
            {replica.mooring.context.replica_id: not replica.task.done() for replica in self.replicas},
            self._read_gauges(),
        )

    def _read_gauges(self) -> dict[str, object]:
        return {name: read() for name, read in self.gauges.items()}

    def start(
        self,
        name: str = "a",
        rules: Sequence[Rule] = (),
        fault: LedgerFault = no_fault,
        namespaces: Sequence[str] = (),
    ) -> Replica:
        """Start a control plane, for all namespaces or for some.

        Its calls to the cluster are subject to the rules, those to the ledger to the fault.
        """
        process, clock = Process(), SkewedClock(self.clock)
        transport = FaultyTransport(self.sandbox.transport, Plan(rules), self.clock, self.entropy, process)
        ledger = FaultyLedger(self._open_ledger(), SharedFate(process, fault))
        given = Dependencies(
            KubeClient(transport, namespaces=namespaces),
            ledger,
            clock,
            self.entropy,
            ReplicaOptions(name),
            Adapters(self.mint, self.words, self.documents, self.doctor, self.gateway),
        )
        mooring = Mooring(given, self.timeouts)
        replica = Replica(mooring, process, transport, ledger, clock, asyncio.create_task(mooring.run()))
        self.replicas.append(replica)
        return replica

    async def pause(self, rules: Sequence[str]) -> None:
        """Pause invariants, as `mooring pause` does, for every control plane."""
        switches = Switches(self.ledger, self.clock)
        for rule in rules:
            await switches.pause(rule, actor="replay", reason="this half runs without protection")

    async def pool(self, name: str = "linux", **spec: Any) -> None:
        """Create a pool."""
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
        """All pods, read from the API."""
        return (await self.client.list(PODS, NAMESPACE)).items

    async def until(self, holds: Callable[[], Awaitable[bool]], within: float, what: str) -> float:
        """Wait for a condition in the stage's time; returns how long it took."""
        started = self.clock.monotonic()
        while not await holds():
            if self.clock.monotonic() - started > within:
                raise NotInTime(f"not within {within} s: {what}; pools {await self._pool_statuses()}")
            await self.clock.sleep(_LOOK_SECONDS)
        return self.clock.monotonic() - started

    async def _pool_statuses(self) -> dict[str, Any]:
        pools = (await self.client.list(WORKERPOOLS.raw(), NAMESPACE)).items
        return {pool["metadata"]["name"]: pool.get("status") for pool in pools}

    async def until_idle(self, count: int, within: float = 120.0, name: str = "linux") -> float:
        """Wait until exactly this number of workers is idle."""

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
    """The environment with its CRDs, one namespace and a witness, in virtual time."""
    clock, entropy = LoopClock(START), Entropy(seed)
    store = MemoryStore()
    async with virtual_cluster(clock, entropy, nodes, scripts_from(scripts)) as sandbox:
        setting = Setting(sandbox, clock, entropy, lambda: MemoryLedger(store, clock=clock, entropy=entropy))
        async with raise_curtain(setting, audience) as stage:
            yield stage


@contextlib.asynccontextmanager
async def raise_curtain(setting: Setting, audience: Audience) -> AsyncIterator[Stage]:
    """A stage with the CRDs, one namespace and a witness in its cluster. At the end everything is stopped."""
    stage = Stage(setting, audience)
    await install_crds(stage.client, setting.clock)
    await install_headroom_class(stage.client)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await stage.client.create(NAMESPACES, namespace)
    stage.enter(stage.watch.run())
    stage.enter(stage.tick())
    await stage.watch.wait_synced()
    try:
        yield stage
    finally:
        await stage.close()
