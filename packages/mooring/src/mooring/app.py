"""Where everything is wired together: a cluster's client and a ledger go in, a running control plane comes out."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.follower import Follower
from mooring import __version__
from mooring.controllers.activity import PolledActivity
from mooring.controllers.budgets.controller import BudgetController
from mooring.controllers.claims.controller import ClaimController, ClaimDependencies
from mooring.controllers.claims.metrics import ClaimFigures
from mooring.controllers.claims.mint import Minter
from mooring.controllers.claims.ready_index import ReadyIndex
from mooring.controllers.claims.shares import Shares
from mooring.controllers.invariants.commands import InvariantCommands
from mooring.controllers.invariants.controller import InvariantController
from mooring.controllers.invariants.snapshot import WorkerSigns
from mooring.controllers.polls import Polls
from mooring.controllers.pools.controller import PoolController, PoolDependencies
from mooring.controllers.pools.health import HealthChecks
from mooring.controllers.pools.informer import PoolInformer
from mooring.controllers.pools.probe import Probe
from mooring.controllers.pools.server_address import ServerAddress
from mooring.controllers.services.controller import ServiceController
from mooring.controllers.services.document import Documents
from mooring.controllers.submissions.controller import SubmissionController
from mooring.controllers.warmups.controller import WarmupController
from mooring.engine.audit import Auditor
from mooring.engine.brakes import Brakes
from mooring.engine.context import Context, Platform
from mooring.engine.controller import Controller
from mooring.engine.events import EventWriter
from mooring.engine.evidence import gather_failure
from mooring.engine.fence import FencedTransport
from mooring.engine.fitness import Fitness
from mooring.engine.gate import Gate
from mooring.engine.housekeeping import KEEP_DEFAULT, Housekeeping, Retention
from mooring.engine.incarnation_trust import IncarnationTrust
from mooring.engine.leader import Candidate, Leadership
from mooring.engine.liveness import SignsOfLife
from mooring.engine.metrics import CACHE_FRESH, CACHE_OBJECTS, LEADING, KnownPools, LeaderGauge
from mooring.engine.nodes.informer import NodeInformer
from mooring.engine.own_api import OwnApi
from mooring.engine.stored_time import LedgerClock
from mooring.engine.switches import Switches
from mooring.ledger.observed import observe
from mooring.ledger.port import Ledger
from mooring.model.certificate import CertificateState
from mooring.model.submission import DEFAULT_CEILING
from mooring.model.timeouts import Timeouts, assert_order
from mooring.planning.services.plan import SCHEDULABLE
from mooring.queries.doctor import Doctor, Examined, OwnReplica
from mooring.queries.explain import Explainer
from mooring.queries.fleet import FleetQueries
from mooring.queries.inspection import Inspection
from mooring.queries.invariants import InvariantQueries, InvariantReading
from mooring.queries.metrics import INVARIANT_FIGURES
from mooring.queries.mint_checks import MintChecks
from mooring.queries.pools import PoolQueries
from mooring.queries.readiness import Readiness
from mooring.queries.readings import Readings
from mooring.queries.services import ServiceQueries
from mooring.queries.submissions import SubmissionQueries
from mooring.queries.warmups import WarmupQueries

AnyController = Controller[Any, Any, Any, Any]
C = TypeVar("C", bound=AnyController)
HAND_OVER_SECONDS = 0.5  # that passes under way have to end before another replica leads


@dataclass(frozen=True, slots=True)
class Adapters:
    """Connections to what is neither the cluster nor the ledger: mints, workers, services and Mooring's own API."""

    minter: Minter
    activity: PolledActivity
    documents: Documents
    probe: Probe
    own_api: OwnApi


