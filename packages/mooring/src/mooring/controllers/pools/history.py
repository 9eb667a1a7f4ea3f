"""Records the history of pools: a sample of each every 10 seconds, and a summary every 5 minutes."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

import structlog

from mooring.controllers.pools.demand import DemandTracker
from mooring.controllers.pools.informer import PoolInformer
from mooring.controllers.pools.metrics import WORKER_SECONDS
from mooring.controllers.pools.starts import StartTimes
from mooring.engine.containment import contained
from mooring.engine.context import Context
from mooring.model.errors import Unavailable
from mooring.model.pool import Pool
from mooring.model.pool_history import (
    COARSE_SECONDS,
    FINE_KEPT,
    FINE_SECONDS,
    Gauges,
    Sample,
    compute_steps,
    end_of_step,
)
from mooring.model.usage import BUSY, IDLE, STARTING

log = structlog.get_logger()

LATE_SECONDS = 2.0  # claims are written by all replicas: some of a moment arrive after it
MOST_POOLS = 500  # of which history is kept, those with demand first; each takes about 6 MB in the end
MOST_SUMMARIES = 12  # in one go, after a time without leader


class HistoryRecorder:
    """On the replica that leads. A sample that fails is left out: floors that follow demand then stay as they are."""

    def __init__(
        self, context: Context, informer: PoolInformer, demand: DemandTracker, on_demand: Callable[[str], None]
    ) -> None:
        self._ledger = context.ledger
        self._clock = context.clock
        self._may_act = context.gate.may_act
        self._informer = informer
        self._starts = StartTimes(informer, context.clock)
        self._demand = demand
        self._on_demand = on_demand
        self._summarised: datetime | None = None

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            now = self._clock.now()
            at = end_of_step(now + timedelta(microseconds=1), FINE_SECONDS)
            if at <= now:
                at += timedelta(seconds=FINE_SECONDS)
            await self._clock.sleep((at - now).total_seconds())
            starts = self._starts.take()
            if not self._may_act():
                self._summarised = None
                self._demand.forget()
                continue
            gauges = compute_gauges(self._informer.pools.values(), starts)
            await self._clock.sleep(LATE_SECONDS)
            with contained("history"):
                try:
                    await self._record(gauges, at)
                except Unavailable as error:
                    log.warning("history was not recorded", error=error.message)

    async def _record(self, gauges: list[Gauges], at: datetime) -> None:
        if gauges:
            await self._ledger.history.write(gauges, since=at - timedelta(seconds=FINE_SECONDS), at=at)
            count_seconds(gauges)
        for key in await self._demand.learn(at):
            self._on_demand(key)
        await self._summarise(at)

    async def _summarise(self, now: datetime) -> None:
        """Sum up every whole step since the newest summary; what a leader before this one has left out, too."""
        step = timedelta(seconds=COARSE_SECONDS)
        if self._summarised is None:
            known = await self._ledger.history.summarised_until()
            self._summarised = max(known or now - step, end_of_step(now - FINE_KEPT, COARSE_SECONDS))
        begin = end_of_step(self._summarised, COARSE_SECONDS)
        for _ in range(MOST_SUMMARIES):
            if begin + step > now:
                return
            fine = await self._ledger.history.of_all(step_seconds=FINE_SECONDS, since=begin, until=begin + step)
            if fine:
                await self._ledger.history.summarise(summarise_pools(fine))
            self._summarised = begin = begin + step


_MOST_COUNTED = 2**31 - 1


def count_seconds(gauges: Iterable[Gauges]) -> None:
    """Add the last step to the metric, by pool and state; who held the workers is in the ledger."""
    for one in gauges:
        for state in (IDLE, BUSY, STARTING):
            WORKER_SECONDS.labels(f"{one.namespace}/{one.pool}", state).inc(one.workers[state] * FINE_SECONDS)


def compute_gauges(pools: Iterable[Pool], starts: Mapping[str, dict[int, int]]) -> list[Gauges]:
    """The pools as their statuses show them, with the starts that were seen, by pool key."""
    chosen = sorted(pools, key=lambda pool: (pool.spec.demand is None, pool.key))[:MOST_POOLS]
    return [
        Gauges(
            namespace=pool.namespace,
            pool=pool.name,
            workers={
                "idle": _count(pool.status.idle),
                "busy": _count(pool.status.busy),
                "starting": _count(pool.status.starting),
                "draining": _count(pool.status.draining),
                "lost": _count(pool.status.lost),
            },
            queued=_count(pool.status.queued),
            warm=pool.floor,
            max=pool.spec.max,
            starts=starts.get(pool.key, {}),
        )
        for pool in chosen
    ]


def _count(found: int) -> int:
    """A status may hold any number: a negative one would end the pass of all pools, and PostgreSQL stores 32 bits."""
    return min(max(found, 0), _MOST_COUNTED)


def summarise_pools(samples: Iterable[Sample]) -> list[Sample]:
    """One coarse sample for each pool."""
    by_pool: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        by_pool.setdefault((sample.namespace, sample.pool), []).append(sample)
    return [step for mine in by_pool.values() for step in compute_steps(mine, COARSE_SECONDS)]
