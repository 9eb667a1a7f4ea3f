"""Pools, put together: when a pool is looked at, and what runs beside its loop."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mooring.controllers.pools.adoption import PodAdoption
from mooring.controllers.pools.commands import PoolCommands
from mooring.controllers.pools.creation import WorkerCreation
from mooring.controllers.pools.demand import DemandTracker
from mooring.controllers.pools.headroom import PlaceholderCreation
from mooring.controllers.pools.health import HealthChecks
from mooring.controllers.pools.history import HistoryRecorder
from mooring.controllers.pools.informer import PoolInformer
from mooring.controllers.pools.quarantine import Quarantines
from mooring.controllers.pools.reconciler import PoolMakers, PoolReconciler
from mooring.controllers.pools.server_address import ReadServerAddress
from mooring.controllers.pools.snapshot import PoolSnapshots, PoolViews, ProtectionEnds, Silence
from mooring.engine.context import Context
from mooring.engine.controller import Controller
from mooring.engine.nodes.informer import NODE, NODE_POOL
from mooring.ledger.records import Channel, Wake
from mooring.model.changes import is_claim_only, is_status_only
from mooring.model.pool import Pool
from mooring.model.worker import Worker
from mooring.planning.pools.plan import PoolPlan
from mooring.planning.pools.snapshot import PoolSnapshot

NODE_COALESCE_SECONDS = 0.2
SOON_SECONDS = 0.05  # enough to take what belongs together in one look
STATUS_SECONDS = 1.0  # only the status has to be written


@dataclass(frozen=True, slots=True)
class PoolDependencies:
    """What pools need of other parts."""

    server: ReadServerAddress  # for workers that poll
    idle_workers: Callable[[str], int]  # by pool key: how many nobody holds
    protection_ends: ProtectionEnds
    silence: Silence


class PoolController(Controller[PoolInformer, Pool, PoolSnapshot, PoolPlan]):
    """Watches pools and workers, checks workers' health everywhere, and keeps floors while this replica leads."""

    def __init__(self, context: Context, informer: PoolInformer, health: HealthChecks, given: PoolDependencies) -> None:
        self.health = health
        self.quarantines = Quarantines(informer, context.nodes, context.clock)
        demand = DemandTracker(context, informer)
        self._history = HistoryRecorder(context, informer, demand, lambda key: self.look_at(key, SOON_SECONDS))
        self._idle_workers = given.idle_workers
        self.adoption = PodAdoption(context, informer, given.server)
        self.commands = PoolCommands(context)
        creation = WorkerCreation(context, given.server)
        headroom = PlaceholderCreation(context)
        views = PoolViews(health, self.quarantines, given.protection_ends, given.silence, demand, headroom)
        snapshots = PoolSnapshots(context, informer, creation, views)
        makers = PoolMakers(creation, headroom)
        super().__init__("pools", context, informer, PoolReconciler(context, informer, snapshots, makers, demand))
        informer.follow_pools(self._on_pool)
        informer.follow_workers(self._on_worker)
        context.nodes.subscribe(self._on_node)
        health.on_verdict(lambda pool_key, _: self.look_at(pool_key))
        context.ledger.listen(Channel.QUEUE, self._on_queue)

    def _tasks(self) -> Sequence[Callable[[], Awaitable[None]]]:
        return (self.health.run, self._history.run)

    def _on_change(self, kind: str, key: str) -> None:
        """For pools and workers `follow_*` bring what each was and is, which decides how soon a look is due."""
        if kind == "placeholder":
            self.look_at(key, SOON_SECONDS)

    def _on_node(self, kind: str, _: str) -> None:
        if kind in (NODE, NODE_POOL):
            for key in self.informer.pools:
                self.look_at(key, NODE_COALESCE_SECONDS)

    def _on_pool(self, key: str, before: Pool | None, after: Pool | None) -> None:
        self.look_at(key, STATUS_SECONDS if is_status_only(before, after) else 0.0)

    def _on_worker(self, key: str, before: Worker | None, after: Worker | None) -> None:
        pool = self.informer.pool(key)
        floor_holds = pool is not None and self._idle_workers(key) >= pool.floor
        self.look_at(key, STATUS_SECONDS if floor_holds and is_claim_only(before, after) else SOON_SECONDS)

    def _on_queue(self, wake: Wake) -> None:
        """A claim waits: the pool may have to grow."""
        for key in [wake.payload] if wake.payload else list(self.informer.pools):
            self.look_at(key, SOON_SECONDS)
