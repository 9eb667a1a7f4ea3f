"""Serving those who wait: as soon as a slot is free, the head of the queue gets it. Woken, not polling."""

import asyncio

import structlog

from mooring.clock import Clock
from mooring.control.claiming.desk import Bells
from mooring.control.claiming.ending import Ending
from mooring.control.claiming.handover import Handover, NoWorker
from mooring.control.claiming.minting import MintFailed
from mooring.control.claiming.ready import Place, ReadyIndex
from mooring.control.fleet import Fleet
from mooring.kube.errors import KubeError
from mooring.ledger.port import Ledger
from mooring.ledger.records import Channel, Wake
from mooring.model.claim import Claim, EndCause, Verdict
from mooring.model.errors import MooringError, Unavailable
from mooring.model.pool import Pool

log = structlog.get_logger()

REFRESH_SECONDS = 5.0
RETRY_SECONDS = 0.5


class Waiting:
    """One replica's part in serving the queues of all pools."""

    def __init__(
        self,
        ledger: Ledger,
        fleet: Fleet,
        ready: ReadyIndex,
        handover: Handover,
        ending: Ending,
        bells: Bells,
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._fleet = fleet
        self._ready = ready
        self._handover = handover
        self._ending = ending
        self._bells = bells
        self._clock = clock
        self._hungry: set[str] = set()  # pools in whose queue somebody may wait
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        ready.on_free(self._on_free)

    async def run(self) -> None:
        """Until cancelled."""
        unlisten = [
            self._ledger.listen(Channel.QUEUE, self._on_queue),
            self._ledger.listen(Channel.CLAIM, self._on_claim),
        ]
        try:
            while True:
                await self._refresh()
                deadline = self._clock.monotonic() + REFRESH_SECONDS
                while (left := deadline - self._clock.monotonic()) > 0:
                    await self._serve_all()
                    try:
                        async with asyncio.timeout(left):
                            await self._wake.wait()
                    except TimeoutError:
                        break
                    self._wake.clear()
        finally:
            for stop in unlisten:
                stop()
            for task in self._tasks:
                task.cancel()

    async def _refresh(self) -> None:
        """Read the truth now and then: what others hold, who waits, whose wait is over."""
        try:
            self._ready.ask()
            self._ready.learn(await self._ledger.claims.live())
            for ended in await self._ledger.claims.expire_waiting(now=self._clock.now()):
                self._bells.ring(ended.id)
            for count in await self._ledger.claims.count_by_pool():
                if count.queued:
                    self._hungry.add(f"{count.namespace}/{count.pool}")
        except Unavailable as error:
            log.warning("queues cannot be read", error=error.message)

    async def _serve_all(self) -> None:
        for pool_key in list(self._hungry):
            pool = self._fleet.pool(pool_key)
            if pool is None:
                self._hungry.discard(pool_key)
                continue
            try:
                await self._serve(pool)
            except MooringError as error:
                log.warning("a queue could not be served", pool=pool_key, error=error.message)
                await self._clock.sleep(RETRY_SECONDS)  # the slot that was given back would wake us at once

    async def _serve(self, pool: Pool) -> None:
        while (place := self._ready.take(pool.key)) is not None:
            slot = self._handover.slot_of(pool, place)
            try:
                outcome = await self._ledger.claims.bind_next(pool.namespace, pool.name, slot, now=self._clock.now())
            except Unavailable:
                self._ready.free(pool.key, place.worker.uid, place.slot)
                raise
            if outcome is None:
                self._hungry.discard(pool.key)
                self._ready.free(pool.key, place.worker.uid, place.slot)
                return
            if outcome.verdict is Verdict.SLOT_TAKEN or outcome.claim is None:
                self._ready.concede(place)
                continue
            task = asyncio.create_task(self._hand_over(pool, outcome.claim, place))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _hand_over(self, pool: Pool, claim: Claim, place: Place) -> None:
        try:
            await self._handover.complete(pool, claim, place)
        except NoWorker as none:
            await self._requeue(none.claim)
        except (KubeError, MintFailed) as error:
            log.warning("a waiting claim failed", claim=claim.id, error=error.message)
        except MooringError as error:
            log.warning("a waiting claim is left to the invariants", claim=claim.id, error=error.message)
        self._bells.ring(claim.id)

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
            self._hungry.add(wake.payload)
        self._wake.set()

    def _on_claim(self, wake: Wake) -> None:
        if wake.resync:
            self._bells.ring_all()
        else:
            self._bells.ring(wake.payload)

    def _on_free(self, pool_key: str) -> None:
        if pool_key in self._hungry:
            self._wake.set()
