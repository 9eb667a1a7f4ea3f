"""Pools, workers and nodes as people and programs see them: plain structs of the contract."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from mooring.ledger.port import Ledger
from mooring.ledger.records import AuditFilter, AuditPage, ClaimFilter, ClaimPage
from mooring.model.claim import Claim
from mooring.model.errors import NotFound, Unavailable
from mooring.model.health import WorkerHealth
from mooring.model.node import Node
from mooring.model.pool import Pool, PoolSpec, PoolStatus, compute_floor
from mooring.model.pool_verdict import PoolVerdict
from mooring.model.suggestions import suggest
from mooring.model.why import Why
from mooring.model.worker import ClassifiedWorker, Worker
from mooring.planning.fairness import compute_order
from mooring.planning.workers import classify_worker
from mooring.queries.invariants import InvariantQueries, InvariantReading
from mooring.queries.nodes import NodeReading, explain_held, load_of, read_node, worker_requests
from mooring.queries.pools import PoolQueries
from mooring.queries.sources import HealthSource, NodeSource, PoolSource, QuarantineSource
from mooring.queries.visibility import LimitedQueries


class PoolReading(msgspec.Struct, frozen=True, rename="camel"):
    """A pool of the contract."""

    namespace: str
    name: str
    spec: PoolSpec
    status: PoolStatus
    generation: int
    terminating: bool
    why: Why
    verdict: PoolVerdict

    @property
    def floor(self) -> int:
        """The number of idle workers to keep: `spec.warm`, or what followed from demand last."""
        return compute_floor(self.spec, self.status)


class WorkerReading(msgspec.Struct, frozen=True, rename="camel"):
    """A worker of the contract."""

    namespace: str
    name: str
    uid: str
    pool: str
    node: str
    state: str
    reason: str
    owner: str
    claims: tuple[str, ...]
    protected_until: datetime | None
    address: str
    why: Why
    since: datetime | None
    created_at: datetime
    restarts: int
    protected: bool
    health: str = ""  # empty: not checked
    failing: bool = False  # its containers do not start, or do not stay up


class FleetQueries(LimitedQueries):
    """Answers questions from caches and the ledger; changes nothing."""

    def __init__(
        self,
        pools: PoolSource,
        nodes: NodeSource,
        ledger: Ledger,
        health: HealthSource,
        quarantines: QuarantineSource,
        pool_queries: PoolQueries,
        invariants: InvariantQueries,
    ) -> None:
        self._fleet = pools
        self._nodes = nodes
        self._health = health
        self._quarantines = quarantines
        self._ledger = ledger
        self._pool_queries = pool_queries
        self._invariants = invariants

    def namespaces(self) -> set[str]:
        """The namespaces that have pools or workers."""
        return {key.partition("/")[0] for key in (*self._fleet.pools, *self._fleet.worker_pools)}

    def pools(self) -> list[PoolReading]:
        """All pools, by namespace and name."""
        seen = self._visibility.workerpools
        return [self._read_pool(pool) for _, pool in sorted(self._fleet.pools.items()) if pool.namespace in seen]

    def has_pool(self, namespace: str, name: str) -> bool:
        """Whether there is such a pool."""
        return self._fleet.pool(f"{namespace}/{name}") is not None

    def pool(self, namespace: str, name: str) -> PoolReading:
        """One pool, or `NotFound`."""
        return self._read_pool(self.find_pool(namespace, name))

    def find_pool(self, namespace: str, name: str) -> Pool:
        """The same, as the planner reads it."""
        key = f"{namespace}/{name}"
        pool = self._fleet.pool(key)
        if pool is None:
            raise NotFound(f"there is no pool {key}", fix=suggest(key, self._fleet.pools, "pools"))
        return pool

    def _read_pool(self, pool: Pool) -> PoolReading:
        return PoolReading(
            namespace=pool.namespace,
            name=pool.name,
            spec=pool.spec,
            status=pool.status,
            generation=pool.generation,
            terminating=pool.terminating,
            why=self._pool_queries.of(pool),
            verdict=self._pool_queries.verdict(pool),
        )

    async def workers(
        self, namespace: str = "", pool: str = "", node: str = "", state: str = ""
    ) -> list[WorkerReading]:
        """Workers, classified; without the ledger they are shown by their stamps alone."""
        chosen = [
            worker
            for key, workers in sorted(self._fleet.worker_pools.items())
            if namespace in ("", key.partition("/")[0])
            and pool in ("", key.partition("/")[2])
            and key.partition("/")[0] in self._visibility.workerpools
            for worker in sorted(workers.values(), key=_natural)
            if node in ("", worker.node)
        ]
        claims = await self._claims_by_pod([worker.uid for worker in chosen] if node else None)
        readings = [self._read(worker, claims.get(worker.uid, ())) for worker in chosen]
        return [reading for reading in readings if state in ("", reading.state)]

    async def worker(self, namespace: str, name: str) -> WorkerReading | None:
        """One worker, without classifying the others or reading their claims; None when it is not there."""
        for key, workers in self._fleet.worker_pools.items():
            if not key.startswith(f"{namespace}/"):
                continue
            for worker in workers.values():
                if worker.name == name:
                    claims = await self._claims_by_pod([worker.uid])
                    return self._read(worker, claims.get(worker.uid, ()))
        return None

    def _read(self, worker: Worker, claims: tuple[Claim, ...]) -> WorkerReading:
        health = self._health.of(f"{worker.namespace}/{worker.pool}", worker.uid)
        gone_since = self._nodes.gone_since(worker.node)
        item = classify_worker(worker, self._nodes.by_name, claims, health, gone_since)
        reading = _worker(self._pool_queries.with_silence(item), claims, health)
        return msgspec.structs.replace(reading, failing=True) if self._pool_queries.is_failing(worker) else reading

    async def nodes(self) -> list[NodeReading]:
        """The nodes that may be seen, or that run workers that may; with these workers counted."""
        return self.nodes_of(await self.workers())

    def nodes_of(self, workers: Iterable[WorkerReading]) -> list[NodeReading]:
        """The same, with workers that were read already: all that may be seen."""
        by_node: dict[str, list[WorkerReading]] = defaultdict(list)
        for worker in workers:
            by_node[worker.node].append(worker)
        closed = self._quarantines.closed()
        requests = {key: worker_requests(pool) for key, pool in self._fleet.pools.items()}
        return [
            read_node(node, by_node[name], closed.get(node.uid), load_of(node, by_node[name], requests))
            for name, node in sorted(self._nodes.by_name.items())
            if self._visibility.nodes or by_node[name]
        ]

    def explain_node(self, node: Node, workers: list[WorkerReading]) -> Why:
        """Why it takes work or does not; `workers` are those on it."""
        return explain_held(node, workers, self._quarantines.closed().get(node.uid))

    @property
    def rest(self) -> str:
        """Why no invariant takes a missing row as proof; empty when they do."""
        present = self._ledger.incarnation
        if present.armed:
            return ""
        return f"the ledger is not armed: its rows may be incomplete ({present.cause.value.replace('_', ' ')})"

    @property
    def sees_invariants(self) -> bool:
        """Whether the reader may see invariants."""
        return self._visibility.invariants

    def invariants(self) -> list[InvariantReading]:
        """All invariants; those that this build does not enforce say so."""
        return self._invariants.readings()

    def invariant(self, invariant_id: str) -> InvariantReading:
        """One invariant."""
        return next(each for each in self.invariants() if each.id == invariant_id)

    async def audit(self, which: AuditFilter, limit: int, before: int | None) -> AuditPage:
        """What was done, newest first. Acts on what is in no namespace are shown to who may read invariants."""
        if not self._visibility.invariants:
            which = msgspec.structs.replace(which, within=self._visibility.workerpools.limit, namespaced=True)
        return await self._ledger.audit.list(which, limit=limit, before_sequence=before)

    async def claims(self, which: ClaimFilter, limit: int, before: int | None) -> ClaimPage:
        """Claims, newest first."""
        which = msgspec.structs.replace(which, within=self._visibility.workerpools.limit)
        return await self._ledger.claims.list(which, limit=limit, before_ticket=before)

    async def claim(self, claim_id: str) -> Claim | None:
        """One claim of a pool that may be seen."""
        found = await self._ledger.claims.get(claim_id)
        return found if found is not None and found.namespace in self._visibility.workerpools else None

    async def queue_places(self, waiting: Iterable[Claim]) -> dict[str, int]:
        """The place of each waiting claim in its pool's queue, 1 for the head."""
        places: dict[str, int] = {}
        for namespace, pool in sorted({(claim.namespace, claim.pool) for claim in waiting}):
            queue: Sequence[Claim] = await self._ledger.claims.queue(namespace, pool)
            found = self._fleet.pool(f"{namespace}/{pool}")
            if found is not None and found.spec.fairness is not None:
                since = self._pool_queries.shared_since
                served = await self._ledger.claims.served_by_owner(namespace, pool, since=since)
                queue = compute_order(queue, served, found.spec.fairness.weights)
            places.update({claim.id: place for place, claim in enumerate(queue, start=1)})
        return places

    def shortage(self, pool_key: str) -> Why | None:
        """Why no worker of a pool is free; None when there is no such pool."""
        pool = self._fleet.pool(pool_key)
        return self._pool_queries.shortage(pool) if pool is not None else None

    def expected_wait(self, pool_key: str, position: int) -> float | None:
        """Seconds that the claim at a place of the queue still waits; None if that is not known."""
        pool = self._fleet.pool(pool_key)
        return self._pool_queries.expected_wait(pool, position) if pool is not None else None

    async def _claims_by_pod(self, pods: list[str] | None) -> dict[str, tuple[Claim, ...]]:
        """Live claims of these pods, or of all."""
        ledger = self._ledger.claims
        try:
            live = (await ledger.live()).claims if pods is None else await ledger.live_by_pods(pods)
        except Unavailable:
            return {}
        by_pod: dict[str, list[Claim]] = defaultdict(list)
        for claim in live:
            if claim.pod_uid:
                by_pod[claim.pod_uid].append(claim)
        return {uid: tuple(claims) for uid, claims in by_pod.items()}


def _worker(item: ClassifiedWorker, claims: tuple[Claim, ...], health: WorkerHealth | None) -> WorkerReading:
    worker = item.worker
    owner = worker.stamp.owner if worker.stamp else next((claim.owner for claim in claims), "")
    ends = [claim.protected_until for claim in claims if claim.protected_until]
    return WorkerReading(
        namespace=worker.namespace,
        name=worker.name,
        uid=worker.uid,
        pool=worker.pool,
        node=worker.node,
        state=item.state.value,
        reason=item.why.message,
        owner=owner,
        claims=tuple(claim.id for claim in claims),
        protected_until=max(ends, default=None),
        address=worker.address,
        why=item.why,
        since=item.why.since,
        created_at=worker.created_at,
        restarts=worker.restarts,
        protected=worker.protected,
        health=health.summary if health else "",
    )


def _natural(worker: Worker) -> tuple[str, int, str]:
    """`linux-2` before `linux-10`."""
    stem, _, slot = worker.name.rpartition("-")
    return (stem, int(slot), "") if slot.isdigit() else (worker.name, -1, "")
