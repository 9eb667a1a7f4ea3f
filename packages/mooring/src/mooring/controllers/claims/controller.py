"""Claims, put together. Every replica hands out workers: nothing here waits for the leader."""

import asyncio
from dataclasses import dataclass

from mooring.controllers.activity import PolledActivity
from mooring.controllers.claims.desk import ClaimDesk
from mooring.controllers.claims.dispatch import Dispatch
from mooring.controllers.claims.forgotten_sessions import ForgottenSessions
from mooring.controllers.claims.handover import Handover
from mooring.controllers.claims.holdings import Holdings
from mooring.controllers.claims.identity import WorkerIdentity
from mooring.controllers.claims.mint import Minter
from mooring.controllers.claims.queue import ClaimQueue
from mooring.controllers.claims.ready_index import ReadyIndex
from mooring.controllers.claims.refusals import PoolWaits, Refusals
from mooring.controllers.claims.release import ClaimRelease
from mooring.controllers.claims.retirement import Retirement
from mooring.controllers.claims.revocations import MintRevocations
from mooring.controllers.claims.stamps import Stamps
from mooring.controllers.claims.stream import ClaimStream
from mooring.controllers.claims.waiting_clients import WaitingClients
from mooring.controllers.claims.wakeups import Wakeups
from mooring.controllers.fleet import Fleet
from mooring.controllers.polls import Polls
from mooring.engine.context import Context
from mooring.engine.nodes.informer import NODE, NODE_POOL
from mooring.model.changes import is_status_only
from mooring.model.pool import Pool


@dataclass(frozen=True, slots=True)
class ClaimDependencies:
    """What claims need of other parts."""

    minter: Minter
    activity: PolledActivity
    polls: Polls
    waits: PoolWaits


class ClaimController:
    """`desk` serves those who claim, `dispatch` the workers that poll."""

    def __init__(self, context: Context, fleet: Fleet, ready: ReadyIndex, given: ClaimDependencies) -> None:
        self._fleet = fleet
        self.ready = ready
        self.stamps = Stamps(context)
        self.release = ClaimRelease(context, fleet, ready, self.stamps)
        self.revocations = MintRevocations(context, fleet, given.minter)
        handover = Handover(context, ready, self.stamps, given.minter, self.revocations, self.release)
        self.clients = WaitingClients(context, Wakeups(), self.release)
        refusals = Refusals(context.ledger, given.waits)
        self.desk = ClaimDesk(context, fleet, ready, handover, self.release, refusals, self.clients)
        self.holdings = Holdings(context.ledger)
        self.stream = ClaimStream(self.desk, self.clients)
        self.retirement = Retirement(context, fleet, self.desk)
        self.identity = WorkerIdentity(context, fleet)
        forgotten = ForgottenSessions(context, self.release)
        self.dispatch = Dispatch(context, fleet, self.release, forgotten, given.activity, given.polls)
        self._queue = ClaimQueue(context, fleet, ready, handover, self.clients)
        fleet.subscribe_workers(ready.update)
        fleet.follow_pools(self._on_pool)
        context.nodes.subscribe(self._on_node)

    async def run(self) -> None:
        """Serve the queues and revoke credentials until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run())
            group.create_task(self.revocations.run())
            group.create_task(self.clients.run())

    def close(self) -> None:
        """This replica stops: clients and workers that wait here go to another one."""
        self.dispatch.close()
        self.clients.close()

    def _on_pool(self, key: str, before: Pool | None, after: Pool | None) -> None:
        if not is_status_only(before, after):
            self.ready.refresh(key)

    def _on_node(self, kind: str, _: str) -> None:
        if kind in (NODE, NODE_POOL):
            for key in self._fleet.pools:
                self.ready.refresh(key)
