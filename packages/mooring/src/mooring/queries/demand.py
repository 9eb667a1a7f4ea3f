"""Demand as people see it: the floor, the sum behind it, and what other wait targets would take."""

from __future__ import annotations

import msgspec

from hawser.clock import Clock
from mooring.ledger.port import Ledger
from mooring.model.demand import Demand, DemandStatus
from mooring.model.errors import NotFound
from mooring.model.pool import Pool
from mooring.model.pool_history import COARSE_SECONDS, FINE_SECONDS
from mooring.planning.demand.history import learn_samples, unlearned_since
from mooring.planning.demand.model import aim_of, read_model
from mooring.planning.demand.outlook import Outlook
from mooring.planning.explanations.demand import explain_demand

MOST_UNSAVED = 2 * COARSE_SECONDS // FINE_SECONDS  # samples that an answer adds to what is saved


class WaitTarget(msgspec.Struct, frozen=True, rename="camel"):
    """A wait target, and the idle workers that keep 99 % of waits within it now."""

    wait_seconds: float
    idle: int


class DemandReading(msgspec.Struct, frozen=True, rename="camel"):
    """`status` as in the pool; `sum` says line by line how the floor follows."""

    namespace: str
    name: str
    status: DemandStatus
    sum: list[str]
    targets: list[WaitTarget]


class TargetsReading(msgspec.Struct, frozen=True, rename="camel"):
    """What a pool keeps for its wait target, and what other targets would take. Equal numbers are left out."""

    namespace: str
    name: str
    wait: str
    percentile: int
    floor: int
    targets: list[WaitTarget]


class DemandQueries:
    """Reads what the leader has saved and the samples since, so that every replica answers as the leader decides."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def of_pool(self, pool: Pool) -> DemandReading:
        """May raise `NotFound`, if the floor of the pool is fixed."""
        demand = pool.spec.demand
        if demand is None:
            raise NotFound(f"the floor of {pool.key} is fixed: spec.warm {pool.spec.warm}", fix="set spec.demand")
        outlook = await self._outlook(pool)
        lines = (
            explain_demand(pool, demand, outlook, self._clock.now())
            if outlook
            else ("nothing is learned yet: it takes some seconds",)
        )
        targets = (
            [WaitTarget(one.wait_seconds, -(-one.floor // pool.spec.slots)) for one in outlook.waits] if outlook else []
        )
        return DemandReading(pool.namespace, pool.name, pool.status.demand or DemandStatus(), list(lines), targets)

    async def targets(self, pool: Pool) -> TargetsReading:
        """May raise `NotFound`, if the floor of the pool is fixed."""
        reading, demand = await self.of_pool(pool), pool.spec.demand or Demand()
        shown: list[WaitTarget] = []
        for one in reading.targets:
            if not shown or one.idle != shown[-1].idle:
                shown.append(one)
        return TargetsReading(pool.namespace, pool.name, demand.wait, demand.percentile, reading.status.floor, shown)

    async def _outlook(self, pool: Pool) -> Outlook | None:
        saved = await self._ledger.demand.load(pool.namespace, pool.name)
        model = read_model(saved) if saved is not None else None
        if model is None or pool.spec.demand is None:
            return None
        now, aim = self._clock.now(), aim_of(pool.spec, pool.spec.demand)
        samples = await self._ledger.history.of_pool(
            pool.namespace, pool.name, step_seconds=FINE_SECONDS, since=unlearned_since(model, now), until=now
        )
        learn_samples(model, samples[-MOST_UNSAVED:], aim)
        return model.look(now.timestamp(), aim)
