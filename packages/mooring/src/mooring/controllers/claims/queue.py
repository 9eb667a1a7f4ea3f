"""Waiting claims: as soon as a slot is free, the head of the queue gets it. Woken, not polling.

Every replica serves every queue, each from its own share of the workers: otherwise all would bind the same slot.
A slot that its replica leaves free for a moment is served by the others.
"""

import asyncio
from collections.abc import Callable
from math import inf

import structlog

from hawser.errors import KubeError
from mooring.controllers.claims.handover import Handover, NoWorker
from mooring.controllers.claims.metrics import hide_open_claims, show_open_claims
from mooring.controllers.claims.mint import MintFailed
from mooring.controllers.claims.ready_index import Place, ReadyIndex
from mooring.controllers.claims.waiting_clients import WaitingClients
from mooring.controllers.fleet import Fleet
from mooring.engine.containment import contained
from mooring.engine.context import Context
from mooring.ledger.records import Channel, Wake
from mooring.model.claim import Claim, EndCause, Outcome, Verdict, WorkerSlot
from mooring.model.errors import MooringError, Unavailable
from mooring.model.moments import later
from mooring.model.pool import Pool
from mooring.planning.fairness import SHARED_SECONDS, compute_order

log = structlog.get_logger()

REFRESH_SECONDS = 5.0
RETRY_SECONDS = 0.5
HEAD_START_SECONDS = 0.2  # of the replica in whose share a slot became free
_ANYONE = ""  # pools that do not separate owners
Take = Callable[[str], Place | None]


