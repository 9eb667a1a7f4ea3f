"""The guard: every two seconds each worker's shield is compared with who holds it.

Truth is read from the pod, never remembered (control-plane-failover): a shield that a dead control plane left behind
looks like any other, and is taken down by whoever leads. When nothing changed, nothing is asked and nothing is written.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import chain

import structlog

from mooring.clock import Clock
from mooring.control.announcing import Announcement, Announcer
from mooring.control.auditing import DONE, Auditor, Result
from mooring.control.fleet import Fleet
from mooring.control.metrics import RAILS_HELD
from mooring.control.shielding import Shields
from mooring.control.surroundings import see_cluster_and_ledger
from mooring.control.switches import Switches
from mooring.control.trust import LedgerTrust
from mooring.kube.client import KubeClient
from mooring.kube.errors import KubeError, ObjectChanged, ObjectConflict, ObjectNotFound
from mooring.ledger.port import Ledger
from mooring.ledger.records import Holds, InvariantCheck
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.errors import MooringError
from mooring.model.worker import Worker
from mooring.planning.protection import (
    BUSY_IS_PROTECTED,
    PROTECTION_BOUNDED,
    Lower,
    ProtectionEnd,
    ProtectionPlan,
    ProtectionSnapshot,
    Raise,
    plan_protection,
)
from mooring.planning.rails import World, apply_rails, compute_brakes

log = structlog.get_logger()

CAP_PER_LOOK = 200  # lowering is taken back by the next look, should it have been wrong
AT_ONCE = 16
RECORD_SECONDS = 10.0


class Guard:
    """Both rules of protection, on the replica that leads."""

    def __init__(
        self,
        client: KubeClient,
        ledger: Ledger,
        fleet: Fleet,
        switches: Switches,
        auditor: Auditor,
        may_act: Callable[[], bool],
        clock: Clock,
        period_seconds: float,
        trust: LedgerTrust,
    ) -> None:
        self._ledger = ledger
        self._fleet = fleet
        self._switches = switches
        self._auditor = auditor
        self._may_act = may_act
        self._clock = clock
        self._period_seconds = period_seconds
        self._shields = Shields(client)
        self._announcer = Announcer(client, clock)
        self._trust = trust
        self._sightings: Mapping[str, datetime] = {}
        self._announced: set[tuple[str, int]] = set()
        self._recorded_at = float("-inf")
        self._ends: dict[str, tuple[ProtectionEnd, ...]] = {}  # by pool key
        self._listeners: list[Callable[[str], None]] = []

    def on_end(self, listener: Callable[[str], None]) -> None:
        """Be told of which pool a protection comes near its end, or passes it."""
        self._listeners.append(listener)

    def ends(self, pool_key: str) -> tuple[ProtectionEnd, ...]:
        """The protections of a pool's workers that are near their end or past it, as of the last look."""
        return self._ends.get(pool_key, ())

    async def run(self) -> None:
        """Until cancelled. Without the ledger nobody knows who works: then nothing is touched."""
        while True:
            if self._may_act():
                try:
                    await self.look()
                except MooringError as error:
                    log.warning("the guard skipped a look", error=error.message)
            await self._clock.sleep(self._period_seconds)

    async def look(self) -> None:
        """One look at all workers."""
        workers = tuple(chain.from_iterable(of_pool.values() for of_pool in self._fleet.worker_pools.values()))
        holds = await self._ledger.claims.holds()
        plan = plan_protection(ProtectionSnapshot(self._clock.now(), workers, holds.items))
        raised = await self._raise(plan)
        lowered = await self._lower(plan, holds)
        self._tell(plan)
        await self._announce(plan)
        await self._record(plan, raised, lowered)

    async def _raise(self, plan: ProtectionPlan) -> int:
        if not plan.raises or self._switches.why_paused(BUSY_IS_PROTECTED):
            return 0
        gate = asyncio.Semaphore(AT_ONCE)
        done = await asyncio.gather(*(self._put_up(act, gate) for act in plan.raises))
        return sum(done)

    async def _put_up(self, act: Raise, gate: asyncio.Semaphore) -> bool:
        async with gate:
            try:
                await self._shields.put_up(act.worker)
            except (ObjectConflict, ObjectChanged, ObjectNotFound):
                return False  # it changed meanwhile: the next look decides anew
            except KubeError as error:
                log.warning("a worker could not be protected", worker=act.worker.name, error=error.message)
                return False
        log.info("a working pod had lost its protection", worker=act.worker.name, claims=len(act.holds))
        return True

    async def _lower(self, plan: ProtectionPlan, holds: Holds) -> list[Lower]:
        now = self._clock.now()
        sightings: dict[str, datetime] = {}
        lowered: list[Lower] = []
        for rule in (BUSY_IS_PROTECTED, PROTECTION_BOUNDED):
            acts = [act for act in plan.lowers if act.invariant == rule]
            brakes = compute_brakes(self._world(rule, holds)) if acts else ()
            verdict = apply_rails(acts, self._sightings, now, brakes, CAP_PER_LOOK, self._period_seconds * 0.75)
            RAILS_HELD.labels(rule).set(sum(held.act.due for held in verdict.held))
            sightings.update(verdict.sightings)
            gate = asyncio.Semaphore(AT_ONCE)
            done = await asyncio.gather(*(self._take_down(act, gate) for act in verdict.allowed))
            lowered += [act for act, ok in zip(verdict.allowed, done, strict=True) if ok]
        self._sightings = sightings
        return lowered

    async def _take_down(self, act: Lower, gate: asyncio.Semaphore) -> bool:
        async def take_down() -> Result:
            try:
                await self._shields.take_down(act.worker)
            except ObjectChanged as changed:
                return AuditOutcome.SKIPPED, changed.message
            return DONE

        async with gate:
            outcome = await self._auditor.carry_out(
                take_down,
                actor=f"invariant/{act.invariant}",
                action="unprotect",
                subject=_pod(act.worker),
                reason=act.reason,
                evidence=act.evidence,
            )
        if outcome is AuditOutcome.DONE and act.invariant == PROTECTION_BOUNDED:
            log.warning("protection ended at the ceiling", worker=act.worker.name, node=act.worker.node)
            await self._announcer.announce(
                Announcement(_pod(act.worker), "v1", "ProtectionEnded", act.reason, act.holds[-1].claim, "Warning")
            )
        return outcome is AuditOutcome.DONE

    def _tell(self, plan: ProtectionPlan) -> None:
        before, self._ends = self._ends, {}
        for end in plan.ends:
            key = f"{end.worker.namespace}/{end.worker.pool}"
            self._ends[key] = (*self._ends.get(key, ()), end)
        for key in before.keys() | self._ends.keys():
            if _shape(before.get(key, ())) != _shape(self._ends.get(key, ())):
                for listener in self._listeners:
                    listener(key)

    async def _announce(self, plan: ProtectionPlan) -> None:
        """Say once that an end is near; what was said before a restart is known by the Event's name."""
        if self._switches.why_paused(PROTECTION_BOUNDED):
            return
        fresh = [end for end in plan.ends if not end.passed and _occasion(end) not in self._announced]
        self._announced = {_occasion(end) for end in plan.ends}
        for near in fresh:
            log.warning("protection ends soon", worker=near.worker.name, until=near.until.isoformat())
            await self._announcer.announce(
                Announcement(_pod(near.worker), "v1", "CeilingNear", near.message, near.hold.claim, "Warning")
            )

    async def _record(self, plan: ProtectionPlan, raised: int, lowered: list[Lower]) -> None:
        """The figures of both rules: when there is something to tell, else now and then."""
        started, now = self._clock.monotonic(), self._clock.now()
        due = [act for act in plan.lowers if act.due]
        if not plan.raises and not due and started - self._recorded_at < RECORD_SECONDS:
            return
        self._recorded_at = started
        checks = []
        for rule, extra in ((BUSY_IS_PROTECTED, plan.raises), (PROTECTION_BOUNDED, ())):
            broken = [act for act in due if act.invariant == rule]
            healed = [self._seconds_of(act, now) for act in lowered if act.invariant == rule]
            healed += [0.0] * (raised if extra else 0)
            workers = [*(act.worker.name for act in broken), *(act.worker.name for act in extra)]
            checks.append(
                InvariantCheck(
                    id=rule,
                    at=now,
                    broken=len(workers) - len(healed),
                    found=len(healed),  # what is still broken is found when it is healed: each once
                    healed=tuple(healed),
                    evidence={"subject": workers[0]} if workers else None,
                )
            )
        await self._ledger.invariants.record(checks)

    def _seconds_of(self, act: Lower, now: datetime) -> float:
        return (now - self._sightings.get(act.key, now)).total_seconds() if act.floor_seconds == 0 else 0.0

    def _world(self, rule: str, holds: Holds) -> World:
        return see_cluster_and_ledger(self._fleet, self._switches.why_paused(rule), self._trust, holds)


def _occasion(end: ProtectionEnd) -> tuple[str, int]:
    return end.hold.claim, end.hold.epoch


def _shape(ends: tuple[ProtectionEnd, ...]) -> list[tuple[str, bool]]:
    return [(end.hold.claim, end.passed) for end in ends]


def _pod(worker: Worker) -> Subject:
    return Subject("Pod", worker.namespace, worker.name, worker.uid)
