"""Protection: every two seconds the marks on each worker's pod are compared with the claims on it.

Truth is read from the pod, never remembered (control-plane-failover): marks that a dead control plane left behind look
like any others, and the leader removes them. When nothing changed, nothing is asked and nothing is written.
"""

import asyncio
from collections.abc import Callable, Mapping
from itertools import chain

import structlog

from hawser.errors import KubeError, ObjectChanged, ObjectConflict, ObjectNotFound
from mooring.controllers.fleet import Fleet
from mooring.controllers.invariants.protection_marks import ProtectionMarks
from mooring.engine.audit import DONE, Result
from mooring.engine.containment import contained
from mooring.engine.context import Context
from mooring.engine.events import EventNote
from mooring.engine.guarded_delete import GuardedActs, Limits, Round
from mooring.ledger.records import Holds, InvariantCheck
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.claim import Hold
from mooring.model.errors import MooringError
from mooring.model.moments import later
from mooring.model.worker import Worker
from mooring.planning.invariants.protection import (
    BUSY_IS_PROTECTED,
    PROTECTION_BOUNDED,
    ProtectionEnd,
    ProtectionPlan,
    ProtectionSnapshot,
    ProtectWorker,
    UnprotectWorker,
    plan_protection,
)

log = structlog.get_logger()

CAP_PER_CHECK = 200  # a wrong removal is corrected by the next check
AT_ONCE = 16
RECORD_SECONDS = 10.0