@dataclass(frozen=True, slots=True)
class ReplicaOptions:
    """The name of a replica, and its settings."""

    id: str
    address: str = ""
    submission_ceiling: int = DEFAULT_CEILING
    worker_url: str = ""  # the address of Mooring for workers that poll; empty: their templates must name it
    retention: Retention = KEEP_DEFAULT
    worker_ca: Callable[[], str] = str  # CA certificates (PEM) by which workers that poll know Mooring
    certificate: Callable[[], CertificateState | None] = lambda: None  # of HTTPS


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a replica is given: a cluster, a ledger, time and randomness, its options and its adapters."""

    client: KubeClient
    ledger: Ledger
    clock: Clock
    entropy: Entropy
    options: ReplicaOptions
    adapters: Adapters


class Mooring:
    """One replica of the control plane. `run` until cancelled; `stop` for a clean end."""

    def __init__(self, given: Dependencies, timeouts: Timeouts = Timeouts()) -> None:
        assert_order(timeouts)
        self._timeouts = timeouts
        self._controllers: list[AnyController] = []
        self.clock = clock = LedgerClock(given.clock, given.ledger)
        fenced = given.client.through(lambda inner: FencedTransport(inner, lambda: self.leadership.term))
        given = replace(given, client=fenced, clock=clock)
        client, entropy, adapters = given.client, given.entropy, given.adapters
        self.nodes = NodeInformer(client, clock, entropy, timeouts)
        self.fleet = PoolInformer(client, self.nodes, clock, entropy, timeouts)
        self.context = context = self._context(given)
        self._housekeeping = Housekeeping(given.ledger, context.gate.may_act, clock, given.options.retention)
        self.health = HealthChecks(self.fleet, adapters.probe, adapters.activity, clock, entropy)
        self.polls = polls = Polls(context, self.fleet)
        shares = Shares(given.options.id)
        ready = ReadyIndex(
            self.fleet, self.nodes, lambda one: self.health.has_failed(one) or polls.is_silent(one), shares
        )
        self.leadership.on_look(ready.share_with)
        self.health.on_verdict(ready.update)
        polls.on_change(ready.update)
        self._pool_queries = PoolQueries(self.fleet, self.nodes, self.health, ready, polls, clock)

        claims = ClaimDependencies(adapters.minter, adapters.activity, polls, self._pool_queries)
        self.claims = ClaimController(context, self.fleet, ready, claims)
        signs = WorkerSigns(adapters.activity.executing, self.health.failed)
        self.invariants = InvariantController(context, self.fleet, signs, self.claims.stamps, self.claims.release)
        self.invariant_commands = InvariantCommands(context)
        server = partial(_read_server_address, given.options)
        pools = PoolDependencies(server, ready.idle, self.invariants.protection.ends, polls.silence)
        self.pools = self._add(PoolController(context, self.fleet, self.health, pools))
        self.invariants.protection.on_end(self.pools.look_at)
        polls.on_change(lambda pool_key, _: self.pools.look_at(pool_key))
        self.warmups = self._add(WarmupController(context))
        self.submissions = self._add(SubmissionController(context, given.options.submission_ceiling))
        self.services = self._add(ServiceController(context, adapters.documents))
        self.budgets = self._add(BudgetController(context, self.fleet))
        self.readiness = Readiness(lambda: self.reflectors, self.fitness, self.leadership)
        self.queries = self._queries(given.options)
        self.queries.doctor.look_too("mints", MintChecks(context, self.fleet, adapters.minter.refusal).look)

    def _context(self, given: Dependencies) -> Context:
        """The mechanisms that all controllers share."""
        figures = ClaimFigures(lambda key: self.fleet.pool(key) is not None)
        ledger, clock, options = observe(given.ledger, figures), given.clock, given.options
        self.switches = Switches(ledger, clock)
        base = (self.nodes, self.fleet)
        self.fitness = Fitness(given.client, clock, self._timeouts, base)
        candidate = Candidate(options.id, options.address, __version__, lambda: self.fitness.obstacle)
        self.leadership = Leadership(ledger, clock, self._timeouts, candidate, self.switches.why_paused)
        events = EventWriter(given.client, clock)
        return Context(
            platform=Platform(given.client, events, ledger, clock, given.entropy, self._timeouts, options.id),
            auditor=Auditor(ledger, clock, given.entropy, options.id, lambda: self.leadership.term),
            switches=self.switches,
            gate=Gate(self.leadership, self.switches, base),
            brakes=Brakes(self.nodes, base, self.switches, IncarnationTrust(ledger.incarnation.id, ledger.meta)),
            nodes=self.nodes,
            liveness=SignsOfLife(ledger, clock, self._timeouts, options.id, given.adapters.own_api),
        )

    def _queries(self, options: ReplicaOptions) -> Readings:
        """What the API and the pages read."""
        context, fleet, nodes, clock = self.context, self.fleet, self.nodes, self.context.clock
        services = ServiceQueries(self.services.informer, self.services.evidence)
        invariants = InvariantQueries(fleet, context.gate, self.switches, clock)
        invariants.find_too(SCHEDULABLE, services.unschedulable)
        quarantines = self.pools.quarantines
        reading = FleetQueries(fleet, nodes, context.ledger, self.health, quarantines, self._pool_queries, invariants)
        replica = OwnReplica(self.leadership, options.address, options.certificate, self.clock.machine)
        explainer = Explainer(context.client, nodes, clock, partial(gather_failure, context.client))
        examined = Examined(context, fleet, reading, quarantines, replica, lambda: self.reflectors, explainer.explain)
        return Readings(
            fleet=reading,
            services=services,
            warmups=WarmupQueries(self.warmups.informer, nodes),
            submissions=SubmissionQueries(self.submissions.informer),
            inspection=Inspection(fleet, nodes, context.ledger, reading, self.health, clock),
            explainer=explainer,
            doctor=Doctor(examined, clock),
        )

    def _add(self, controller: C) -> C:
        self._controllers.append(controller)
        return controller

    async def run(self) -> None:
        """Watch, lead when it is our turn, and reconcile."""
        self._expose_metrics()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.nodes.run())
            group.create_task(self.clock.run())
            group.create_task(self.fitness.run())
            group.create_task(self.leadership.run())
            group.create_task(self.switches.run())
            group.create_task(self.context.liveness.run())
            group.create_task(self.polls.run())
            group.create_task(self.claims.run())
            group.create_task(self.invariants.run())
            group.create_task(self._housekeeping.run())
            group.create_task(self.context.events.run())
            for controller in self._controllers:
                group.create_task(controller.run())

    async def hand_over(self) -> None:
        """Take up nothing new, and let another replica lead: at once, or when the passes under way end in time.

        What a pass still wants to write after that is refused.
        """
        await asyncio.gather(*(controller.drain(HAND_OVER_SECONDS) for controller in self._controllers))
        await self.leadership.leave()

    async def stop(self) -> None:
        """Hand over, let passes under way finish, and end."""
        await self.hand_over()
        await asyncio.gather(*(controller.stop(self._timeouts.shutdown) for controller in self._controllers))

    async def wait_synced(self) -> None:
        """Until nodes, pools and workers were read."""
        await self.nodes.wait_synced()
        await self.fleet.wait_synced()

    def subscribe(self, listener: Callable[[str, str], None]) -> None:
        """Call `listener` with the kind and key of everything that changes, and of every act."""
        self.nodes.subscribe(listener)
        for controller in self._controllers:
            controller.subscribe(listener)
        self.health.on_verdict(lambda pool_key, _: listener("worker", pool_key))
        self.pools.quarantines.subscribe(lambda name: listener("node", name))
        self.switches.on_flip(lambda invariant: listener("invariant", invariant))
        self.context.auditor.on_act(lambda key: listener("audit", key))

    @property
    def reflectors(self) -> dict[str, Follower[Any]]:
        """Every cache, by name."""
        found = dict(self.nodes.reflectors)
        for controller in self._controllers:
            found.update(controller.reflectors)
        return found

    def _expose_metrics(self) -> None:
        LEADING.set_function(lambda: float(self.leadership.leading))
        LeaderGauge.export_in(lambda: self.leadership.term)
        KnownPools.ask(lambda key: self.fleet.pool(key) is not None)
        INVARIANT_FIGURES.read_from(self._read_invariants)
        for name, reflector in self.reflectors.items():
            CACHE_OBJECTS.labels(name).set_function(partial(_length, reflector))
            CACHE_FRESH.labels(name).set_function(partial(_freshness, reflector))

    def _read_invariants(self) -> Sequence[InvariantReading]:
        """None before the ledger was read: a counter that comes up from zero seems to have counted all of it now."""
        return self.queries.fleet.invariants() if self.switches.known else ()


def _read_server_address(options: ReplicaOptions) -> ServerAddress:
    return ServerAddress(options.worker_url, options.worker_ca())


def _length(reflector: Follower[Any]) -> float:
    return float(len(reflector.cache))


def _freshness(reflector: Follower[Any]) -> float:
    return float(reflector.health.fresh)
