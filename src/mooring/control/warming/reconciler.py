"""The reconciler of Warmups: snapshot, plan, write the status, release what is stale, make what is missing."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
import structlog

from mooring.clock import Clock
from mooring.control.auditing import Auditor
from mooring.control.fleet import Fleet
from mooring.control.metrics import WARMUP_SHARDS
from mooring.control.warming.creation import WarmCreation
from mooring.control.warming.evidence import POLL_SECONDS, WarmEvidence
from mooring.control.warming.release import Released, WarmRelease
from mooring.control.warming.watch import WarmupWatch
from mooring.kube.client import KubeClient
from mooring.kube.errors import ObjectNotFound
from mooring.kube.resources import WARMUPS
from mooring.ledger.port import Ledger
from mooring.ledger.records import InvariantCheck
from mooring.model.errors import Unavailable
from mooring.model.warmup import ShardState, Warmup, WarmupStatus, find_problems
from mooring.planning.actions import earliest
from mooring.planning.warmups.plan import WarmupPlan, WarmupSnapshot, plan_warmup
from mooring.planning.warmups.staleness import WARM_ON_LIVE_NODE

log = structlog.get_logger()

_CHECK_SECONDS = 60.0


class WarmupReconciler:
    """Keeps every dataset warm. All it remembers may be lost at any time: what counts is on the objects."""

    def __init__(
        self,
        client: KubeClient,
        ledger: Ledger,
        fleet: Fleet,
        watch: WarmupWatch,
        auditor: Auditor,
        why_paused: Callable[[str], str],
        clock: Clock,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._watch = watch
        self._clock = clock
        self._evidence = WarmEvidence(client, watch, clock)
        self._creation = WarmCreation(client, watch, clock)
        self._release = WarmRelease(client, fleet, watch, auditor, why_paused, clock)
        self._broken: dict[str, int] = {}
        self._checked_at = float("-inf")

    async def reconcile(self, key: str) -> datetime | None:
        """One pass over one dataset; answers when to look again."""
        warmup = self._watch.warmup(key)
        if warmup is None or warmup.terminating:
            self._forget(key)
            return None
        snapshot = self._snapshot(warmup)
        plan = plan_warmup(snapshot)
        moved = await self._evidence.poll(warmup, plan.fetching)
        if await self._evidence.look_for_pods(warmup, plan.podless) or moved:
            snapshot = self._snapshot(warmup)
            plan = plan_warmup(snapshot)
        plan = await self._with_evidence(warmup, plan)
        # First the status: a forced re-warm has fired, and a failure is counted, once they are written there.
        await self._write_status(warmup, plan.status)
        released = await self._release.release(warmup, plan)
        if released.release is not None:
            await self._write_status(warmup, msgspec.structs.replace(plan.status, release=released.release))
        await self._record(key, released)
        await self._create(warmup, plan, snapshot)
        _count(warmup, plan.status)
        poll_at = self._clock.now() + timedelta(seconds=POLL_SECONDS) if plan.fetching or plan.podless else None
        return earliest(plan.wake_at, released.wake_at, poll_at)

    def _snapshot(self, warmup: Warmup) -> WarmupSnapshot:
        return WarmupSnapshot(
            warmup=warmup,
            ground=self._watch.ground(warmup),
            jobs=self._watch.jobs(warmup),
            pods=self._watch.pods(warmup),
            load=self._watch.load,
            progress=self._evidence.progress(warmup.key),
            taken=self._creation.taken(warmup.namespace),
            refused=self._creation.refused(warmup),
            hindered=self._evidence.hindered(warmup.key),
            problems=find_problems(warmup, self._watch.older(warmup)),
        )

    async def _with_evidence(self, warmup: Warmup, plan: WarmupPlan) -> WarmupPlan:
        """A failure without evidence is a bug (permission-lag)."""
        if not plan.failing:
            return plan
        failure = await self._evidence.last_words(warmup, plan.failing)
        return replace(plan, status=msgspec.structs.replace(plan.status, failure=failure))

    async def _create(self, warmup: Warmup, plan: WarmupPlan, snapshot: WarmupSnapshot) -> None:
        if plan.creates:
            await self._creation.create_all(warmup, plan.creates, snapshot.ground)
        elif plan.status.shards and not snapshot.problems:
            await self._creation.ensure_scripts(warmup.namespace)

    async def _write_status(self, warmup: Warmup, status: WarmupStatus) -> None:
        known = self._watch.warmup(warmup.key)
        if known is None or known.status == status:
            return
        body = {"metadata": {"uid": warmup.uid}, "status": msgspec.to_builtins(status)}
        try:
            view = await self._client.merge_patch(WARMUPS, warmup.name, body, warmup.namespace, subresource="status")
        except ObjectNotFound:
            return
        self._watch.expect_status(warmup.key, int(view.metadata.resource_version), status)

    async def _record(self, key: str, released: Released) -> None:
        """Tell the rule's page; a quiet rule is told once a minute that it was looked at."""
        now = self._clock.monotonic()
        self._broken[key] = released.broken
        if not released.found and not released.healed and now - self._checked_at < _CHECK_SECONDS:
            return
        self._checked_at = now
        check = InvariantCheck(
            id=WARM_ON_LIVE_NODE,
            at=self._clock.now(),
            broken=sum(self._broken.values()),
            found=released.found,
            healed=released.healed,
            evidence={"warmup": key} if released.broken else None,
        )
        try:
            await self._ledger.invariants.record([check])
        except Unavailable as error:
            log.warning("a check was not recorded", rule=WARM_ON_LIVE_NODE, error=error.message)

    def _forget(self, key: str) -> None:
        self._watch.forget(key)
        self._release.forget(key)
        self._evidence.forget(key)
        self._creation.forget(key)
        self._broken.pop(key, None)


def _count(warmup: Warmup, status: WarmupStatus) -> None:
    counts = Counter(shard.state for shard in status.shards)
    for state in ShardState:
        WARMUP_SHARDS.labels(warmup.key, state.value).set(counts[state.value])
