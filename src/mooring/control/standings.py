"""Why each pool stands as it does, from memory alone: no call to the cluster, no query."""

from mooring.clock import Clock
from mooring.control.claiming.ready import ReadyIndex
from mooring.control.fleet import Fleet
from mooring.control.health import HealthChecks
from mooring.model.pool import Pool
from mooring.model.why import Why
from mooring.model.worker import ClassifiedWorker
from mooring.planning.whys.pools import Crew, explain_pool, explain_shortage, is_settled
from mooring.planning.workers import classify_held

REPEAT_SECONDS = 1.0  # refusals may come by the thousand: the workers of a pool are looked over no more often


class PoolStandings:
    """Answers from the caches; changes nothing."""

    def __init__(self, fleet: Fleet, health: HealthChecks, ready: ReadyIndex, clock: Clock) -> None:
        self._fleet = fleet
        self._health = health
        self._ready = ready
        self._clock = clock
        self._told: dict[str, tuple[float, Why]] = {}  # by pool uid: when, and why nobody is free

    def of(self, pool: Pool) -> Why:
        """Why its floor is held or not."""
        return explain_pool(Crew(pool) if is_settled(pool) else Crew(pool, self._workers(pool)))

    def shortage(self, pool: Pool) -> Why:
        """Why nobody is free for one more claim; as it was a moment ago, when somebody asked the same then."""
        now = self._clock.monotonic()
        at, told = self._told.get(pool.uid, (None, None))
        if at is not None and told is not None and now - at < REPEAT_SECONDS:
            return told
        told = explain_shortage(Crew(pool, self._workers(pool)))
        self._told = {uid: known for uid, known in self._told.items() if now - known[0] < REPEAT_SECONDS}
        self._told[pool.uid] = (now, told)
        return told

    def _workers(self, pool: Pool) -> list[ClassifiedWorker]:
        nodes, held, unhealthy = self._fleet.nodes, self._ready.held(pool.key), self._health.failed_in(pool.key)
        return [
            classify_held(worker, nodes.get(worker.node), held.get(worker.uid, 0), unhealthy.get(worker.uid))
            for worker in self._fleet.workers(pool.key)
            if worker.pool_uid == pool.uid
        ]
