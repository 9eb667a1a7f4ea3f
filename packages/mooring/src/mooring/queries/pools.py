"""The state of pools and its reasons, from memory: no call to the cluster, no statement to the ledger."""

from __future__ import annotations

from datetime import datetime

from hawser.clock import Clock
from mooring.model.moments import later
from mooring.model.pool import Pool
from mooring.model.pool_verdict import PoolVerdict
from mooring.model.why import Why
from mooring.model.worker import ClassifiedWorker, Worker, WorkerState
from mooring.planning.expected_wait import compute_expected_wait
from mooring.planning.explanations.pool_verdicts import compute_verdict
from mooring.planning.explanations.pools import PoolView, explain_pool, explain_shortage, is_settled
from mooring.planning.fairness import SHARED_SECONDS
from mooring.planning.sick_pools import is_sick
from mooring.planning.workers import classify_held, mark_silent
from mooring.queries.sources import HealthSource, NodeSource, PollSource, PoolSource, SlotSource

REPEAT_SECONDS = 1.0  # many claims may be refused at once: the workers of a pool are read once in this time


class PoolQueries:
    """Answers from the caches; changes nothing."""

    def __init__(
        self,
        pools: PoolSource,
        nodes: NodeSource,
        health: HealthSource,
        ready: SlotSource,
        polls: PollSource,
        clock: Clock,
    ) -> None:
        self._fleet = pools
        self._nodes = nodes
        self._health = health
        self._ready = ready
        self._polls = polls
        self._clock = clock
        self._answered: dict[str, tuple[float, Why]] = {}  # by pool uid: when, and why no worker is free

    def of(self, pool: Pool) -> Why:
        """The reason why the floor of the pool is held or not."""
        return explain_pool(PoolView(pool) if is_settled(pool) else PoolView(pool, self._workers(pool)))

    def verdict(self, pool: Pool) -> PoolVerdict:
        """Whether it works, is on its way, or is broken."""
        own = [worker for worker in self._fleet.workers(pool.key) if worker.pool_uid == pool.uid]
        return compute_verdict(pool, own, self._clock.now())

    def shortage(self, pool: Pool) -> Why:
        """Why no worker is free for one more claim. An answer is repeated for `REPEAT_SECONDS`."""
        now = self._clock.monotonic()
        at, message = self._answered.get(pool.uid, (None, None))
        if at is not None and message is not None and now - at < REPEAT_SECONDS:
            return message
        message = explain_shortage(PoolView(pool, self._workers(pool)))
        self._answered = {uid: known for uid, known in self._answered.items() if now - known[0] < REPEAT_SECONDS}
        self._answered[pool.uid] = (now, message)
        return message

    @property
    def shared_since(self) -> datetime:
        """Claims that ended since then count when owners share a queue."""
        return later(self._clock.now(), -SHARED_SECONDS)

    def expected_wait(self, pool: Pool, position: int) -> float | None:
        """Seconds that the claim at a place of the queue still waits; None if that is not known."""
        return compute_expected_wait(pool, self._workers(pool), position, self._clock.now())

    def with_silence(self, item: ClassifiedWorker) -> ClassifiedWorker:
        """An idle worker that does not poll says so."""
        silent = item.state is WorkerState.IDLE and self._polls.is_silent(item.worker)
        return mark_silent(item, self._polls.silent_seconds(item.worker.uid)) if silent else item

    def is_failing(self, worker: Worker) -> bool:
        """Whether its containers do not start or do not stay up, as the verdict on its pool counts them."""
        return is_sick(worker, self._clock.now())

    def _workers(self, pool: Pool) -> list[ClassifiedWorker]:
        nodes, held, unhealthy = self._nodes.by_name, self._ready.held(pool.key), self._health.failed_in(pool.key)
        return [
            self.with_silence(
                classify_held(worker, nodes.get(worker.node), held.get(worker.uid, 0), unhealthy.get(worker.uid))
            )
            for worker in self._fleet.workers(pool.key)
            if worker.pool_uid == pool.uid
        ]
