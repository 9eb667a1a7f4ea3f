"""The desk: where claims are asked for, kept alive and given back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from mooring.clock import Clock, Entropy
from mooring.control.claiming.ending import Ending
from mooring.control.claiming.handover import Handover, NoWorker
from mooring.control.claiming.ready import ReadyIndex
from mooring.control.claiming.refusals import Refusals
from mooring.control.fleet import Fleet
from mooring.ledger.port import Ledger
from mooring.model.claim import (
    Admission,
    AdmissionVerdict,
    Claim,
    ClaimState,
    EndCause,
    NewClaim,
    Verdict,
    judge_repeat,
)
from mooring.model.errors import Conflict, NotFound, Refused, StaleEpoch
from mooring.model.evidence import clean_reason
from mooring.model.pool import Pool, find_problems
from mooring.model.spelling import suggest
from mooring.model.wish import Wish

log = structlog.get_logger()


class UnknownPool(NotFound):
    """There is no such pool."""

    code = "unknown_pool"


class PoolInvalid(Refused):
    """The pool's spec is wrong, so nothing is handed out."""

    code = "pool_invalid"


class Bells:
    """Wakes whoever waits for a claim."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def ring(self, claim_id: str) -> None:
        """Something happened to the claim."""
        for event in self._waiting.get(claim_id, ()):
            event.set()

    def ring_all(self) -> None:
        """Something may have been missed."""
        for claim_id in self._waiting:
            self.ring(claim_id)

    @asynccontextmanager
    async def listening(self, claim_id: str) -> AsyncIterator[asyncio.Event]:
        """An event that is set whenever the claim's bell rings."""
        event = asyncio.Event()
        self._waiting.setdefault(claim_id, set()).add(event)
        try:
            yield event
        finally:
            self._waiting[claim_id].discard(event)
            if not self._waiting[claim_id]:
                del self._waiting[claim_id]


