"""A closer look: one worker with everything known of it, and what a node's going would mean."""

from collections import defaultdict
from dataclasses import dataclass
from difflib import get_close_matches

from mooring.clock import Clock
from mooring.control.fleet import Fleet
from mooring.control.health import HealthChecks
from mooring.control.reading import ReadSide, WorkerReading
from mooring.ledger.port import Ledger
from mooring.ledger.records import AuditFilter, ClaimFilter
from mooring.model.audit import AuditRecord
from mooring.model.claim import Claim
from mooring.model.errors import NotFound, Unavailable
from mooring.model.health import WorkerHealth
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.drain_check import DrainCheck, DrainSnapshot, plan_drain_check
from mooring.planning.workers import classify_worker

HISTORY_ROWS = 50


@dataclass(frozen=True, slots=True)
class InspectedWorker:
    """A worker, and what the ledger remembers of it, newest first. `history` is False when it could not be read."""

    worker: WorkerReading
    health: WorkerHealth | None
    claims: tuple[Claim, ...] = ()
    acts: tuple[AuditRecord, ...] = ()
    history: bool = True


class Inspection:
    """Answers from caches and the ledger; changes nothing."""

    def __init__(self, fleet: Fleet, ledger: Ledger, reading: ReadSide, health: HealthChecks, clock: Clock) -> None:
        self._fleet = fleet
        self._ledger = ledger
        self._reading = reading
        self._health = health
        self._clock = clock

    async def worker(self, namespace: str, name: str) -> InspectedWorker:
        """One worker, or `NotFound`."""
        everyone = [worker for worker in await self._reading.workers() if worker.namespace == namespace]
        found = next((worker for worker in everyone if worker.name == name), None)
        if found is None:
            raise NotFound(f"there is no worker {namespace}/{name}", fix=_meant(name, [w.name for w in everyone]))
        health = self._health.of(f"{namespace}/{found.pool}", found.uid)
        try:
            claims = await self._ledger.claims.list(ClaimFilter(pod_uid=found.uid), limit=HISTORY_ROWS)
            acts = await self._ledger.audit.list(AuditFilter(uid=found.uid), limit=HISTORY_ROWS)
        except Unavailable:
            return InspectedWorker(found, health, history=False)
        return InspectedWorker(found, health, claims.items, acts.items)

    async def drain_check(self, name: str) -> DrainCheck:
        """What would happen if that node went now; `NotFound` names the one that was meant."""
        nodes = self._fleet.nodes
        node = nodes.get(name)
        if node is None:
            raise NotFound(f"there is no node {name!r}", fix=_meant(name, list(nodes)))
        claims, waiting = await self._ledger_says()
        here, idle_elsewhere = self._classified(name, claims or {})
        return plan_drain_check(
            DrainSnapshot(
                now=self._clock.now(),
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
        self, node: str, claims: dict[str, tuple[Claim, ...]]
    ) -> tuple[tuple[ClassifiedWorker, ...], dict[str, int]]:
        """The workers on a node, and how many idle ones each pool has elsewhere."""
        here: list[ClassifiedWorker] = []
        elsewhere: dict[str, int] = defaultdict(int)
        for key, workers in sorted(self._fleet.worker_pools.items()):
            for worker in workers.values():
                health = self._health.of(key, worker.uid)
                item = classify_worker(worker, self._fleet.nodes, claims.get(worker.uid, ()), health)
                if worker.node == node:
                    here.append(item)
                elif item.state is WorkerState.IDLE:
                    elsewhere[key] += 1
        return tuple(sorted(here, key=lambda item: item.worker.name)), elsewhere


def _meant(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"those that exist: {', '.join(sorted(known)[:10]) or 'none'}"
