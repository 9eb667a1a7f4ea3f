"""Where everything is wired together: a cluster's client and a ledger go in, a running control plane comes out."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mooring import __version__
from mooring.clock import Clock, Entropy
from mooring.control.auditing import Auditor
from mooring.control.budgets import Budgets
from mooring.control.claiming.activity import PolledActivity
from mooring.control.claiming.desk import Bells, ClaimDesk
from mooring.control.claiming.dispatching import Dispatching
from mooring.control.claiming.ending import Ending
from mooring.control.claiming.forgotten import ForgottenSessions
from mooring.control.claiming.handover import Handover
from mooring.control.claiming.identity import WorkerIdentity
from mooring.control.claiming.minting import Minter
from mooring.control.claiming.ready import ReadyIndex
from mooring.control.claiming.refusals import Refusals
from mooring.control.claiming.stamping import Stamper
from mooring.control.claiming.waiting import Waiting
from mooring.control.doctor import Doctor, Patient
from mooring.control.explaining import Explainer
from mooring.control.figures import INVARIANT_FIGURES
from mooring.control.fleet import Fleet
from mooring.control.health import HealthChecks
from mooring.control.housekeeping import Housekeeping
from mooring.control.inspection import Inspection
from mooring.control.leadership import Leadership
from mooring.control.loop import ReconcileLoop
from mooring.control.metrics import CACHE_FRESH, CACHE_OBJECTS, LEADING
from mooring.control.part import Part
from mooring.control.pools import PoolReconciler
from mooring.control.probing import Probe
from mooring.control.protecting import Guard
from mooring.control.quarantine import Quarantines
from mooring.control.reading import ReadSide
from mooring.control.reaping import Reaping
from mooring.control.remedies import Remedies
from mooring.control.rules import InvariantReading, Rules
from mooring.control.serving.document import Documents
from mooring.control.serving.services import Services
from mooring.control.standings import PoolStandings
from mooring.control.submitting.submissions import Submissions
from mooring.control.switches import Switches
from mooring.control.trust import LedgerTrust
from mooring.control.urgency import LEISURELY_SECONDS, SOON_SECONDS, changed_hands, told_only
from mooring.control.warming.part import Warming
from mooring.kube.client import KubeClient
from mooring.kube.reflector import Reflector
from mooring.ledger.port import Ledger
from mooring.ledger.records import Channel, Wake
from mooring.model.pool import Pool
from mooring.model.submission import DEFAULT_CEILING
from mooring.model.timeouts import Timeouts, assert_order
from mooring.model.worker import Worker
from mooring.planning.services.service import SCHEDULABLE

NODE_COALESCE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a replica is given: a cluster, a ledger, time and chance, and a name."""

    client: KubeClient
    ledger: Ledger
    clock: Clock
    entropy: Entropy
    replica_id: str
    minter: Minter
    activity: PolledActivity
    documents: Documents
    probe: Probe
    address: str = ""
    submission_ceiling: int = DEFAULT_CEILING
    worker_url: str = ""  # under which workers that poll reach Mooring; empty: their templates have to say


