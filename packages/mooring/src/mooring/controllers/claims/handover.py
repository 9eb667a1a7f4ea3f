"""Handing a worker over, in an order in which a crash leaves nothing that is not repaired: row, stamp, mint, running.

If a replica dies before the end, another one resumes the handover when the request is repeated. Only one replica may
complete a claim under one epoch: if two did and the mint failed for the second, it would end the claim that the first
has just handed out. So the replica that resumes binds the claim to its slot again. The new epoch makes the ledger
refuse all later writes of the first replica.
"""

from contextlib import suppress

import structlog

from hawser.errors import KubeError
from mooring.controllers.claims.mint import Minter, MintFailed
from mooring.controllers.claims.ready_index import Place, ReadyIndex
from mooring.controllers.claims.release import ClaimRelease
from mooring.controllers.claims.revocations import MintRevocations
from mooring.controllers.claims.stamps import Stamped, Stamps
from mooring.controllers.claims.waiting_clients import Caller, ClientGone
from mooring.engine.concurrency_limit import ConcurrencyLimit
from mooring.engine.context import Context
from mooring.model.audit import AuditOutcome
from mooring.model.claim import (
    Admission,
    AdmissionVerdict,
    Claim,
    ClaimState,
    NewClaim,
    Outcome,
    Verdict,
    WorkerSlot,
)
from mooring.model.errors import MooringError, StaleEpoch, Unavailable
from mooring.model.moments import later
from mooring.model.pool import Pool
from mooring.planning.invariants.claims import never_given, never_ran, worked_later

log = structlog.get_logger()

COMPLETION_SECONDS = 5.0  # plus the mint's timeout: the time in which only the replica that began may complete it