class ClaimQueue:
    """One replica's part in serving the queues of all pools."""

    def __init__(
        self, context: Context, fleet: Fleet, ready: ReadyIndex, handover: Handover, clients: WaitingClients
    ) -> None:
        self._ledger = context.ledger
        self._fleet = fleet
        self._ready = ready
        self._handover = handover
        self._clients = clients
        self._wakeups = clients.wakeups
        self._clock = context.clock
        self._waiting_pools: set[str] = set()  # pools in whose queue a claim may wait
        self._wake = asyncio.Event()
        self._others_since: float | None = None  # when slots of others' shares were first seen free
        self._tasks: set[asyncio.Task[None]] = set()
        ready.on_free(self._on_free)
        clients.on_queued(self._on_queued)

    async def run(self) -> None:
        """Until cancelled."""
        unlisten = [
            self._ledger.listen(Channel.QUEUE, self._on_queue),
            self._ledger.listen(Channel.CLAIM, self._on_claim),
        ]
        try:
            while True:
                with contained("claim-queues"):
                    await self._refresh()
                await self._serve_for(REFRESH_SECONDS)
        finally:
            for stop in unlisten:
                stop()
            for task in self._tasks:
                task.cancel()

    async def _serve_for(self, seconds: float) -> None:
        deadline, others_due = self._clock.monotonic() + seconds, False
        while (left := deadline - self._clock.monotonic()) > 0:
            await self._serve_all(self._ready.take_own)
            head_start = self._head_start()
            if others_due or head_start <= 0:
                self._others_since, others_due, head_start = None, False, inf
                await self._serve_all(self._take_any)
            try:
                async with asyncio.timeout(min(left, head_start)):
                    await self._wake.wait()
            except TimeoutError:  # what is over is not computed again: a rest too small for the clock would never end
                if left <= head_start:
                    return
                others_due = True
            self._wake.clear()

    def _head_start(self) -> float:
        """How much longer slots that became free are left to the replicas that have them in their shares."""
        if not any(self._ready.others_free(pool_key) for pool_key in self._waiting_pools):
            self._others_since = None
            return inf
        now = self._clock.monotonic()
        self._others_since = now if self._others_since is None else self._others_since
        return self._others_since + HEAD_START_SECONDS - now

    def _take_any(self, pool_key: str) -> Place | None:
        return self._ready.take(pool_key, _ANYONE)

    async def _refresh(self) -> None:
        """Read from the ledger which slots are held, which claims wait, and which have waited long enough."""
        try:
            self._ready.ask()
            live = await self._ledger.claims.live()
            self._ready.learn(live)
            self._clients.note_live(live.claims)
            for ended in await self._ledger.claims.expire_waiting(now=self._clock.now()):
                self._wakeups.wake(ended.id)
            counts = await self._ledger.claims.count_by_pool()
            self._waiting_pools.update(f"{count.namespace}/{count.pool}" for count in counts if count.queued)
            show_open_claims(self._fleet.pools, counts, self._clock.now())
        except Unavailable as error:
            hide_open_claims()
            self._clients.forget()
            log.warning("queues cannot be read", error=error.message)

    async def _serve_all(self, take: Take) -> None:
        for pool_key in list(self._waiting_pools):
            pool = self._fleet.pool(pool_key)
            if pool is None:
                self._waiting_pools.discard(pool_key)
                continue
            served = False
            with contained("claim-queues", pool=pool_key):
                served = await self._try_serve(pool, take)
            if not served:
                await self._clock.sleep(RETRY_SECONDS)  # the slot that was given back would wake us at once

    async def _try_serve(self, pool: Pool, take: Take) -> bool:
        try:
            await self._serve(pool, take)
        except MooringError as error:
            log.warning("queue not served", pool=pool.key, error=error.message)
            return False
        return True

    async def _serve(self, pool: Pool, take: Take) -> None:
        if pool.spec.separates_owners or pool.spec.fairness is not None:
            await self._serve_owners(pool)
            return
        while (place := take(pool.key)) is not None:
            slot = self._handover.slot_of(pool, place)
            try:
                outcome = await self._bind_next(pool, slot)
            except Unavailable:
                self._ready.free(pool.key, place.worker.uid, place.slot)
                raise
            if outcome is None:
                self._waiting_pools.discard(pool.key)
                self._ready.free(pool.key, place.worker.uid, place.slot)
                return
            if outcome.verdict is Verdict.SLOT_TAKEN or outcome.claim is None:
                self._ready.concede(place)
                continue
            self._begin(pool, outcome.claim, place)

    async def _serve_owners(self, pool: Pool) -> None:
        """Repeatedly the first claim for which there is a worker: one that has to wait holds up nobody else."""
        without: set[str] = set()  # owners for whom no worker is free
        while heads := await self._heads(pool):
            for claim in heads:
                if claim.owner not in without and await self._bind(pool, claim):
                    break
                without.add(claim.owner)
            else:
                return
        self._waiting_pools.discard(pool.key)

    async def _heads(self, pool: Pool) -> tuple[Claim, ...]:
        """The first claim of each owner: of those whose clients are connected, before the others."""
        heads = await self._present_first(pool)
        if pool.spec.fairness is None:
            return heads
        since = later(self._clock.now(), -SHARED_SECONDS)
        served = await self._ledger.claims.served_by_owner(pool.namespace, pool.name, since=since)
        return tuple(compute_order(heads, served, pool.spec.fairness.weights))

    async def _present_first(self, pool: Pool) -> tuple[Claim, ...]:
        claims, now = self._ledger.claims, self._clock.now()
        everyone = await claims.heads(pool.namespace, pool.name, now=now)
        absent = self._clients.absent()
        if not any(claim.id in absent for claim in everyone):
            return everyone
        present = await claims.heads(pool.namespace, pool.name, now=now, skip=absent)
        owners = {claim.owner for claim in present}
        return (*present, *(claim for claim in everyone if claim.owner not in owners))

    async def _bind(self, pool: Pool, claim: Claim) -> bool:
        """Bind a waiting claim to the best worker for its owner; False when there is none."""
        while (place := self._ready.take(pool.key, claim.owner)) is not None:
            slot = self._handover.slot_of(pool, place)
            try:
                outcome = await self._ledger.claims.bind(claim.id, claim.epoch, slot, now=self._clock.now())
            except Unavailable:
                self._ready.free(pool.key, place.worker.uid, place.slot)
                raise
            if outcome.verdict is Verdict.WORKER_TAKEN:
                self._ready.concede_worker(place)
            elif outcome.verdict is Verdict.SLOT_TAKEN:
                self._ready.concede(place)
            elif outcome.verdict is Verdict.DONE and outcome.claim is not None:
                self._begin(pool, outcome.claim, place)
                return True
            else:  # it has ended, or another replica was faster: its owner's next claim is looked at
                self._ready.free(pool.key, place.worker.uid, place.slot)
                return True
        return False

    def _begin(self, pool: Pool, claim: Claim, place: Place) -> None:
        task = asyncio.create_task(self._hand_over(pool, claim, place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _bind_next(self, pool: Pool, slot: WorkerSlot) -> Outcome | None:
        """Claims whose clients are connected come first; the others before a worker stays idle."""
        claims, now = self._ledger.claims, self._clock.now()
        if absent := self._clients.absent():
            outcome = await claims.bind_next(pool.namespace, pool.name, slot, now=now, skip=absent)
            if outcome is not None:
                return outcome
        return await claims.bind_next(pool.namespace, pool.name, slot, now=now)

    async def _hand_over(self, pool: Pool, claim: Claim, place: Place) -> None:
        with contained("claim-queues", claim=claim.id, worker=place.worker.name):
            try:
                await self._handover.complete(pool, claim, place)
            except NoWorker as none:
                await self._requeue(none.claim)
            except (KubeError, MintFailed) as error:
                log.warning("a waiting claim failed", claim=claim.id, error=error.message)
            except MooringError as error:
                log.warning("a waiting claim is left to the invariants", claim=claim.id, error=error.message)
        self._wakeups.wake(claim.id)

    async def _requeue(self, claim: Claim) -> None:
        try:
            await self._ledger.claims.requeue(
                claim.id,
                claim.epoch,
                EndCause.WORKER_LOST,
                now=self._clock.now(),
                reason="its worker went away",
                wait_until=claim.wait_until,
            )
        except Unavailable as error:
            log.warning("a claim could not be requeued", claim=claim.id, error=error.message)

    def _on_queue(self, wake: Wake) -> None:
        if wake.payload:
            self._waiting_pools.add(wake.payload)
        self._wake.set()

    def _on_queued(self, pool_key: str) -> None:
        self._waiting_pools.add(pool_key)
        self._wake.set()

    def _on_claim(self, wake: Wake) -> None:
        if wake.resync:
            self._wakeups.wake_all()
        else:
            self._wakeups.wake(wake.payload)

    def _on_free(self, pool_key: str) -> None:
        if pool_key in self._waiting_pools:
            self._wake.set()
