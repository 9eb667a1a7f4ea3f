"""The reconciler of Warmups: writes the status, releases what is stale, makes what is missing."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
import structlog

from mooring.controllers.warmups.adoption import WarmAdoption
from mooring.controllers.warmups.creation import WarmCreation
from mooring.controllers.warmups.evidence import POLL_SECONDS, WarmEvidence
from mooring.controllers.warmups.informer import WarmupInformer
from mooring.controllers.warmups.metrics import WARMUP_SHARDS
from mooring.controllers.warmups.reclaim import Reclaim
from mooring.controllers.warmups.release import Released, WarmRelease
from mooring.controllers.warmups.snapshot import WarmupSnapshots
from mooring.engine.context import Context
from mooring.engine.controller import Pass, Reconciler
from mooring.engine.status_writer import StatusWriter
from mooring.kinds.resources import WARMUPS
from mooring.ledger.records import InvariantCheck
from mooring.model import names
from mooring.model.errors import Unavailable
from mooring.model.warmup import ShardState, Warmup, WarmupStatus
from mooring.planning.warmups.plan import WarmupPlan, WarmupSnapshot, plan_warmup
from mooring.planning.warmups.staleness import WARM_ON_LIVE_NODE

log = structlog.get_logger()

_CHECK_SECONDS = 60.0

WarmupPass = Pass[Warmup, WarmupSnapshot, WarmupPlan]


class WarmupReconciler(Reconciler[Warmup, WarmupSnapshot, WarmupPlan]):
    """Keeps every dataset warm. All it remembers may be lost at any time: what counts is on the objects."""

    def __init__(self, context: Context, informer: WarmupInformer) -> None:
        self._ledger = context.ledger
        self._clock = context.clock
        self._informer = informer
        self._evidence = WarmEvidence(context, informer)
        self._creation = WarmCreation(context, informer)
        self._adoption = WarmAdoption(context)
        self._snapshots = WarmupSnapshots(informer, self._evidence, self._creation, self._adoption)
        self._release = WarmRelease(context, informer, self._creation)
        self._status: StatusWriter[WarmupStatus] = StatusWriter(context.client, WARMUPS, context.clock, context.events)
        self._reclaim = Reclaim(context, informer, self._write)
        self._broken: dict[str, int] = {}
        self._checked_at = float("-inf")

    async def reconcile(self, key: str) -> datetime | None:
        warmup = self._known(key)
        if warmup is not None and warmup.terminating and names.WARM_DATA_FINALIZER in warmup.finalizers:
            WARMUP_SHARDS.remove(key)
            return await self._reclaim.run(warmup)
        return await super().reconcile(key)

    def latest(self, key: str) -> Warmup | None:
        warmup = self._known(key)
        return None if warmup is None or warmup.terminating else warmup

    def _known(self, key: str) -> Warmup | None:
        warmup = self._informer.warmup(key)
        if warmup is None:
            return None
        status = self._status.latest(key, warmup.status, self._informer.version(warmup))
        return warmup if status is warmup.status else msgspec.structs.replace(warmup, status=status)

    def forget(self, key: str) -> None:
        self._informer.forget(key)
        self._reclaim.forget(key)
        self._adoption.forget(key)
        self._release.forget(key)
        self._evidence.forget(key)
        self._creation.forget(key)
        self._status.forget(key)
        self._broken.pop(key, None)
        WARMUP_SHARDS.remove(key)

    async def snapshot(self, found: Warmup) -> WarmupSnapshot:
        return await self._snapshots.take(found)

    def plan(self, snapshot: WarmupSnapshot) -> WarmupPlan:
        return plan_warmup(snapshot)

    async def intend(self, current: WarmupPass) -> WarmupPass:
        """First the status: a forced re-warm has fired, and a failure is counted, once they are written there."""
        warmup, plan = current.found, current.plan
        if plan.failing:  # a failure without evidence is a bug (permission-lag)
            failure = await self._evidence.last_words(warmup, plan.failing)
            plan = replace(plan, status=msgspec.structs.replace(plan.status, failure=failure))
        await self._reclaim.guard(warmup)
        await self._write(warmup, plan.status)
        return replace(current, plan=plan)

    async def delete(self, current: WarmupPass) -> WarmupPass:
        warmup, plan = current.found, current.plan
        released = await self._release.release(warmup, plan)
        if any(act.job.adopted for act in released.round.done) or released.round.undone:
            self._adoption.forget(warmup.key)
        if released.report is not None:
            plan = replace(plan, status=msgspec.structs.replace(plan.status, release=released.report))
            await self._write(warmup, plan.status)
        await self._record(warmup.key, released)
        return replace(current, plan=plan).wake(released.wake_at)

    async def create(self, current: WarmupPass) -> WarmupPass:
        warmup, plan, snapshot = current.found, current.plan, current.snapshot
        if plan.creates:
            await self._creation.create_all(warmup, plan.creates, snapshot.survey)
        elif plan.status.shards and not snapshot.problems:
            await self._creation.ensure_scripts(warmup.namespace)
        return current

    async def conclude(self, current: WarmupPass) -> WarmupPass:
        plan = current.plan
        counts = Counter(shard.state for shard in plan.status.shards)
        for state in ShardState:
            WARMUP_SHARDS.set(counts[state.value], current.found.key, state.value)
        asks = plan.fetching or plan.podless
        poll_at = self._clock.now() + timedelta(seconds=POLL_SECONDS) if asks else None
        return current.wake(plan.wake_at, poll_at, self._adoption.due_at(current.found))

    async def _write(self, warmup: Warmup, status: WarmupStatus) -> None:
        known = self._known(warmup.key)
        if known is not None:
            await self._status.write(warmup, known.status, status)

    async def _record(self, key: str, released: Released) -> None:
        """Record the check; one that finds nothing is recorded once a minute."""
        now, done = self._clock.monotonic(), released.round
        self._broken[key] = done.broken
        if not done.found and not done.healed_seconds and now - self._checked_at < _CHECK_SECONDS:
            return
        self._checked_at = now
        check = InvariantCheck(
            id=WARM_ON_LIVE_NODE,
            at=self._clock.now(),
            broken=sum(self._broken.values()),
            found=done.found,
            healed=done.healed_seconds,
            evidence={"warmup": key} if done.broken else None,
        )
        try:
            await self._ledger.invariants.record([check])
        except Unavailable as error:
            log.warning("a check was not recorded", invariant=WARM_ON_LIVE_NODE, error=error.message)