class ProtectionEnforcement:
    """Both invariants of protection, on the replica that leads."""

    def __init__(self, context: Context, fleet: Fleet) -> None:
        self._context = context
        self._ledger = context.ledger
        self._switches = context.switches
        self._clock = context.clock
        self._fleet = fleet
        self._period_seconds = context.timeouts.guard_period
        self._marks = ProtectionMarks(context.client)
        self._events = context.events
        limits = Limits(CAP_PER_CHECK, self._period_seconds * 0.75, AT_ONCE)
        self._unprotecting: dict[str, GuardedActs] = {
            invariant: GuardedActs(invariant, context.auditor, context.clock, limits)
            for invariant in (BUSY_IS_PROTECTED, PROTECTION_BOUNDED)
        }
        self._announced: set[tuple[str, int]] = set()
        self._recorded_at = float("-inf")
        self._ends: dict[str, tuple[ProtectionEnd, ...]] = {}  # by pool key
        self._listeners: list[Callable[[str], None]] = []

    def on_end(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the key of a pool of which a protection comes near its end, or passes it."""
        self._listeners.append(listener)

    def ends(self, pool_key: str) -> tuple[ProtectionEnd, ...]:
        """The protections of a pool's workers that are near their end or past it, as of the last look."""
        return self._ends.get(pool_key, ())

    async def run(self) -> None:
        """Until cancelled. Without the ledger it is unknown which workers are busy, so nothing is changed."""
        while True:
            if self._context.gate.may_act():
                with contained("protection"):
                    try:
                        with self._context.gate.acting():
                            await self.look()
                    except MooringError as error:
                        log.warning("protection check skipped", error=error.message)
            await self._clock.sleep(self._period_seconds)

    async def look(self) -> None:
        """One look at all workers."""
        workers = tuple(chain.from_iterable(of_pool.values() for of_pool in self._fleet.worker_pools.values()))
        holds = await self._ledger.claims.holds()
        unknown = tuple(self._hold_of_unproven(worker) for worker in workers if worker.unproven_since is not None)
        plan = plan_protection(ProtectionSnapshot(self._clock.now(), workers, (*holds.items, *unknown)))
        protected = await self._protect(plan)
        removed = await self._unprotect(plan, holds)
        self._notify(plan)
        self._announce(plan)
        await self._record(plan, protected, removed)

    def _hold_of_unproven(self, worker: Worker) -> Hold:
        """The unknown sessions of an adopted worker are protected like a claim, up to the ceiling of its pool."""
        pool = self._fleet.pool(f"{worker.namespace}/{worker.pool}")
        since = worker.unproven_since or worker.created_at
        ceiling = pool.spec.protection.ceiling_seconds if pool is not None else 0
        until = later(since, ceiling)  # anybody may have written it
        return Hold(worker.uid, f"adopted-{worker.uid}", 0, "a session from before its adoption", since, until)

    async def _protect(self, plan: ProtectionPlan) -> int:
        if not plan.protects or self._switches.why_paused(BUSY_IS_PROTECTED):
            return 0
        gate = asyncio.Semaphore(AT_ONCE)
        done = await asyncio.gather(*(self._set_marks(act, gate) for act in plan.protects))
        return sum(done)

    async def _set_marks(self, act: ProtectWorker, gate: asyncio.Semaphore) -> bool:
        async with gate:
            try:
                await self._marks.set(act.worker)
            except (ObjectConflict, ObjectChanged, ObjectNotFound):
                return False  # it changed meanwhile: the next look decides anew
            except KubeError as error:
                log.warning("a worker could not be protected", worker=act.worker.name, error=error.message)
                return False
        log.info("a working pod had lost its protection", worker=act.worker.name, claims=len(act.holds))
        return True

    async def _unprotect(self, plan: ProtectionPlan, holds: Holds) -> dict[str, Round[UnprotectWorker]]:
        rounds = {}
        for invariant, guarded in self._unprotecting.items():
            acts = [act for act in plan.unprotects if act.invariant == invariant]
            brakes = await self._context.brakes.by_cluster_and_ledger(invariant, holds) if acts else ()
            done = await guarded.carry_out("", acts, brakes, self._remove_marks, lambda act: act.due)
            rounds[invariant] = done
            for act in done.done if invariant == PROTECTION_BOUNDED else ():
                log.warning("protection ended at the ceiling", worker=act.worker.name, node=act.worker.node)
                self._events.record(
                    EventNote(act.subject, "v1", "ProtectionEnded", act.reason, act.holds[-1].claim, "Warning")
                )
        return rounds

    async def _remove_marks(self, act: UnprotectWorker) -> Result:
        try:
            await self._marks.clear(act.worker)
        except ObjectChanged as changed:
            return AuditOutcome.SKIPPED, changed.message
        return DONE

    def _notify(self, plan: ProtectionPlan) -> None:
        before, self._ends = self._ends, {}
        for end in plan.ends:
            key = f"{end.worker.namespace}/{end.worker.pool}"
            self._ends[key] = (*self._ends.get(key, ()), end)
        for key in before.keys() | self._ends.keys():
            if _shape(before.get(key, ())) != _shape(self._ends.get(key, ())):
                for listener in self._listeners:
                    listener(key)

    def _announce(self, plan: ProtectionPlan) -> None:
        """Say once that an end is near; what was said before a restart is known by the Event's name."""
        if self._switches.why_paused(PROTECTION_BOUNDED):
            return
        fresh = [end for end in plan.ends if not end.passed and _occasion(end) not in self._announced]
        self._announced = {_occasion(end) for end in plan.ends}
        for near in fresh:
            log.warning("protection ends soon", worker=near.worker.name, until=near.until.isoformat())
            self._events.record(
                EventNote(_pod(near.worker), "v1", "CeilingNear", near.message, near.hold.claim, "Warning")
            )

    async def _record(self, plan: ProtectionPlan, protected: int, rounds: Mapping[str, Round[UnprotectWorker]]) -> None:
        """The figures of both invariants: when there is something to record, else now and then."""
        started, now = self._clock.monotonic(), self._clock.now()
        due = [act for act in plan.unprotects if act.due]
        if not plan.protects and not due and started - self._recorded_at < RECORD_SECONDS:
            return
        self._recorded_at = started
        checks = []
        for invariant, done in rounds.items():
            unprotected = plan.protects if invariant == BUSY_IS_PROTECTED else ()
            # What waits for its ceiling is seen long before it is due: it is healed at once when that comes.
            waited = [
                0.0 if act.floor_seconds else seconds
                for act, seconds in zip(done.done, done.healed_seconds, strict=True)
            ]
            healed = (*waited, *([0.0] * (protected if unprotected else 0)))
            workers = [act.worker.name for act in due if act.invariant == invariant]
            workers += [act.worker.name for act in unprotected]
            checks.append(
                InvariantCheck(
                    id=invariant,
                    at=now,
                    broken=len(workers) - len(healed),
                    found=len(healed),  # what is still broken is found when it is healed: each once
                    healed=healed,
                    evidence={"subject": workers[0]} if workers else None,
                )
            )
        await self._ledger.invariants.record(checks)


def _occasion(end: ProtectionEnd) -> tuple[str, int]:
    return end.hold.claim, end.hold.epoch


def _shape(ends: tuple[ProtectionEnd, ...]) -> list[tuple[str, bool]]:
    return [(end.hold.claim, end.passed) for end in ends]


def _pod(worker: Worker) -> Subject:
    return Subject("Pod", worker.namespace, worker.name, worker.uid)
