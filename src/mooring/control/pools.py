"""The reconciler of WorkerPools: snapshot, plan, execute, say how it stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import structlog

from mooring.clock import Clock, Entropy
from mooring.control.auditing import Auditor
from mooring.control.creation import Creation, WorkerCreation
from mooring.control.fleet import Fleet
from mooring.control.health import HealthChecks
from mooring.control.manifests import spec_hash, worker_manifest
from mooring.control.metrics import POOL_WORKERS
from mooring.control.overlay import Overlay
from mooring.control.quarantine import Quarantines
from mooring.control.retirement import WorkerRetirement
from mooring.control.surroundings import see_cluster_and_ledger
from mooring.control.trust import LedgerTrust
from mooring.kube.client import KubeClient
from mooring.kube.errors import ObjectNotFound
from mooring.kube.resources import WORKERPOOLS
from mooring.ledger.port import Ledger
from mooring.model.errors import Unavailable
from mooring.model.pool import Pool, PoolStatus, find_problems
from mooring.model.preflight import Preflight
from mooring.model.timeouts import Timeouts
from mooring.planning.actions import earliest
from mooring.planning.fit import plan_preflight
from mooring.planning.placement import Placed
from mooring.planning.pools import WARM_FLOOR, Backoff, PoolPlan, PoolSnapshot, plan_pool
from mooring.planning.protection import ProtectionEnd
from mooring.planning.quarantine import plan_avoidance
from mooring.planning.rails import World, compute_brakes
from mooring.planning.roster import Roster

log = structlog.get_logger()

BACKOFF_FLOOR_SECONDS = 2.0
BACKOFF_CEILING_SECONDS = 300.0
STATUS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Held:
    """What the ledger says about a pool; `readable` is False when it did not answer."""

    readable: bool
    incarnation: str = ""
    armed: bool = False
    by_pod: Mapping[str, int] = field(default_factory=dict)
    queued: int = 0


@dataclass(frozen=True, slots=True)
class _Written:
    """The status this process wrote last, and the version it got: the cache may lag behind it."""

    status: PoolStatus
    version: int
    at: float


@dataclass(frozen=True, slots=True)
class _Fit:
    """Whether a worker finds a node at all: looked at again when the pool, its terms or the nodes change."""

    of: tuple[str, Placed, int]
    found: Preflight


class PoolReconciler:
    """Keeps every pool's floor. All it remembers may be lost at any time."""

    def __init__(
        self,
        client: KubeClient,
        ledger: Ledger,
        fleet: Fleet,
        quarantines: Quarantines,
        health: HealthChecks,
        clock: Clock,
        entropy: Entropy,
        auditor: Auditor,
        is_paused: Callable[[str], str],
        ends: Callable[[str], tuple[ProtectionEnd, ...]],
        timeouts: Timeouts,
        worker_url: str,
        trust: LedgerTrust,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._fleet = fleet
        self._quarantines = quarantines
        self._health = health
        self._clock = clock
        self._entropy = entropy
        self._worker_url = worker_url
        self._trust = trust
        self._is_paused = is_paused
        self._ends = ends
        self._overlay = Overlay(timeouts.overlay_expiry)
        self._creation = WorkerCreation(client, self._overlay, clock, worker_url)
        self._retirement = WorkerRetirement(client, auditor, self._overlay, clock)
        self._incarnation = ledger.incarnation.id
        self._backoffs: dict[str, Backoff] = {}
        self._written: dict[str, _Written] = {}
        self._fits: dict[str, _Fit] = {}
        self._rosters: dict[str, Roster] = {}

    async def reconcile(self, key: str) -> datetime | None:
        """One pass over one pool; answers when to look again."""
        pool = self._fleet.pool(key)
        if pool is None:
            self._forget(key)
            return None
        snapshot, held = await self._snapshot(pool)
        plan = plan_pool(snapshot)
        brakes = compute_brakes(self._world(held))
        await self._create(pool, plan, snapshot)
        wake_at = await self._retirement.retire(pool, plan.retires, brakes)
        status_due = await self._write_status(pool, plan.status)
        _count(pool, plan.status)
        return earliest(wake_at, plan.wake_at, self._backoff_end(key), status_due)

    async def _snapshot(self, pool: Pool) -> tuple[PoolSnapshot, _Held]:
        # Pods before claims, always: a claim made in between is then seen, never missed (leaked-stamps).
        workers = tuple(worker for worker in self._fleet.workers(pool.key) if worker.pool_uid == pool.uid)
        version = self._fleet.pod_version
        held = await self._read_ledger(pool)
        nodes, closed = self._fleet.nodes, self._quarantines.closed()
        placed = self._fleet.place(pool.spec.placement, pool.namespace)
        placed = replace(placed, avoid=plan_avoidance(closed, nodes.values(), placed))
        snapshot = PoolSnapshot(
            now=self._clock.now(),
            pool=pool,
            spec_hash=spec_hash(pool, self._worker_url),
            workers=workers,
            nodes=nodes,
            placed=placed,
            held=held.by_pod,
            queued=held.queued,
            in_flight=self._overlay.in_flight(pool.key, workers, version, self._clock.monotonic()),
            backoff=self._backoffs.get(pool.key),
            quarantined={name: closed[node.uid] for name, node in nodes.items() if node.uid in closed},
            unhealthy=self._health.failed_in(pool.key),
            problems=find_problems(pool),
            fit=self._fit(pool, placed),
            roster=self._rosters.setdefault(pool.key, Roster()),
            templates=self._fleet.node_templates,
            ends=self._ends(pool.key),
        )
        return snapshot, held

    def _fit(self, pool: Pool, placed: Placed) -> Preflight | None:
        if placed.problem or find_problems(pool):
            return None
        of = (spec_hash(pool), placed, self._fleet.terrain)
        known = self._fits.get(pool.key)
        if known is None or known.of != of:
            pod = worker_manifest(pool, pool.name, placed, self._incarnation, self._worker_url)
            found = plan_preflight(pod, self._fleet.nodes.values(), templates=self._fleet.node_templates)
            known = self._fits[pool.key] = _Fit(of, found)
        return known.found

    async def _read_ledger(self, pool: Pool) -> _Held:
        try:
            found = await self._ledger.claims.occupancy(pool.namespace, pool.name)
        except Unavailable as error:
            log.warning("the ledger is away: nothing is retired", pool=pool.key, error=error.message)
            return _Held(readable=False)
        return _Held(True, found.incarnation, found.armed, found.held, found.queued)

    def _world(self, held: _Held) -> World:
        return see_cluster_and_ledger(self._fleet, self._is_paused(WARM_FLOOR), self._trust, held)

    async def _create(self, pool: Pool, plan: PoolPlan, snapshot: PoolSnapshot) -> None:
        if not plan.creates:
            return
        creation = await self._creation.create(pool, plan.creates, snapshot.placed, self._incarnation)
        if creation.failure:
            self._back_off(pool, creation)
        else:
            self._backoffs.pop(pool.key, None)

    def _back_off(self, pool: Pool, creation: Creation) -> None:
        before = self._backoffs.get(pool.key)
        failures = before.failures + 1 if before else 1
        ceiling = min(BACKOFF_CEILING_SECONDS, BACKOFF_FLOOR_SECONDS * 2 ** min(failures, 10))
        delay = max(self._entropy.between(BACKOFF_FLOOR_SECONDS, ceiling), creation.retry_after_seconds or 0.0)
        until = self._clock.now() + timedelta(seconds=delay)
        self._backoffs[pool.key] = Backoff(
            failures, until, f"creating a worker failed {failures} time(s): {creation.failure}"
        )
        log.warning(
            "creates back off", pool=pool.key, failures=failures, seconds=round(delay, 1), error=creation.failure
        )

    def _backoff_end(self, key: str) -> datetime | None:
        backoff = self._backoffs.get(key)
        return backoff.until if backoff else None

    async def _write_status(self, pool: Pool, status: PoolStatus) -> datetime | None:
        """Say how it stands; mere counts are said once a second. Answers when to say what was not said now."""
        written = self._written.get(pool.key)
        lagging = written is not None and self._fleet.pool_version(pool.key) < written.version
        known = written.status if written is not None and lagging else pool.status
        if known == status:
            return None
        pause = written.at + STATUS_SECONDS - self._clock.monotonic() if written is not None else 0.0
        if pause > 0 and _verdicts(known) == _verdicts(status):
            return self._clock.now() + timedelta(seconds=pause)
        body: dict[str, Any] = {"metadata": {"uid": pool.uid}, "status": msgspec.to_builtins(status)}
        try:
            view = await self._client.merge_patch(WORKERPOOLS, pool.name, body, pool.namespace, subresource="status")
        except ObjectNotFound:
            return None
        self._written[pool.key] = _Written(status, int(view.metadata.resource_version), self._clock.monotonic())
        return None

    def _forget(self, key: str) -> None:
        self._overlay.forget(key)
        self._retirement.forget(key)
        self._backoffs.pop(key, None)
        self._written.pop(key, None)
        self._fits.pop(key, None)
        self._rosters.pop(key, None)


def _verdicts(status: PoolStatus) -> list[tuple[str, str, str, int]]:
    """What a status says apart from counts."""
    return [(one.type, one.status, one.reason, one.observed_generation) for one in status.conditions]


def _count(pool: Pool, status: PoolStatus) -> None:
    for state in ("idle", "busy", "starting", "draining", "lost"):
        POOL_WORKERS.labels(pool.key, state).set(getattr(status, state))
