"""The reconciler of WorkerPools: retires workers, makes workers, writes the status."""

from dataclasses import dataclass

import msgspec

from hawser.resources import PODS
from mooring.controllers.accounts import delete_account
from mooring.controllers.pools.creation import WorkerCreation
from mooring.controllers.pools.demand import DemandTracker
from mooring.controllers.pools.events import PoolEvents
from mooring.controllers.pools.headroom import PlaceholderCreation
from mooring.controllers.pools.informer import PoolInformer
from mooring.controllers.pools.metrics import POOL_PLACEHOLDERS, POOL_WORKERS, WORKERS_RETIRED, begin_series
from mooring.controllers.pools.snapshot import PoolSnapshots
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.engine.controller import Pass, Reconciler
from mooring.engine.guarded_delete import GuardedActs
from mooring.engine.status_writer import Pause, StatusWriter
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.pool import Pool, PoolStatus
from mooring.planning.actions import WARM_FLOOR, RetireWorker
from mooring.planning.demand.headroom import RetirePlaceholder
from mooring.planning.pools.plan import PoolPlan, plan_pool
from mooring.planning.pools.snapshot import PoolSnapshot

STATUS_SECONDS = 1.0

PoolPass = Pass[Pool, PoolSnapshot, PoolPlan]


@dataclass(frozen=True, slots=True)
class PoolMakers:
    """What makes the pods of a pool."""

    workers: WorkerCreation
    placeholders: PlaceholderCreation


class PoolReconciler(Reconciler[Pool, PoolSnapshot, PoolPlan]):
    """Keeps every pool's floor. All it remembers may be lost at any time."""

    def __init__(
        self,
        context: Context,
        informer: PoolInformer,
        snapshots: PoolSnapshots,
        makers: PoolMakers,
        demand: DemandTracker,
    ) -> None:
        self._context = context
        self._informer = informer
        self._snapshots = snapshots
        self._creation = makers.workers
        self._headroom = makers.placeholders
        self._demand = demand
        self._events = PoolEvents(context.events)
        self._retirement = GuardedActs(WARM_FLOOR, context.auditor, context.clock)
        self._status: StatusWriter[PoolStatus] = StatusWriter(
            context.client, WORKERPOOLS, context.clock, context.events, pause=Pause(STATUS_SECONDS, _verdicts)
        )

    def latest(self, key: str) -> Pool | None:
        pool = self._informer.pool(key)
        if pool is None:
            return None
        status = self._status.latest(key, pool.status, self._informer.pool_version(pool))
        return pool if status is pool.status else msgspec.structs.replace(pool, status=status)

    def forget(self, key: str) -> None:
        self._creation.forget(key)
        self._headroom.forget(key)
        self._snapshots.forget(key)
        self._retirement.forget(key)
        self._status.forget(key)
        POOL_WORKERS.remove(key)
        POOL_PLACEHOLDERS.remove(key)

    async def snapshot(self, found: Pool) -> PoolSnapshot:
        return await self._snapshots.take(found)

    def plan(self, snapshot: PoolSnapshot) -> PoolPlan:
        return plan_pool(snapshot)

    async def delete(self, current: PoolPass) -> PoolPass:
        pool = current.found
        retires: list[RetireWorker | RetirePlaceholder] = [*current.plan.retires, *current.plan.headroom.retires]
        ledger = current.snapshot.ledger
        brakes = await self._context.brakes.by_cluster_and_ledger(WARM_FLOOR, ledger) if retires else ()

        async def retire(act: RetireWorker | RetirePlaceholder) -> Result:
            if isinstance(act, RetireWorker):
                return await self._retire(pool, act)
            await self._headroom.delete(act.placeholder)
            return DONE

        done = await self._retirement.carry_out(pool.key, retires, brakes, retire)
        self._events.retired(pool, (act for act in done.done if isinstance(act, RetireWorker)))
        return current.wake(done.wake_at)

    async def create(self, current: PoolPass) -> PoolPass:
        pool = current.found
        if current.plan.creates:
            await self._creation.create(pool, current.plan.creates, current.snapshot.placed)
        headroom = pool.spec.demand.headroom if pool.spec.demand is not None else None
        if headroom is not None and current.plan.headroom.creates:
            await self._headroom.create(pool, headroom, current.plan.headroom.creates, current.snapshot.placed)
        backoffs = (self._creation.backoff(pool.key), self._headroom.backoff(pool.key))
        return current.wake(*(backoff.until for backoff in backoffs if backoff is not None))

    async def conclude(self, current: PoolPass) -> PoolPass:
        pool, status = current.found, current.plan.status
        begin_series(pool.key)
        for state in ("idle", "busy", "starting", "draining", "lost"):
            POOL_WORKERS.set(getattr(status, state), pool.key, state)
        if (headroom := current.plan.headroom.status) is not None:
            POOL_PLACEHOLDERS.set(headroom.holding, pool.key, "holding")
            POOL_PLACEHOLDERS.set(headroom.waiting, pool.key, "waiting")
        else:
            POOL_PLACEHOLDERS.remove(pool.key)
        if current.plan.demand is not None:
            self._demand.decided(pool, current.plan.demand)
        written_at = await self._status.write(pool, pool.status, status)
        return current.wake(current.plan.wake_at, written_at)

    async def _retire(self, pool: Pool, act: RetireWorker) -> Result:
        worker = act.worker
        await self._context.client.delete(
            PODS, worker.name, worker.namespace, uid=worker.uid, resource_version=worker.resource_version
        )
        self._creation.deleted(pool, worker)
        WORKERS_RETIRED.labels(pool.key, act.invariant).inc()
        if pool.spec.service_account == "PerWorker":
            await delete_account(self._context.client, worker.namespace, worker.name)
        return DONE


def _verdicts(status: PoolStatus) -> list[tuple[str, str, str, int]]:
    """What a status says apart from counts, which are written once a second."""
    return [(one.type, one.status, one.reason, one.observed_generation) for one in status.conditions]
