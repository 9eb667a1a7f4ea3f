"""A closer look: one worker with everything known of it, and what a node's going would mean."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Self

from hawser.clock import Clock
from mooring.ledger.port import Ledger
from mooring.model.audit import AuditRecord
from mooring.model.claim import Claim
from mooring.model.errors import NotFound, Unavailable
from mooring.model.health import WorkerHealth
from mooring.model.node import Node
from mooring.model.suggestions import suggest
from mooring.model.why import Why
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.drain_check import DrainCheck, DrainSnapshot, plan_drain_check
from mooring.planning.workers import classify_worker
from mooring.queries.fleet import FleetQueries, WorkerReading
from mooring.queries.history import Histories
from mooring.queries.pool_history import HistoryQueries
from mooring.queries.sources import HealthSource, NodeSource, PoolSource
from mooring.queries.visibility import LimitedQueries, Visibility


@dataclass(frozen=True, slots=True)
class InspectedWorker:
    """A worker, and what the ledger remembers of it, newest first. `history` is False when it could not be read."""

    worker: WorkerReading
    health: WorkerHealth | None
    claims: tuple[Claim, ...] = ()
    acts: tuple[AuditRecord, ...] = ()
    history: bool = True


@dataclass(frozen=True, slots=True)
class InspectedNode:
    """A node, its workers, and what would happen if it went now."""

    ready: bool
    check: DrainCheck
    workers: list[WorkerReading]
    why: Why


class Inspection(LimitedQueries):
    """Answers from caches and the ledger; changes nothing."""

    def __init__(
        self,
        pools: PoolSource,
        nodes: NodeSource,
        ledger: Ledger,
        reading: FleetQueries,
        health: HealthSource,
        clock: Clock,
    ) -> None:
        self._fleet = pools
        self._nodes = nodes
        self._ledger = ledger
        self._reading = reading
        self._health = health
        self.clock = clock
        self._histories = Histories(ledger, clock)
        self.history = HistoryQueries(ledger, clock)

    def within(self, visibility: Visibility) -> Self:
        limited = super().within(visibility)
        limited._reading = self._reading.within(visibility)
        limited.history = self.history.within(visibility)
        return limited

    async def worker(self, namespace: str, name: str, history_age: float = 0.0) -> InspectedWorker | None:
        """One worker; what the ledger remembers of it may be `history_age` seconds old. None when it is not there."""
        found = await self._reading.worker(namespace, name)
        if found is None:
            return None
        health = self._health.of(f"{namespace}/{found.pool}", found.uid)
        try:
            history = await self._histories.of(found, history_age)
        except Unavailable:
            return InspectedWorker(found, health, history=False)
        return InspectedWorker(found, health, history.claims, history.acts)

    def no_worker(self, namespace: str, name: str) -> NotFound:
        """What to answer of a worker that is not there: the one that was meant. Slow in a large fleet."""
        pools = self._fleet.worker_pools.values()
        known = [worker.name for pool in pools for worker in pool.values() if worker.namespace == namespace]
        return NotFound(f"there is no worker {namespace}/{name}", fix=suggest(name, known, "workers"))

    async def node(self, name: str) -> InspectedNode | None:
        """One node; None when it is not there."""
        workers = await self._reading.workers(node=name)
        node = self._node(name)
        if node is None:
            return None
        why = self._reading.explain_node(node, workers)
        return InspectedNode(node.ready, await self._check(node), workers, why)

    def no_node(self, name: str) -> NotFound:
        """The error for a node that does not exist, with the closest name as its fix."""
        known = [one for one in self._nodes.by_name if self._node(one) is not None]
        return NotFound(f"there is no node {name!r}", fix=suggest(name, known, "nodes"))

    def _node(self, name: str) -> Node | None:
        """A node that may be seen, or that runs workers that may."""
        node = self._nodes.by_name.get(name)
        return node if self._visibility.nodes or self._runs_seen_workers(name) else None

    def _runs_seen_workers(self, node: str) -> bool:
        return any(
            worker.node == node
            for key, workers in self._fleet.worker_pools.items()
            if key.partition("/")[0] in self._visibility.workerpools
            for worker in workers.values()
        )

    async def drain_check(self, name: str) -> DrainCheck:
        """What would happen if that node went now; `NotFound` names the one that was meant."""
        node = self._node(name)
        if node is None:
            raise self.no_node(name)
        return await self._check(node)

    async def _check(self, node: Node) -> DrainCheck:
        claims, waiting = await self._ledger_says()
        here, idle_elsewhere = self._classified(node.name, claims or {}, waiting)
        return plan_drain_check(
            DrainSnapshot(
                now=self.clock.now(),
                node=node,
                workers=here,
                claims=claims,
                pools=self._fleet.pools,
                waiting=waiting,
                idle_elsewhere=idle_elsewhere,
            )
        )

    async def _ledger_says(self) -> tuple[dict[str, tuple[Claim, ...]] | None, dict[str, int]]:
        """Live claims by pod, and how many wait for each pool; None when it does not answer."""
        try:
            live = await self._ledger.claims.live()
            counts = await self._ledger.claims.count_by_pool()
        except Unavailable:
            return None, {}
        if not live.armed:
            return None, {}
        by_pod: dict[str, list[Claim]] = defaultdict(list)
        for claim in live.claims:
            by_pod[claim.pod_uid or ""].append(claim)
        waiting = {f"{count.namespace}/{count.pool}": count.queued for count in counts}
        return {uid: tuple(of_pod) for uid, of_pod in by_pod.items()}, waiting

    def _classified(
        self, node: str, claims: dict[str, tuple[Claim, ...]], waiting: dict[str, int]
    ) -> tuple[tuple[ClassifiedWorker, ...], dict[str, int]]:
        """The workers on a node, and how many idle ones elsewhere each pool has that somebody waits for."""
        here: list[ClassifiedWorker] = []
        elsewhere: dict[str, int] = defaultdict(int)
        for key, workers in sorted(self._fleet.worker_pools.items()):
            if key.partition("/")[0] not in self._visibility.workerpools:
                continue
            for worker in workers.values():
                if worker.node != node and not waiting.get(key):
                    continue
                health = self._health.of(key, worker.uid)
                item = classify_worker(worker, self._nodes.by_name, claims.get(worker.uid, ()), health)
                if worker.node == node:
                    here.append(item)
                elif item.state is WorkerState.IDLE:
                    elsewhere[key] += 1
        return tuple(sorted(here, key=lambda item: item.worker.name)), elsewhere