class Mooring:
    """One replica of the control plane. `run` until cancelled; `stop` to end it gently."""

    def __init__(self, given: Surroundings, timeouts: Timeouts = Timeouts()) -> None:
        assert_order(timeouts)
        client, ledger, clock, entropy = given.client, given.ledger, given.clock, given.entropy
        self._timeouts = timeouts
        self.fleet = Fleet(client, clock, entropy, timeouts)
        self.switches = Switches(ledger, clock)
        self.leadership = Leadership(
            ledger, clock, timeouts, given.replica_id, given.address, __version__, self.switches.why_paused
        )
        self.quarantines = Quarantines(self.fleet, clock)
        self.health = HealthChecks(self.fleet, given.probe, given.activity, clock, entropy)
        self._ready = ReadyIndex(self.fleet, self.health.has_failed)
        standings = PoolStandings(self.fleet, self.health, self._ready, clock)
        rules = Rules(self.fleet, self.switches, clock)
        self.reading = ReadSide(self.fleet, ledger, rules, self.quarantines, self.health, standings)
        self.inspection = Inspection(self.fleet, ledger, self.reading, self.health, clock)
        self._auditor = auditor = Auditor(ledger, clock, entropy, given.replica_id, lambda: self.leadership.term)
        trust = LedgerTrust(ledger.incarnation.id)
        self._guard = Guard(
            client, ledger, self.fleet, self.switches, auditor, self._may_act, clock, timeouts.guard_period, trust
        )
        self._pools = PoolReconciler(
            client,
            ledger,
            self.fleet,
            self.quarantines,
            self.health,
            clock,
            entropy,
            auditor,
            self.switches.why_paused,
            self._guard.ends,
            timeouts,
            given.worker_url,
            trust,
        )
        stamper = Stamper(client, self.fleet, clock, self.switches.why_paused)
        ending = Ending(client, ledger, self.fleet, self._ready, stamper, auditor, clock)
        handover = Handover(ledger, self._ready, stamper, given.minter, ending, clock)
        bells = Bells()
        refusals = Refusals(ledger, standings)
        self.desk = ClaimDesk(ledger, self.fleet, self._ready, handover, ending, refusals, bells, clock, entropy)
        self._waiting = Waiting(ledger, self.fleet, self._ready, handover, ending, bells, clock)
        self.identity = WorkerIdentity(client, self.fleet, clock)
        forgotten = ForgottenSessions(ledger, ending, auditor, clock)
        self.dispatching = Dispatching(ledger, self.fleet, ending, forgotten, given.activity, clock, given.replica_id)
        remedies = Remedies(client, ledger, stamper, ending, auditor, clock)
        self._reaping = Reaping(
            client,
            ledger,
            self.fleet,
            self.switches,
            remedies,
            given.activity,
            self.health,
            self._may_act,
            clock,
            timeouts,
            trust,
        )
        self._housekeeping = Housekeeping(ledger, self._may_act, clock)
        self._pool_loop = ReconcileLoop("pools", self._pools.reconcile, self._may_act, clock, entropy)
        self.services = Services(
            client, self.fleet, given.documents, auditor, self._leads, self.switches.why_paused, clock, entropy
        )
        rules.find_too(SCHEDULABLE, self.services.reading.unschedulable)
        self.warming = Warming(
            client, ledger, self.fleet, auditor, self.switches.why_paused, self._may_act, clock, entropy, timeouts
        )
        self.submissions = Submissions(
            client,
            ledger,
            self.fleet,
            auditor,
            self.switches,
            self._may_act,
            clock,
            entropy,
            given.replica_id,
            given.submission_ceiling,
        )
        self.budgets = Budgets(
            client, ledger, self.fleet, auditor, self.switches.why_paused, self._may_act, clock, entropy
        )
        self._parts: tuple[Part[Any], ...] = (self.services, self.warming, self.submissions, self.budgets)
        self.explainer = Explainer(client, self.fleet, clock)
        patient = Patient(
            client, ledger, self.fleet, self.reading, self.quarantines, self.leadership, lambda: self.reflectors
        )
        self.doctor = Doctor(patient, clock)
        self.fleet.subscribe(self._on_change)
        self.fleet.subscribe_workers(self._ready.update)
        self._guard.on_end(self._pool_loop.queue.add)
        self.fleet.follow(self._on_pool, self._on_worker)
        self.health.on_verdict(self._on_health)
        ledger.listen(Channel.QUEUE, self._on_queue)

    async def run(self) -> None:
        """Watch, lead when it is our turn, and reconcile."""
        self._expose_metrics()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.fleet.run())
            group.create_task(self.leadership.run())
            group.create_task(self.switches.run())
            group.create_task(self.health.run())
            group.create_task(self._pool_loop.run())
            group.create_task(self._waiting.run())
            group.create_task(self._reaping.run())
            group.create_task(self._guard.run())
            group.create_task(self._housekeeping.run())
            for part in self._parts:
                group.create_task(part.run())

    async def stop(self) -> None:
        """Finish passes under way and hand over."""
        stopping = (self._pool_loop.stop, *(part.stop for part in self._parts))
        await asyncio.gather(*(stop(self._timeouts.shutdown) for stop in stopping))
        await self.leadership.leave()

    def subscribe(self, listener: Callable[[str, str], None]) -> None:
        """Be told of every change of a pool, a worker or a node, and of every act."""
        self.fleet.subscribe(listener)
        for part in self._parts:
            part.subscribe(listener)
        self.health.on_verdict(lambda pool_key, _: listener("worker", pool_key))
        self.quarantines.subscribe(lambda name: listener("node", name))
        self._auditor.on_act(lambda key: listener("audit", key))

    @property
    def ready(self) -> bool:
        """Whether answers can be trusted: caches are synced."""
        return all(reflector.synced for reflector in self.reflectors.values())

    @property
    def reflectors(self) -> dict[str, Reflector[Any]]:
        """Every cache, by name."""
        found = dict(self.fleet.reflectors)
        for part in self._parts:
            found.update(part.reflectors)
        return found

    def describe(self) -> dict[str, Any]:
        """How each cache fares, and who leads."""
        caches = {}
        for name, reflector in self.reflectors.items():
            health = reflector.health
            caches[name] = {
                "synced": health.synced,
                "objects": len(reflector.cache),
                "lastEventAgeSeconds": health.last_event_age_seconds,
                "error": health.last_error,
            }
        return {"caches": caches, "leader": self.leadership.leader_id, "leading": self.leadership.leading}

    def _expose_metrics(self) -> None:
        LEADING.set_function(lambda: float(self.leadership.leading))
        INVARIANT_FIGURES.read_from(self._rules)
        for name, reflector in self.reflectors.items():
            CACHE_OBJECTS.labels(name).set_function(partial(_length, reflector))
            CACHE_FRESH.labels(name).set_function(partial(_freshness, reflector))

    def _rules(self) -> Sequence[InvariantReading]:
        """None before the ledger was read: a counter that comes up from zero seems to have counted all of it now."""
        return self.reading.invariants() if self.switches.known else ()

    def _leads(self) -> bool:
        """No rule may act before it is known whether somebody has switched it off."""
        return self.switches.known and self.leadership.leading

    def _may_act(self) -> bool:
        return self.fleet.synced and self._leads()

    def _on_change(self, kind: str, key: str) -> None:
        if kind in ("node", "nodepool"):
            for pool_key in self.fleet.pools:
                self._ready.refresh(pool_key)
                self._pool_loop.queue.add_after(pool_key, NODE_COALESCE_SECONDS)

    def _on_pool(self, key: str, before: Pool | None, after: Pool | None) -> None:
        if told_only(before, after):
            self._pool_loop.queue.add_after(key, LEISURELY_SECONDS)
        else:
            self._ready.refresh(key)
            self._pool_loop.queue.add(key)

    def _on_worker(self, key: str, before: Worker | None, after: Worker | None) -> None:
        pool = self.fleet.pool(key)
        floor_holds = pool is not None and self._ready.idle(key) >= pool.spec.warm
        leisurely = floor_holds and changed_hands(before, after)
        self._pool_loop.queue.add_after(key, LEISURELY_SECONDS if leisurely else SOON_SECONDS)

    def _on_health(self, pool_key: str, uid: str) -> None:
        self._ready.update(pool_key, uid)
        self._pool_loop.queue.add(pool_key)

    def _on_queue(self, wake: Wake) -> None:
        """Somebody waits: the pool may have to grow."""
        for key in [wake.payload] if wake.payload else list(self.fleet.pools):
            self._pool_loop.queue.add_after(key, SOON_SECONDS)


def _length(reflector: Reflector[Any]) -> float:
    return float(len(reflector.cache))


def _freshness(reflector: Reflector[Any]) -> float:
    return float(reflector.health.fresh)
