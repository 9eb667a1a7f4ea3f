"""Handing a worker over, in the order that no crash can turn into a leak: row, stamp, mint, running."""

from datetime import timedelta

import structlog

from mooring.clock import Clock
from mooring.control.claiming.ending import Ending
from mooring.control.claiming.minting import Minter, MintFailed
from mooring.control.claiming.ready import Place, ReadyIndex
from mooring.control.claiming.stamping import Stamped, Stamper
from mooring.kube.errors import KubeError
from mooring.ledger.port import Ledger
from mooring.model.claim import Claim, Verdict, WorkerSlot
from mooring.model.errors import MooringError, Unavailable
from mooring.model.pool import Pool

log = structlog.get_logger()


class Handover:
    """From a claim that holds a row to one that runs. The same for a direct claim and for one that waited."""

    def __init__(
        self, ledger: Ledger, ready: ReadyIndex, stamper: Stamper, minter: Minter, ending: Ending, clock: Clock
    ) -> None:
        self._ledger = ledger
        self._ready = ready
        self._stamper = stamper
        self._minter = minter
        self._ending = ending
        self._clock = clock

    def slot_of(self, pool: Pool, place: Place) -> WorkerSlot:
        """The slot as the ledger keeps it, protected up to the pool's ceiling."""
        until = self._clock.now() + timedelta(seconds=pool.spec.protection.ceiling_seconds)
        return WorkerSlot(place.worker.name, place.worker.uid, place.slot, place.worker.address, until)

    async def complete(self, pool: Pool, claim: Claim, place: Place) -> Claim:
        """Stamp, mint, run. A worker that turns out to be doomed is let go and the next one is tried."""
        self._ready.hold(place, claim.id)
        try:
            claim, place = await self._stamp(pool, claim, place)
            payload = await self._minter.mint(pool, claim)
        except (KubeError, MintFailed) as error:
            # A healthy worker rejoins the pool at once: no reaper, no respawn (leaked-stamps).
            await self._fail(claim, error.message)
            raise
        outcome = await self._ledger.claims.mark_running(
            claim.id,
            claim.epoch,
            now=self._clock.now(),
            payload=payload,
            announce=pool.spec.dispatch == "Poll",
        )
        return outcome.require()

    async def _fail(self, claim: Claim, reason: str) -> None:
        try:
            await self._ending.fail(claim, reason)
        except MooringError as error:
            log.warning("a failed claim is left to the invariants", claim=claim.id, error=error.message)

    async def _stamp(self, pool: Pool, claim: Claim, place: Place) -> tuple[Claim, Place]:
        while True:
            stamped = await self._stamper.stamp(claim, place)
            if stamped is Stamped.GOOD:
                return claim, place
            log.info("worker passed over", claim=claim.id, worker=place.worker.name, because=stamped.value)
            if stamped is Stamped.DOOMED:
                await self._stamper.unstamp(place.worker.namespace, place.worker.name, place.worker.uid, claim.epoch)
            claim, place = await self._move(pool, claim)

    async def _move(self, pool: Pool, claim: Claim) -> tuple[Claim, Place]:
        """To the next candidate, under a new epoch; without one the claim waits where it stood."""
        while (place := self._ready.take(pool.key)) is not None:
            outcome = await self._ledger.claims.bind(
                claim.id, claim.epoch, self.slot_of(pool, place), now=self._clock.now()
            )
            if outcome.applied and outcome.claim is not None:
                self._ready.hold(place, claim.id)
                return outcome.claim, place
            if outcome.verdict is not Verdict.SLOT_TAKEN:
                self._ready.free(pool.key, place.worker.uid, place.slot)
                outcome.require()
        raise NoWorker(claim)


class NoWorker(Unavailable):
    """Every candidate turned out to be taken or doomed."""

    code = "no_idle_worker"

    def __init__(self, claim: Claim) -> None:
        super().__init__("no worker is free any more", fix="ask again with a longer wait")
        self.claim = claim
