"""What the decision about a pool looks at, frozen."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import structlog

from mooring.controllers.pools.classification_cache import ClassificationCache
from mooring.controllers.pools.creation import WorkerCreation
from mooring.controllers.pools.demand import DemandTracker
from mooring.controllers.pools.headroom import PlaceholderCreation, placeholder_hash
from mooring.controllers.pools.health import HealthChecks
from mooring.controllers.pools.informer import PoolInformer
from mooring.controllers.pools.manifests import spec_hash, worker_manifest
from mooring.controllers.pools.quarantine import Quarantines
from mooring.engine.context import Context
from mooring.model.errors import Unavailable
from mooring.model.node import Node
from mooring.model.pool import Pool
from mooring.model.preflight import Preflight
from mooring.model.silence import PoolSilence
from mooring.planning.fit import plan_preflight
from mooring.planning.invariants.protection import ProtectionEnd
from mooring.planning.placement import Placed
from mooring.planning.pools.leaving_nodes import find_leaving_nodes
from mooring.planning.pools.node_claims import find_unbounded_nodes
from mooring.planning.pools.snapshot import HeadroomView, LedgerView, PoolSnapshot
from mooring.planning.quarantine import plan_avoidance

log = structlog.get_logger()

ProtectionEnds = Callable[[str], tuple[ProtectionEnd, ...]]  # by pool key
Silence = Callable[[Pool], PoolSilence]  # of its workers that poll


@dataclass(frozen=True, slots=True)
class _Claims:
    """What the ledger says about a pool."""

    ledger: LedgerView = field(default_factory=LedgerView)
    held: Mapping[str, int] = field(default_factory=dict)
    queued: int = 0


@dataclass(frozen=True, slots=True)
class _Fit:
    """Whether a worker finds a node at all: computed again when the pool, its placement or the nodes change."""

    of: tuple[str, Placed, int]
    found: Preflight


@dataclass(frozen=True, slots=True)
class PoolViews:
    """What others know of a pool."""

    health: HealthChecks
    quarantines: Quarantines
    protection_ends: ProtectionEnds
    silence: Silence
    demand: DemandTracker
    headroom: PlaceholderCreation


class PoolSnapshots:
    """Takes them. What it remembers only saves time."""

    def __init__(self, context: Context, informer: PoolInformer, creation: WorkerCreation, views: PoolViews) -> None:
        self._context = context
        self._informer = informer
        self._creation = creation
        self._views = views
        self._fits: dict[str, _Fit] = {}
        self._classified: dict[str, ClassificationCache] = {}

    async def take(self, pool: Pool) -> PoolSnapshot:
        """Everything about one pool."""
        # Pods before claims, always: a claim made in between is then seen, never missed (leaked-stamps).
        workers = tuple(worker for worker in self._informer.workers(pool.key) if worker.pool_uid == pool.uid)
        version = self._informer.pod_version
        claims = await self._read_ledger(pool)
        nodes, closed = self._context.nodes.by_name, self._views.quarantines.closed()
        placed = self._context.nodes.place(pool.spec.placement, pool.namespace)
        leaving = find_leaving_nodes(nodes.values(), placed, pool.spec.template)
        quarantined = plan_avoidance(closed, nodes.values(), placed)
        placed = replace(placed, avoid=tuple(sorted({*leaving, *quarantined})))
        unhealthy = self._views.health.failed_in(pool.key)
        cache = self._classified.setdefault(pool.key, ClassificationCache())
        return PoolSnapshot(
            now=self._context.clock.now(),
            pool=pool,
            spec_hash=spec_hash(pool, self._creation.server()),
            workers=workers,
            classified=cache.classify(workers, nodes, claims.held, unhealthy),
            nodes=nodes,
            placed=placed,
            held=claims.held,
            queued=claims.queued,
            in_flight=self._creation.in_flight(pool, workers, version),
            backoff=self._creation.backoff(pool.key),
            quarantined={name: closed[node.uid] for name, node in nodes.items() if node.uid in closed},
            unhealthy=unhealthy,
            problems=pool.problems,
            fit=None if pool.problems or placed.problem else self._fit(pool, placed),
            templates=self._context.nodes.templates,
            karpenter_read=self._context.nodes.karpenter.read,
            protected=self._protected(nodes, pool),
            ends=self._views.protection_ends(pool.key),
            silence=self._views.silence(pool),
            ledger=claims.ledger,
            outlook=self._views.demand.outlook(pool),
            held_floor=self._views.demand.held(pool) if pool.spec.demand is not None else None,
            scaled_by=self._views.demand.scaled_by(pool),
            headroom=self._headroom(pool, placed),
        )

    def forget(self, key: str) -> None:
        """The pool is gone."""
        self._fits.pop(key, None)
        self._classified.pop(key, None)

    def _headroom(self, pool: Pool, placed: Placed) -> HeadroomView:
        headroom = pool.spec.demand.headroom if pool.spec.demand is not None else None
        wanted = placeholder_hash(pool, headroom, placed) if headroom is not None and not pool.problems else ""
        return HeadroomView(self._informer.placeholders(pool), wanted, self._views.headroom.backoff(pool.key))

    def _protected(self, nodes: Mapping[str, Node], pool: Pool) -> Mapping[str, int]:
        """Protected workers of all pools on the nodes whose NodeClaim does not bound a drain; mostly there are none."""
        asked = {one.node.name for one in find_unbounded_nodes(nodes.values(), pool.spec.protection, {})}
        if not asked:
            return {}
        workers = (worker for of_pool in self._informer.worker_pools.values() for worker in of_pool.values())
        return Counter(worker.node for worker in workers if worker.protected and worker.node in asked)

    def _fit(self, pool: Pool, placed: Placed) -> Preflight:
        nodes = self._context.nodes
        of = (spec_hash(pool), placed, nodes.changes)
        known = self._fits.get(pool.key)
        if known is None or known.of != of:
            pod = worker_manifest(pool, pool.name, placed, self._context.ledger.incarnation.id, self._creation.server())
            found = plan_preflight(pod, nodes.by_name.values(), templates=nodes.templates)
            known = self._fits[pool.key] = _Fit(of, found)
        return known.found

    async def _read_ledger(self, pool: Pool) -> _Claims:
        try:
            found = await self._context.ledger.claims.occupancy(pool.namespace, pool.name)
        except Unavailable as error:
            log.warning("the ledger is away: nothing is retired", pool=pool.key, error=error.message)
            return _Claims()
        return _Claims(LedgerView(found.incarnation, found.armed), found.held, found.queued)
