"""Requests for claims: claim, read, renew, release, revoke."""

import asyncio
from datetime import timedelta

import structlog

from mooring.controllers.claims.gone_workers import GoneWorkers
from mooring.controllers.claims.handover import Handover, NoWorker
from mooring.controllers.claims.ready_index import ReadyIndex
from mooring.controllers.claims.refusals import Abandoned, ClaimRevoked, Refusals
from mooring.controllers.claims.release import ClaimRelease
from mooring.controllers.claims.waiting_clients import Caller, ClientGone, WaitingClients
from mooring.controllers.fleet import Fleet
from mooring.engine.context import Context
from mooring.engine.liveness import record_former_holder
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
from mooring.model.claim_request import SHORTEST_PREFIX, ClaimRequest, unknown_claim
from mooring.model.errors import Conflict, InvalidInput, NotFound, Refused, Unavailable
from mooring.model.evidence import clean_reason
from mooring.model.moments import later
from mooring.model.pool import Pool
from mooring.model.suggestions import suggest
from mooring.planning.fairness import SHARED_SECONDS, compute_order

log = structlog.get_logger()


class UnknownPool(NotFound):
    """There is no such pool."""

    code = "unknown_pool"


class PoolInvalid(Refused):
    """The pool's spec is wrong, so nothing is handed out."""

    code = "pool_invalid"