class Handover:
    """From a claim that holds a row to one that runs. The same for a direct claim and for one that waited."""

    def __init__(
        self,
        context: Context,
        ready: ReadyIndex,
        stamps: Stamps,
        minter: Minter,
        revocations: MintRevocations,
        release: ClaimRelease,
    ) -> None:
        self._ledger = context.ledger
        self._ready = ready
        self._stamps = stamps
        self._minter = minter
        self._revocations = revocations
        self._release = release
        self._clock = context.clock
        self._limit = ConcurrencyLimit(context.clock)
        self._completing: set[str] = set()  # ids of the claims that are being completed here

    def slot_of(self, pool: Pool, place: Place) -> WorkerSlot:
        """The slot as the ledger keeps it, protected up to the pool's ceiling."""
        until = later(self._clock.now(), pool.spec.protection.ceiling_seconds)
        one_owner = pool.spec.sharing == "PerOwner"
        return WorkerSlot(place.worker.name, place.worker.uid, place.slot, place.worker.address, until, one_owner)

    async def claim(self, pool: Pool, new: NewClaim, place: Place, caller: Caller) -> Admission:
        """Insert the row and complete it; the claim that was created runs, unless another replica resumed it.

        The number of claims under way is limited, so that the first of a burst are answered while the last wait. A
        mint may take seconds: its claims do not count. Nothing is written for a client that is gone by its turn: on a
        replica that is too slow for its clients, work for those that gave up would make it slower still.
        """
        began_at = await self._begin(pool, place)
        admission = None
        try:
            if caller.gone and not new.detached:
                self._ready.free(pool.key, place.worker.uid, place.slot)
                raise ClientGone(f"the client of a claim on {pool.key} is gone")
            admission = await self._insert(pool, new, place)
            if admission.verdict is AdmissionVerdict.CREATED and admission.claim is not None:
                with suppress(StaleEpoch):
                    return Admission(admission.verdict, await self.complete(pool, admission.claim, place))
            return admission
        finally:
            if began_at is not None:
                self._limit.release(began_at, complete=admission is not None)

    async def _begin(self, pool: Pool, place: Place) -> float | None:
        if pool.spec.mint is not None:
            return None
        try:
            return await self._limit.acquire()
        except BaseException:
            self._ready.free(pool.key, place.worker.uid, place.slot)
            raise

    async def _insert(self, pool: Pool, new: NewClaim, place: Place) -> Admission:
        try:
            return await self._ledger.claims.insert_claimed(
                new,
                self.slot_of(pool, place),
                now=self._clock.now(),
                owner_limit=pool.spec.limits.per_owner,
                private=place.private,
            )
        except BaseException:  # whether the row is there or not: the ledger knows, and refuses the slot if it is
            self._ready.free(pool.key, place.worker.uid, place.slot)
            raise

    async def complete(self, pool: Pool, claim: Claim, place: Place) -> Claim:
        """Stamp, mint, run. If the worker turns out to be leaving, the next one is tried."""
        self._completing.add(claim.id)
        try:
            return await self._stamp_and_start(pool, claim, place)
        finally:
            self._completing.discard(claim.id)

    def resumable_in(self, pool: Pool, claim: Claim) -> float | None:
        """Seconds until its handover may be resumed; 0 or less means now. None while it is being completed here.

        The wait is for replicas that are only slow: clients that repeat their request faster than a mint answers would
        otherwise start the handover again each time.
        """
        if claim.state is not ClaimState.CLAIMED or claim.claimed_at is None or claim.id in self._completing:
            return None
        mint_seconds = pool.spec.mint.timeout_seconds if pool.spec.mint is not None else 0
        return COMPLETION_SECONDS + mint_seconds - (self._clock.now() - claim.claimed_at).total_seconds()

    async def resume(self, pool: Pool, claim: Claim) -> Claim:
        """Complete what another call began, on its worker if that is still there. Raises `Conflict` if others do."""
        place = self._ready.place_of(claim)
        if place is None:
            claim, place = await self._move(pool, claim)
        else:
            claim = _ours(await self._bind(pool, claim, place))
        log.info("handover resumed", claim=claim.id, worker=place.worker.name, epoch=claim.epoch)
        return await self.complete(pool, claim, place)

    async def _stamp_and_start(self, pool: Pool, claim: Claim, place: Place) -> Claim:
        self._ready.hold(place, claim.id)
        claim, place = await self._stamp(pool, claim, place)
        await self._revocations.intend(pool, claim)
        try:
            minted = await self._minter.mint(pool, claim)
        except MintFailed as error:
            # A healthy worker rejoins the pool at once: no reaper, no respawn (leaked-stamps).
            await self._fail(claim, place, error.message)
            raise
        outcome = await self._ledger.claims.mark_running(
            claim.id,
            claim.epoch,
            now=self._clock.now(),
            minted=minted,
            announce=pool.spec.dispatch == "Poll",
        )
        if not outcome.applied:
            await self._correct(claim, place, outcome.claim)
        return outcome.require()

    async def _correct(self, claim: Claim, place: Place, row: Claim | None) -> None:
        """The claim ended or has another epoch, and our stamp came after: the pod gets back what its row says."""
        try:
            if row is not None and row.live and row.pod_uid == claim.pod_uid:
                await self._stamps.stamp(row, place)
            elif await self._is_unused(claim, row, place):
                await self._release.withdraw(claim)
        except MooringError as error:
            log.warning("a stamp is left to the invariants", claim=claim.id, error=error.message)

    async def _is_unused(self, claim: Claim, row: Claim | None, place: Place) -> bool:
        """Whether no session runs under the stamp. One that expired may go on, and its stamp be replaced by this."""
        if not never_ran(row, claim.epoch) or worked_later(row, claim.epoch, place.worker.uid):
            return False
        expired = await self._ledger.claims.expired_on(place.worker.uid)
        later = [one for one in expired if one.epoch > claim.epoch]
        return all(never_given(one, one.epoch) for one in later)

    async def _fail(self, claim: Claim, place: Place, reason: str) -> None:
        try:
            outcome, _ = await self._release.fail(claim, reason)
            if outcome is AuditOutcome.SKIPPED:
                await self._correct(claim, place, await self._ledger.claims.get(claim.id))
        except MooringError as error:
            log.warning("a failed claim is left to the invariants", claim=claim.id, error=error.message)

    async def _stamp(self, pool: Pool, claim: Claim, place: Place) -> tuple[Claim, Place]:
        while True:
            worker = place.worker
            try:
                stamped = await self._stamps.stamp(claim, place)
                if stamped is Stamped.GOOD:
                    return claim, place
                log.info("worker passed over", claim=claim.id, worker=worker.name, because=stamped.value)
                if stamped is Stamped.DOOMED:
                    await self._release.withdraw(claim)  # not the protection of others who work there
            except KubeError as error:
                await self._fail(claim, place, error.message)
                raise
            claim, place = await self._move(pool, claim)

    async def _move(self, pool: Pool, claim: Claim) -> tuple[Claim, Place]:
        """To the next candidate, under a new epoch; without one the claim waits where it stood."""
        while (place := self._ready.take(pool.key, claim.owner)) is not None:
            try:
                outcome = await self._bind(pool, claim, place)
            except BaseException:
                self._ready.free(pool.key, place.worker.uid, place.slot)
                raise
            if outcome.verdict is Verdict.SLOT_TAKEN:
                self._ready.concede(place)
                continue
            if outcome.verdict is Verdict.WORKER_TAKEN:
                self._ready.concede_worker(place)
                continue
            if outcome.verdict is not Verdict.DONE:
                self._ready.free(pool.key, place.worker.uid, place.slot)
            moved = _ours(outcome)
            self._ready.hold(place, claim.id)
            return moved, place
        raise NoWorker(claim)

    async def _bind(self, pool: Pool, claim: Claim, place: Place) -> Outcome:
        return await self._ledger.claims.bind(claim.id, claim.epoch, self.slot_of(pool, place), now=self._clock.now())


def _ours(outcome: Outcome) -> Claim:
    """The claim, if this call bound it. With ALREADY, the epoch is that of another call."""
    if outcome.verdict is Verdict.ALREADY:
        raise StaleEpoch("another replica completes the claim", fix="ask again")
    return outcome.require()


class NoWorker(Unavailable):
    """Every candidate turned out to be taken or doomed."""

    code = "no_idle_worker"

    def __init__(self, claim: Claim) -> None:
        super().__init__("no worker is free any more", fix="ask again with a longer wait")
        self.claim = claim
