"""Health checks of all workers: one heap of due times, a bounded number under way, no task that sleeps for a worker.

Every replica checks for itself, as every replica hands out workers. All of it may be lost with the process: then
counting starts again, and nothing is given up before it has failed anew.
"""

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog

from hawser.clock import Clock, Entropy
from mooring.controllers.activity import PolledActivity
from mooring.controllers.pools.informer import PoolInformer
from mooring.controllers.pools.metrics import HEALTH_CHECKS, HEALTH_LAG, WORKERS_UNHEALTHY
from mooring.controllers.pools.probe import Answer, Probe, Target
from mooring.engine.containment import contained
from mooring.engine.fair_limit import FairLimit
from mooring.model.health import Check, WorkerHealth
from mooring.model.pool import Health, Pool, check_health
from mooring.model.worker import Worker
from mooring.planning.health import HealthCounts, find_doubt, record_check, suspend

log = structlog.get_logger()

MOST_AT_ONCE = 256
SLICE_SECONDS = 0.05  # checks due so soon begin together: fewer awakenings halve the cost
_FLEET = ""
OnVerdict = Callable[[str, str], None]  # pool key and uid


@dataclass(slots=True)
class _Checked:
    """A worker under observation."""

    pool_key: str
    due: float
    health: WorkerHealth = field(default_factory=WorkerHealth)