class ClaimDesk:
    """The commands on claims that the API offers."""

    def __init__(
        self,
        context: Context,
        fleet: Fleet,
        ready: ReadyIndex,
        handover: Handover,
        release: ClaimRelease,
        refusals: Refusals,
        clients: WaitingClients,
    ) -> None:
        self._ledger = context.ledger
        self._fleet = fleet
        self._ready = ready
        self._handover = handover
        self._release = release
        self._gone_workers = GoneWorkers(context, fleet, release)
        self._refusals = refusals
        self._clients = clients
        self._clock = context.clock
        self._liveness = context.liveness
        self._entropy = context.entropy

    async def claim_for(self, pool_key: str, request: ClaimRequest, holder: str) -> Claim:
        """The same for a holder whose connection is not watched."""
        return await self.claim(pool_key, request, Caller(request.wait, holder))

    async def claim(self, pool_key: str, request: ClaimRequest, caller: Caller | None = None) -> Claim:
        """A worker, now or after waiting. The same idempotency key gives the same claim.

        Only waiting ends when the `caller` hangs up; a handover is always completed.
        """
        request.check()
        caller = caller or Caller(request.wait)
        pool = self._pool(pool_key)
        new = self._new_claim(pool, request, caller.holder)
        claim = await self._claim_now(pool, new, caller)
        if claim is not None:
            return claim
        if request.wait <= 0:
            await self._refuse_over_limit(pool, request.owner)
            if pool.spec.demand is not None:  # it is demand, though nothing else of it is left
                await self._ledger.demand.refuse(pool.namespace, pool.name, request.owner, now=self._clock.now())
            raise self._refusals.no_idle_worker(pool)
        until = self._clock.now() + timedelta(seconds=request.wait)
        limits = pool.spec.limits
        admission = await self._ledger.claims.insert_queued(
            new,
            now=self._clock.now(),
            wait_until=until,
            owner_limit=limits.per_owner,
            queue_limit=limits.max_queued,
            by_owner=pool.spec.fairness is not None,
        )
        queued = await self._refusals.require(admission, pool, request.owner)
        self._clients.queued(pool.key)
        return await self._follow(pool, queued, caller)

    async def _claim_now(self, pool: Pool, new: NewClaim, caller: Caller) -> Claim | None:
        """A free worker; None when the claim has to wait, also because other claims wait already."""
        while (place := self._ready.take(pool.key, new.owner)) is not None:
            try:
                admission = await self._handover.claim(pool, new, place, caller)
            except NoWorker as none:
                await self._do_without(pool, none, caller.wait_seconds)
                return await self._follow(pool, none.claim, caller)
            except Unavailable:
                self._clients.doubt(new.id)
                raise
            match admission.verdict:
                case AdmissionVerdict.CREATED if admission.claim is not None:
                    if admission.claim.state is ClaimState.CLAIMED:  # another replica resumed it
                        return await self._follow(pool, admission.claim, caller)
                    return self._clients.hand_out(admission.claim, caller)
                case AdmissionVerdict.SLOT_TAKEN:
                    self._ready.concede(place)
                    continue
                case AdmissionVerdict.WORKER_TAKEN:
                    self._ready.concede_worker(place)
                    continue
            self._ready.free(pool.key, place.worker.uid, place.slot)
            if admission.verdict is AdmissionVerdict.QUEUE_AHEAD:
                return None
            return await self._follow(pool, await self._refusals.require(admission, pool, new.owner), caller)
        return await self._existing(pool, new, caller)

    async def _existing(self, pool: Pool, new: NewClaim, caller: Caller) -> Claim | None:
        """No worker is free, but the same request may have been served before."""
        if new.idempotency_key is None:
            return None
        found = await self._ledger.claims.find_by_key(pool.namespace, pool.name, new.idempotency_key)
        return await self._follow(pool, judge_repeat(new, found).require(), caller) if found else None

    async def _refuse_over_limit(self, pool: Pool, owner: str) -> None:
        """Refuse an owner that is over its limit; checked first, so also when no worker is idle."""
        limit = pool.spec.limits.per_owner
        if limit is not None and await self._ledger.claims.count_open(pool.namespace, pool.name, owner) >= limit:
            await self._refusals.require(Admission(AdmissionVerdict.LIMIT_REACHED), pool, owner)

    async def _follow(self, pool: Pool, claim: Claim, caller: Caller) -> Claim:
        """The claim when it runs or ends, or the caller's wait is over. A handover that nobody completes is resumed."""
        deadline = self._clock.monotonic() + caller.wait_seconds
        await self._gone_workers.leave(claim)
        async with self._clients.attended(claim.id) as woken:
            caller.wakes(woken)
            while True:
                current = await self.get(claim.id)
                if caller.gone:
                    raise ClientGone(f"the client of claim {claim.id} is gone")
                left = deadline - self._clock.monotonic()
                resumable_in = self._handover.resumable_in(pool, current) if self._fleet.synced else None
                if resumable_in is not None and resumable_in <= 0:
                    await self._resume(pool, current, left)
                    continue
                if current.state not in (ClaimState.QUEUED, ClaimState.CLAIMED) or left <= 0:
                    taken = await self._clients.take(current, caller)
                    if (judged := await self._judge(pool, taken, waited=claim.open)) is not None:
                        return judged
                    continue
                self._clients.check_open()
                await _wait(woken, min(left, 5.0, resumable_in or 5.0))
                woken.clear()

    async def _resume(self, pool: Pool, claim: Claim, left_seconds: float) -> None:
        """Complete a handover that another replica left incomplete. A third one may be faster."""
        try:
            await self._handover.resume(pool, claim)
        except NoWorker as none:
            await self._do_without(pool, none, left_seconds)
        except Conflict as conflict:
            log.info("another replica completes the claim", claim=claim.id, because=conflict.message)

    async def _do_without(self, pool: Pool, none: NoWorker, left_seconds: float) -> None:
        """Its worker is gone and there is no other: it waits where its client does, else it fails."""
        claim, now = none.claim, self._clock.now()
        if left_seconds <= 0:
            outcome = await self._release.end(claim.id, claim.epoch, EndCause.NOT_STARTED, none.message)
            if outcome.applied:
                raise self._refusals.no_idle_worker(pool) from none
            return  # another replica found a worker for it
        await self._ledger.claims.requeue(
            claim.id,
            claim.epoch,
            EndCause.WORKER_LOST,
            now=now,
            reason="its worker went away",
            wait_until=now + timedelta(seconds=left_seconds),
        )

    async def _judge(self, pool: Pool, claim: Claim, waited: bool) -> Claim | None:
        """A claim whose own wait is over expires; one that was asked for again, with time left, waits on.

        None if it got a worker at the last moment: then it is looked at again."""
        if claim.cause is EndCause.ABANDONED and not claim.open:
            raise Abandoned(f"claim {claim.id} is given up: {claim.reason}", fix="repeat the request")
        if waited and claim.cause is EndCause.REVOKED and not claim.open:
            raise ClaimRevoked(claim)
        if waited and claim.cause is EndCause.WAIT_OVER:
            raise self._refusals.wait_timed_out(pool, claim, None)  # the queue ended it first
        overdue = claim.wait_until is not None and self._clock.now() >= claim.wait_until
        if claim.state is ClaimState.QUEUED and overdue:
            position = await self.position(claim)
            outcome = await self._ledger.claims.end(
                claim.id, claim.epoch, EndCause.WAIT_OVER, now=self._clock.now(), reason="no worker became free in time"
            )
            if outcome.applied:
                raise self._refusals.wait_timed_out(pool, claim, position)
            return None
        if claim.ended_at is not None and claim.state is not ClaimState.RELEASED:
            raise Conflict(f"claim {claim.id} is {claim.state.value}: {claim.reason}", detail={"claim": claim.id})
        return claim

    async def get(self, claim_id: str) -> Claim:
        """A claim by its id."""
        claim = await self._ledger.claims.get(claim_id)
        if claim is None:
            raise unknown_claim(claim_id)
        return claim

    async def find(self, claim_id: str) -> Claim:
        """A claim by its id, or by the beginning of its id if no other claim has it."""
        claim = await self._ledger.claims.get(claim_id)
        if claim is not None:
            return claim
        if len(claim_id) < SHORTEST_PREFIX:
            raise unknown_claim(claim_id)
        found = await self._ledger.claims.find_by_prefix(claim_id)
        if len(found) > 1:
            raise InvalidInput("id", claim_id, f"longer: it may mean {', '.join(claim.id for claim in found)}")
        if not found:
            raise unknown_claim(claim_id)
        return found[0]

    async def find_by_key(self, namespace: str, pool: str, key: str) -> Claim | None:
        """The claim that a request with this key made in a pool."""
        return await self._ledger.claims.find_by_key(namespace, pool, key)

    async def look(self, claim_id: str) -> Claim:
        """A claim as its client reads it, which is a sign of life."""
        return await self.attend(await self.find(claim_id))

    async def attend(self, claim: Claim) -> Claim:
        """Its client reads it: a sign of life."""
        if claim.state is ClaimState.QUEUED:
            self._clients.touch(claim.id)
        if not self._clients.is_new(claim):
            return claim
        outcome = await self._ledger.claims.heartbeat(claim.id, claim.epoch, now=self._clock.now())
        return outcome.claim or claim

    async def position(self, claim: Claim) -> int | None:
        """Its place in the queue; None when it does not wait."""
        pool = self._fleet.pool(f"{claim.namespace}/{claim.pool}")
        if pool is None or pool.spec.fairness is None:
            return await self._ledger.claims.position(claim.id)
        queue = await self._ledger.claims.queue(pool.namespace, pool.name)
        since = later(self._clock.now(), -SHARED_SECONDS)
        served = await self._ledger.claims.served_by_owner(pool.namespace, pool.name, since=since)
        order = compute_order(queue, served, pool.spec.fairness.weights)
        return next((place for place, waiting in enumerate(order, 1) if waiting.id == claim.id), None)

    async def heartbeat(self, claim_id: str, epoch: int) -> Claim:
        """The holder is alive; a stale epoch is refused, and is still a sign of life of the worker that had it."""
        outcome = await self._ledger.claims.heartbeat(claim_id, epoch, now=self._clock.now())
        if outcome.claim is None:
            raise unknown_claim(claim_id)
        if not outcome.applied:
            record_former_holder(self._liveness, outcome.claim, epoch)
        return outcome.require()

    async def release(self, claim_id: str, epoch: int, reason: str = "") -> Claim:
        """Its holder gives the worker back. Twice is fine; under an old epoch is not."""
        message = clean_reason(reason) or "released by its holder"
        outcome = await self._release.end(claim_id, epoch, EndCause.RELEASED, message)
        if outcome.claim is None:
            raise unknown_claim(claim_id)
        if outcome.verdict is Verdict.ENDED:
            await self._release.give_back(outcome.claim)
            return outcome.claim
        return outcome.require()

    async def revoke(self, claim_id: str, *, actor: str, reason: str) -> Claim:
        """End the claim of another holder, or one that waits. A claim that has ended stays as it is."""
        claim = await self.find(claim_id)
        if not claim.open:  # its worker may be left half given back
            await self._release.end(claim.id, claim.epoch, EndCause.REVOKED, clean_reason(reason))
            return claim
        await self._release.revoke(claim, actor, clean_reason(reason))
        claim = await self.get(claim.id)
        if claim.open:
            raise Conflict(f"claim {claim.id} has moved to another worker since it was read", fix="release it again")
        return claim

    def _pool(self, pool_key: str) -> Pool:
        pool = self._fleet.pool(pool_key)
        if pool is None or pool.terminating:
            if not self._fleet.synced:  # of a replica that has just started: "no" would be final for the caller
                raise Unavailable("pools are not known yet: the caches are not synced", fix="ask again in a moment")
            raise UnknownPool(f"there is no pool {pool_key!r}", fix=suggest(pool_key, self._fleet.pools, "pools"))
        if pool.problems:
            raise PoolInvalid(f"the spec of {pool_key} is wrong: {pool.problems[0]}", fix="correct the pool")
        return pool

    def _new_claim(self, pool: Pool, request: ClaimRequest, holder: str) -> NewClaim:
        return NewClaim(
            id=self._entropy.uuid(),
            namespace=pool.namespace,
            pool=pool.name,
            owner=request.owner,
            ttl_seconds=request.ttl_seconds,
            priority=request.priority,
            idempotency_key=request.idempotency_key,
            request_hash=request.fingerprint(pool.key),
            retryable=request.retryable,
            payload=request.payload,
            detached=request.detached,
            holder=holder,
        )


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
