"""Learns the demand of pools from their history, and keeps what it learnt in the ledger.

The history is the only source. A replica that takes over reads the last model and the samples since; a pool that gets
`spec.demand` later learns from the samples of the last day at once.
"""

from dataclasses import dataclass
from datetime import datetime

import msgspec
import structlog

from mooring.controllers.pools.autoscalers import Autoscalers
from mooring.controllers.pools.informer import PoolInformer
from mooring.controllers.pools.metrics import DEMAND_ARRIVALS, DEMAND_FLOOR
from mooring.engine.context import Context
from mooring.model.pool import Pool
from mooring.model.pool_history import COARSE_SECONDS, FINE_SECONDS
from mooring.planning.demand.history import learn_samples, unlearned_since
from mooring.planning.demand.model import DemandModel, aim_of, read_model
from mooring.planning.demand.outlook import Outlook
from mooring.planning.demand.plan import DemandPlan, HeldFloor

log = structlog.get_logger()

SAMPLES_AT_ONCE = 10  # that are learnt without a pause: those of a day take seconds, and claims do not wait for them


@dataclass(slots=True)
class _Known:
    """What this replica, while it leads, has in memory of one pool."""

    pool_uid: str
    model: DemandModel
    held: HeldFloor | None = None


class DemandTracker:
    """On the replica that leads. All it remembers is in the ledger or in the pool's status."""

    def __init__(self, context: Context, informer: PoolInformer) -> None:
        self._ledger = context.ledger
        self._clock = context.clock
        self._informer = informer
        self._autoscalers = Autoscalers(context.client, context.clock)
        self._known: dict[str, _Known] = {}

    def forget(self) -> None:
        """Another replica leads: what it learns is read again later."""
        self._known.clear()

    async def learn(self, at: datetime) -> tuple[str, ...]:
        """Take in the samples up to `at`; returns the keys of the pools whose outlook is new."""
        followed = {pool.key: pool for pool in self._informer.pools.values() if pool.spec.demand is not None}
        for key in self._known.keys() - followed.keys():
            del self._known[key]
            DEMAND_FLOOR.remove(key)
            DEMAND_ARRIVALS.remove(key)
        for pool in followed.values():
            await self._learn_pool(pool, at)
        await self._autoscalers.read({pool.namespace for pool in followed.values() if pool.spec.follows_demand})
        return tuple(followed)

    def outlook(self, pool: Pool) -> Outlook | None:
        """What is known; None before anything was read."""
        known = self._known.get(pool.key)
        if known is None or pool.spec.demand is None or known.pool_uid != pool.uid:
            return None
        outlook = known.model.look(self._clock.now().timestamp(), aim_of(pool.spec, pool.spec.demand))
        DEMAND_ARRIVALS.set(outlook.rate * 60, pool.key)
        return outlook

    def scaled_by(self, pool: Pool) -> tuple[str, ...]:
        """Autoscalers that name the pool, though its floor follows demand."""
        return self._autoscalers.of_pool(pool) if pool.spec.follows_demand else ()

    def held(self, pool: Pool) -> HeldFloor | None:
        """The floor that was decided last: here, or by the replica that led before."""
        known = self._known.get(pool.key)
        if known is not None and known.held is not None:
            return known.held
        status = pool.status.demand
        return HeldFloor(status.floor, self._clock.now()) if status is not None else None

    def decided(self, pool: Pool, plan: DemandPlan) -> None:
        """Remember the floor for the next decision."""
        known = self._known.get(pool.key)
        if known is not None:
            known.held = plan.held
        DEMAND_FLOOR.set(plan.held.floor, pool.key)

    async def _learn_pool(self, pool: Pool, at: datetime) -> None:
        demand = pool.spec.demand
        known = self._known.get(pool.key)
        if demand is None:
            return
        fresh = known is None or known.pool_uid != pool.uid
        if known is None or fresh:
            saved = await self._ledger.demand.load(pool.namespace, pool.name)
            model = read_model(saved) if saved is not None else DemandModel()
            if model is None:
                log.warning("the learned demand cannot be read; learning starts again", pool=pool.key)
                model = DemandModel()
            known = _Known(pool.uid, model)
        model, aim = known.model, aim_of(pool.spec, demand)
        samples = await self._ledger.history.of_pool(
            pool.namespace, pool.name, step_seconds=FINE_SECONDS, since=unlearned_since(model, at), until=at
        )
        for first in range(0, len(samples), SAMPLES_AT_ONCE):
            learn_samples(model, samples[first : first + SAMPLES_AT_ONCE], aim)
            await self._clock.sleep(0)
        self._known[pool.key] = known  # only now: what is known of yesterday is no outlook
        # The first time at once: those who read it then lack five minutes at most, and never a day.
        if samples and (fresh or int(at.timestamp()) % COARSE_SECONDS == 0):
            await self._ledger.demand.save(pool.namespace, pool.name, msgspec.to_builtins(model, str_keys=True), at=at)