class HealthChecks:
    """Asks every worker of a pool with `spec.health` periodically, and remembers its answers."""

    def __init__(
        self, informer: PoolInformer, probe: Probe, activity: PolledActivity, clock: Clock, entropy: Entropy
    ) -> None:
        self._informer = informer
        self._probe = probe
        self._activity = activity
        self._clock = clock
        self._entropy = entropy
        self._checked: dict[str, _Checked] = {}  # by pod uid
        self._by_pool: dict[str, dict[str, WorkerHealth]] = defaultdict(dict)  # checked at least once
        self._tallies: dict[str, HealthCounts] = defaultdict(HealthCounts)  # by pool key, and of the whole fleet
        self._doubts: dict[str, str] = {}  # by pool key, and about the whole fleet
        self._due: list[tuple[float, str]] = []
        self._sooner = asyncio.Event()
        self._limit = FairLimit(MOST_AT_ONCE)
        self._listeners: list[OnVerdict] = []
        informer.subscribe_workers(self._on_worker)
        informer.subscribe(self._on_change)

    def on_verdict(self, listener: OnVerdict) -> None:
        """Call `listener` for every worker that failed or recovered; it must not wait."""
        self._listeners.append(listener)

    def of(self, pool_key: str, uid: str) -> WorkerHealth | None:
        """How a worker fares; None when it was never checked."""
        health = self._by_pool.get(pool_key, {}).get(uid)
        return None if health is None else suspend(health, self._doubt(pool_key))

    def failed_in(self, pool_key: str) -> Mapping[str, WorkerHealth]:
        """The workers of a pool whose checks reached the failure threshold, by uid."""
        counts = self._tallies.get(pool_key)
        if counts is None or not counts.failed or self._doubt(pool_key):
            return {}
        return {uid: health for uid, health in self._by_pool[pool_key].items() if health.failed}

    def failed(self) -> dict[str, WorkerHealth]:
        """The same of all pools."""
        return {uid: health for pool_key in self._by_pool for uid, health in self.failed_in(pool_key).items()}

    def has_failed(self, worker: Worker) -> bool:
        """Whether a worker must not get sessions because of its health."""
        health = self.of(f"{worker.namespace}/{worker.pool}", worker.uid)
        return health is not None and health.failed

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                await self._wait_for_due()
                soon = self._clock.monotonic() + SLICE_SECONDS
                while self._due and self._due[0][0] <= soon:
                    due, uid = heapq.heappop(self._due)
                    if (checked := self._checked.get(uid)) is not None:
                        self._limit.submit(checked.pool_key, partial(self._begin, due, uid))
        finally:
            self._limit.cancel()

    async def _wait_for_due(self) -> None:
        self._sooner.clear()
        left = self._due[0][0] - self._clock.monotonic() if self._due else None
        if left is not None and left <= 0:
            return
        try:
            async with asyncio.timeout(left):
                await self._sooner.wait()
        except TimeoutError:
            return

    def _begin(self, due: float, uid: str) -> asyncio.Task[None] | None:
        begun = None
        with contained("health", uid=uid):
            begun = self._begin_check(due, uid)
        return begun  # noqa: RET504  # what is raised above is contained

    def _begin_check(self, due: float, uid: str) -> asyncio.Task[None] | None:
        checked = self._checked.get(uid)
        if checked is None or checked.due != due:
            return None  # gone, or due at another time by now
        worker = self._informer.worker(checked.pool_key, uid)
        pool = self._informer.pool(checked.pool_key)
        health = _usable(pool)
        if worker is None or health is None:
            self._forget(uid)
            return None
        HEALTH_LAG.set(max(0.0, self._clock.monotonic() - due))
        if not _can_answer(worker, checked.health):
            self._schedule(uid, checked, health)
            return None
        return asyncio.create_task(self._check(worker, checked, health))

    async def _check(self, worker: Worker, checked: _Checked, health: Health) -> None:
        target = Target(worker.address, health.port, health.path, float(health.timeout_seconds))
        with contained("health", worker=worker.name, namespace=worker.namespace):
            answer = await self._probe.check(target)
            HEALTH_CHECKS.labels("ok" if answer.ok else "failed").inc()
            if self._checked.get(worker.uid) is checked:
                if answer.executing is not None:
                    self._activity.record(worker.uid, executing=answer.executing)
                self._record(worker.uid, checked, answer, health)
        if self._checked.get(worker.uid) is checked:
            self._schedule(worker.uid, checked, health)

    def _record(self, uid: str, checked: _Checked, answer: Answer, health: Health) -> None:
        check = Check(
            at=self._clock.now(),
            ok=answer.ok,
            detail=answer.detail,
            refused=answer.refused,
            executing=answer.executing,
            sessions=answer.sessions,
        )
        before = checked.health
        checked.health = record_check(before, check, health.failures)
        self._by_pool[checked.pool_key][uid] = checked.health
        self._count(checked.pool_key, before if before.recent else None, checked.health)
        if (before.failures >= before.limit) != (checked.health.failures >= health.failures):
            log.info("worker health", pool=checked.pool_key, uid=uid, health=checked.health.summary)
            self._notify(checked.pool_key, uid)

    def _count(self, pool_key: str, before: WorkerHealth | None, after: WorkerHealth | None) -> None:
        """Whether so many fail that it proves nothing. A change notifies every worker whose verdict depends on it."""
        for key in (pool_key, _FLEET):
            counts = self._tallies[key].replace(before, after)
            if counts == self._tallies[key]:
                continue
            self._tallies[key] = counts
            doubted, doubt = bool(self._doubts.pop(key, "")), find_doubt(counts)
            if doubt:
                self._doubts[key] = doubt
            if doubted != bool(doubt):
                log.info("health checks in doubt" if doubt else "health checks count again", pool=key, why=doubt)
                self._notify_failing(pool_key if key else "")
        WORKERS_UNHEALTHY.set(self._tallies[_FLEET].failed)

    def _notify_failing(self, pool_key: str) -> None:
        for key in [pool_key] if pool_key else list(self._by_pool):
            for uid, health in list(self._by_pool.get(key, {}).items()):
                if health.failures >= health.limit:
                    self._notify(key, uid)

    def _doubt(self, pool_key: str) -> str:
        return self._doubts.get(pool_key) or self._doubts.get(_FLEET, "")

    def _notify(self, pool_key: str, uid: str) -> None:
        for listener in self._listeners:
            listener(pool_key, uid)

    def _schedule(self, uid: str, checked: _Checked, health: Health) -> None:
        """At its next turn; turns that were missed are left out, so that a worker keeps its place in the period."""
        missed = max(0.0, self._clock.monotonic() - checked.due) // health.period_seconds
        checked.due += health.period_seconds * (missed + 1)
        self._push(checked.due, uid)

    def _push(self, due: float, uid: str) -> None:
        heapq.heappush(self._due, (due, uid))
        if self._due[0] == (due, uid):
            self._sooner.set()

    def _on_worker(self, pool_key: str, uid: str) -> None:
        worker, pool = self._informer.worker(pool_key, uid), self._informer.pool(pool_key)
        if worker is None:
            self._forget(uid)
        elif uid not in self._checked and (health := _usable(pool)) is not None:
            # Anywhere in the period: workers that came together are not asked together.
            due = self._clock.monotonic() + self._entropy.fraction() * health.period_seconds
            self._checked[uid] = _Checked(pool_key, due)
            self._push(due, uid)

    def _on_change(self, kind: str, key: str) -> None:
        if kind == "pool":
            for worker in self._informer.workers(key):
                self._on_worker(key, worker.uid)

    def _forget(self, uid: str) -> None:
        checked = self._checked.pop(uid, None)
        if checked is None:
            return
        of_pool = self._by_pool.get(checked.pool_key, {})
        if (health := of_pool.pop(uid, None)) is None:
            return
        self._count(checked.pool_key, health, None)
        if not of_pool:
            del self._by_pool[checked.pool_key], self._tallies[checked.pool_key]


def _usable(pool: Pool | None) -> Health | None:
    """The health check of a pool; None if there is none, or one that must not be made."""
    health = pool.spec.health if pool is not None else None
    return None if check_health(health) else health


def _can_answer(worker: Worker, health: WorkerHealth) -> bool:
    """A worker that is still starting is its kubelet's affair; the address of one that ended may be another's."""
    known = worker.ready or worker.stamp is not None or health.answered_at is not None
    return bool(worker.address) and worker.phase == "Running" and known