class ClaimDesk:
    """Claim, look, beat, release, revoke."""

    def __init__(
        self,
        ledger: Ledger,
        fleet: Fleet,
        ready: ReadyIndex,
        handover: Handover,
        ending: Ending,
        refusals: Refusals,
        bells: Bells,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._ledger = ledger
        self._fleet = fleet
        self._ready = ready
        self._handover = handover
        self._ending = ending
        self._refusals = refusals
        self._bells = bells
        self._clock = clock
        self._entropy = entropy

    async def claim(self, pool_key: str, wish: Wish) -> Claim:
        """A worker, now or after waiting. The same idempotency key gives the same claim."""
        wish.check()
        pool = self._pool(pool_key)
        new = self._new_claim(pool, wish)
        claim = await self._claim_now(pool, new, wish.wait)
        if claim is not None:
            return claim
        if wish.wait <= 0:
            await self._refuse_over_limit(pool, wish.owner)
            raise self._refusals.no_idle_worker(pool)
        until = self._clock.now() + timedelta(seconds=wish.wait)
        limit = pool.spec.limits.per_owner
        admission = await self._ledger.claims.insert_queued(
            new, now=self._clock.now(), wait_until=until, owner_limit=limit
        )
        return await self._follow(pool, await self._refusals.require(admission, pool, wish.owner), wish.wait)

    async def _claim_now(self, pool: Pool, new: NewClaim, wait_seconds: float) -> Claim | None:
        """A free worker, unless others wait already; None when the claim has to wait."""
        while (place := self._ready.take(pool.key)) is not None:
            slot = self._handover.slot_of(pool, place)
            try:
                admission = await self._ledger.claims.insert_claimed(
                    new, slot, now=self._clock.now(), owner_limit=pool.spec.limits.per_owner
                )
            except BaseException:  # whether the row is there or not: the ledger knows, and refuses the slot if it is
                self._ready.free(pool.key, place.worker.uid, place.slot)
                raise
            match admission.verdict:
                case AdmissionVerdict.CREATED if admission.claim is not None:
                    try:
                        return await self._handover.complete(pool, admission.claim, place)
                    except NoWorker as none:
                        await self._do_without(pool, none, wait_seconds)
                    except StaleEpoch:
                        pass  # it was taken up elsewhere
                    return await self._follow(pool, admission.claim, wait_seconds)
                case AdmissionVerdict.SLOT_TAKEN:
                    self._ready.concede(place)
                    continue
            self._ready.free(pool.key, place.worker.uid, place.slot)
            if admission.verdict is AdmissionVerdict.QUEUE_AHEAD:
                return None
            return await self._follow(pool, await self._refusals.require(admission, pool, new.owner), wait_seconds)
        return await self._existing(pool, new, wait_seconds)

    async def _existing(self, pool: Pool, new: NewClaim, wait_seconds: float) -> Claim | None:
        """Nobody is free; but the same request may have been served before."""
        if new.idempotency_key is None:
            return None
        found = await self._ledger.claims.find_by_key(pool.namespace, pool.name, new.idempotency_key)
        return await self._follow(pool, judge_repeat(new, found).require(), wait_seconds) if found else None

    async def _refuse_over_limit(self, pool: Pool, owner: str) -> None:
        """Who may not have one anyway is told so, idle workers or not."""
        limit = pool.spec.limits.per_owner
        if limit is not None and await self._ledger.claims.count_open(pool.namespace, pool.name, owner) >= limit:
            await self._refusals.require(Admission(AdmissionVerdict.LIMIT_REACHED), pool, owner)

    async def _follow(self, pool: Pool, claim: Claim, seconds: float) -> Claim:
        """Until the claim runs or ends, for so many seconds; then as it is. One that nobody completes is taken up."""
        deadline = self._clock.monotonic() + seconds
        async with self._bells.listening(claim.id) as rung:
            while True:
                current = await self.get(claim.id)
                left = deadline - self._clock.monotonic()
                abandoned_in = self._handover.abandoned_in(pool, current) if self._fleet.synced else None
                if abandoned_in is not None and abandoned_in <= 0:
                    await self._take_up(pool, current, left)
                    continue
                if current.state not in (ClaimState.QUEUED, ClaimState.CLAIMED) or left <= 0:
                    return await self._judge(pool, current, waited=claim.open)
                await _wait(rung, min(left, 5.0, abandoned_in or 5.0))
                rung.clear()

    async def _take_up(self, pool: Pool, claim: Claim, left_seconds: float) -> None:
        """Complete a handover that was left half way. Whoever else is faster may have it."""
        try:
            await self._handover.resume(pool, claim)
        except NoWorker as none:
            await self._do_without(pool, none, left_seconds)
        except Conflict as conflict:
            log.info("a claim was taken up by others", claim=claim.id, because=conflict.message)

    async def _do_without(self, pool: Pool, none: NoWorker, left_seconds: float) -> None:
        """Its worker is gone and there is no other: it waits where its client does, else it fails."""
        claim, now = none.claim, self._clock.now()
        if left_seconds <= 0:
            await self._ending.end(claim.id, claim.epoch, EndCause.NOT_STARTED, none.message)
            raise self._refusals.no_idle_worker(pool) from none
        await self._ledger.claims.requeue(
            claim.id,
            claim.epoch,
            EndCause.WORKER_LOST,
            now=now,
            reason="its worker went away",
            wait_until=now + timedelta(seconds=left_seconds),
        )

    async def _judge(self, pool: Pool, claim: Claim, waited: bool) -> Claim:
        """A claim whose own wait is over expires; one that was asked for again, with time left, waits on."""
        if waited and claim.cause is EndCause.WAIT_OVER:
            raise self._refusals.wait_timed_out(pool, claim, None)  # whoever looked after the queue was faster
        overdue = claim.wait_until is not None and self._clock.now() >= claim.wait_until
        if claim.state is ClaimState.QUEUED and overdue:
            position = await self.position(claim.id)
            outcome = await self._ledger.claims.end(
                claim.id, claim.epoch, EndCause.WAIT_OVER, now=self._clock.now(), reason="nobody became free in time"
            )
            if outcome.applied:
                raise self._refusals.wait_timed_out(pool, claim, position)
            claim = await self.get(claim.id)
        if claim.ended_at is not None and claim.state is not ClaimState.RELEASED:
            raise Conflict(f"claim {claim.id} is {claim.state.value}: {claim.reason}", detail={"claim": claim.id})
        return claim

    async def get(self, claim_id: str) -> Claim:
        """A claim by its id."""
        claim = await self._ledger.claims.get(claim_id)
        if claim is None:
            raise _unknown(claim_id)
        return claim

    async def position(self, claim_id: str) -> int | None:
        """Its place in the queue; None when it does not wait."""
        return await self._ledger.claims.position(claim_id)

    async def heartbeat(self, claim_id: str, epoch: int) -> Claim:
        """The holder is alive; a stale epoch is refused."""
        outcome = await self._ledger.claims.heartbeat(claim_id, epoch, now=self._clock.now())
        if outcome.claim is None:
            raise _unknown(claim_id)
        return outcome.require()

    async def release(self, claim_id: str, epoch: int, reason: str = "") -> Claim:
        """Its holder, who alone knows the epoch, gives the worker back. Twice is fine; under an old epoch is not."""
        told = clean_reason(reason) or "released by its holder"
        outcome = await self._ending.end(claim_id, epoch, EndCause.RELEASED, told)
        if outcome.claim is None:
            raise _unknown(claim_id)
        if outcome.verdict is Verdict.ENDED:
            return outcome.claim  # it ended otherwise: nothing is left to give back
        return outcome.require()

    async def revoke(self, claim_id: str, *, actor: str, reason: str) -> Claim:
        """Take the claim from whoever holds it or waits for it. What is over already stays as it is."""
        told = clean_reason(reason) or "released by an operator"
        claim = await self.get(claim_id)
        if not claim.open:
            await self._ending.end(
                claim.id, claim.epoch, EndCause.REVOKED, told
            )  # its worker may be left half given back
            return claim
        await self._ending.revoke(claim, actor, told)
        claim = await self.get(claim_id)
        if claim.open:
            raise Conflict(f"claim {claim.id} went to another worker meanwhile", fix="release it again")
        return claim

    def _pool(self, pool_key: str) -> Pool:
        pool = self._fleet.pool(pool_key)
        if pool is None or pool.terminating:
            raise UnknownPool(f"there is no pool {pool_key!r}", fix=suggest(pool_key, self._fleet.pools, "pools"))
        if problems := find_problems(pool):
            raise PoolInvalid(f"the spec of {pool_key} is wrong: {problems[0]}", fix="correct the pool")
        return pool

    def _new_claim(self, pool: Pool, wish: Wish) -> NewClaim:
        return NewClaim(
            id=self._entropy.uuid(),
            namespace=pool.namespace,
            pool=pool.name,
            owner=wish.owner,
            ttl_seconds=wish.ttl_seconds,
            priority=wish.priority,
            idempotency_key=wish.idempotency_key,
            request_hash=wish.fingerprint(pool.key),
            retryable=wish.retryable,
            payload=wish.payload,
        )


def _unknown(claim_id: str) -> NotFound:
    return NotFound(f"there is no claim {claim_id!r}", fix="ids come from POST .../claims")


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
