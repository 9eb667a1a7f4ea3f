"""Claims in memory. The functions of `model.claim` decide what PostgreSQL decides in its WHERE clauses."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from mooring.ledger.records import Channel, WaitingSign
from mooring.ledger.twin.claim_reads import MemoryClaimReads, count_owned, find_key, needs_client, order_queue, waiting
from mooring.ledger.twin.store import MemoryStore, as_json
from mooring.model.claim import (
    Admission,
    AdmissionVerdict,
    Claim,
    ClaimState,
    EndCause,
    NewClaim,
    Outcome,
    Verdict,
    WorkerSlot,
    frees_key,
    judge_bind,
    judge_heartbeat,
    judge_repeat,
    judge_requeue,
    judge_write,
)

_ANNOUNCED = 100  # claims of a queue; behind them, each replica serves the queue for its own clients
_WAIT_OVER = "no worker became free in time"


class MemoryClaims(MemoryClaimReads):
    """Implements `Claims`."""

    async def insert_claimed(
        self,
        new: NewClaim,
        where: WorkerSlot,
        *,
        now: datetime,
        owner_limit: int | None = None,
        overtake: bool = False,
        private: bool = False,
    ) -> Admission:
        store = await self._session.turn()
        refusal = _refusal(store, new, owner_limit)
        if refusal:
            return refusal
        if not overtake and any(
            claim.priority >= new.priority and (not private or claim.owner == new.owner)
            for claim in waiting(store, new.namespace, new.pool, now)
        ):
            return Admission(AdmissionVerdict.QUEUE_AHEAD)
        if _is_taken(store, where, new.owner):
            return Admission(AdmissionVerdict.WORKER_TAKEN)
        if _holder(store, where):
            return Admission(AdmissionVerdict.SLOT_TAKEN)
        claim = replace(
            _created(store, new, now),
            state=ClaimState.CLAIMED,
            claimed_at=now,
            heartbeat_at=now,
            attempt=1,
            **_at(where),
        )
        return Admission(AdmissionVerdict.CREATED, self._put(store, claim))

    async def insert_queued(
        self,
        new: NewClaim,
        *,
        now: datetime,
        wait_until: datetime,
        owner_limit: int | None = None,
        queue_limit: int | None = None,
        by_owner: bool = False,
    ) -> Admission:
        store = await self._session.turn()
        refusal = _refusal(store, new, owner_limit)
        if refusal:
            return refusal
        queue = order_queue(store, new.namespace, new.pool)
        if queue_limit is not None and sum(not by_owner or one.owner == new.owner for one in queue) >= queue_limit:
            return Admission(AdmissionVerdict.QUEUE_FULL)
        claim = self._put(store, replace(_created(store, new, now), queued_at=now, wait_until=wait_until))
        if len(queue) < _ANNOUNCED:
            store.notify(Channel.QUEUE, f"{claim.namespace}/{claim.pool}")
        return Admission(AdmissionVerdict.CREATED, claim)

    async def bind_next(
        self, namespace: str, pool: str, where: WorkerSlot, *, now: datetime, skip: Collection[str] = ()
    ) -> Outcome | None:
        store = await self._session.turn()
        queue = [claim for claim in waiting(store, namespace, pool, now) if claim.id not in skip]
        fitting = [claim for claim in queue if not _is_taken(store, where, claim.owner)]
        if not fitting:
            return None
        holder = _holder(store, where)
        if holder:
            return Outcome(Verdict.SLOT_TAKEN, holder)
        return Outcome(Verdict.DONE, self._bind(store, fitting[0], where, now))

    async def bind(self, claim_id: str, epoch: int, where: WorkerSlot, *, now: datetime) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_bind(claim, epoch, where)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        if _is_taken(store, where, claim.owner):
            return Outcome(Verdict.WORKER_TAKEN, claim)
        holder = _holder(store, where)
        if holder and holder.id != claim_id:
            return Outcome(Verdict.SLOT_TAKEN, claim)
        return Outcome(Verdict.DONE, self._bind(store, claim, where, now))

    async def mark_running(
        self,
        claim_id: str,
        epoch: int,
        *,
        now: datetime,
        minted: dict[str, Any] | None = None,
        announce: bool = False,
    ) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_write(claim, epoch, ClaimState.RUNNING)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        running = replace(
            claim, state=ClaimState.RUNNING, running_at=_later(claim.claimed_at, now),
            heartbeat_at=_later(claim.heartbeat_at, now), minted=as_json(minted),
        )  # fmt: skip
        if claim.queued_at:
            store.notify(Channel.CLAIM, claim.id)
        if announce:
            store.notify(Channel.DISPATCH, claim.pod_uid or "")
        return Outcome(Verdict.DONE, self._put(store, running))

    async def deliver_next(self, pod_uid: str, *, now: datetime) -> Claim | None:
        store = await self._session.turn()
        undelivered = [
            claim
            for claim in store.holders.values()
            if claim.pod_uid == pod_uid and claim.state is ClaimState.RUNNING and claim.delivered_epoch != claim.epoch
        ]
        if not undelivered:
            return None
        claim = min(undelivered, key=lambda claim: claim.epoch)
        return self._put(
            store, replace(claim, delivered_epoch=claim.epoch, heartbeat_at=_beat(claim.heartbeat_at, now))
        )

    async def heartbeat(self, claim_id: str, epoch: int, *, now: datetime, last: datetime | None = None) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_heartbeat(claim, epoch)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        if last is not None and claim.heartbeat_at != last:
            return Outcome(Verdict.REFUSED, claim)
        return Outcome(Verdict.DONE, self._put(store, replace(claim, heartbeat_at=_beat(claim.heartbeat_at, now))))

    async def end(self, claim_id: str, epoch: int, cause: EndCause, *, now: datetime, reason: str) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_write(claim, epoch, cause.state)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        return Outcome(Verdict.DONE, self._end(store, claim, cause, now, reason))

    async def expire(
        self,
        claim_id: str,
        epoch: int,
        cause: EndCause = EndCause.EXPIRED,
        *,
        heartbeat_at: datetime | None,
        now: datetime,
        reason: str,
    ) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_write(claim, epoch, ClaimState.EXPIRED)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        if claim.heartbeat_at != heartbeat_at:
            return Outcome(Verdict.REFUSED, claim)
        return Outcome(Verdict.DONE, self._end(store, claim, cause, now, reason))

    async def attend(self, claim_ids: Collection[str], *, now: datetime) -> None:
        store = await self._session.turn()
        for id_ in claim_ids:
            if (claim := store.open.get(id_)) is not None and claim.state is ClaimState.QUEUED:
                store.attendance[id_] = _beat(store.attendance.get(id_), now)

    async def abandon(self, sign: WaitingSign, *, now: datetime, reason: str) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(sign.claim)
        verdict = judge_write(claim, sign.epoch, ClaimState.EXPIRED)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        if not needs_client(claim) or store.attendance.get(claim.id) != sign.seen_at:
            return Outcome(Verdict.REFUSED, claim)
        return Outcome(Verdict.DONE, self._end(store, claim, EndCause.ABANDONED, now, reason))

    async def expire_waiting(self, *, now: datetime, limit: int = 100) -> tuple[Claim, ...]:
        store = await self._session.turn()
        over = [
            claim
            for claim in store.open.values()
            if claim.state is ClaimState.QUEUED and claim.wait_until and claim.wait_until <= now
        ]
        over.sort(key=lambda claim: claim.ticket)
        return tuple(self._end(store, claim, EndCause.WAIT_OVER, now, _WAIT_OVER) for claim in over[:limit])

    async def requeue(
        self, claim_id: str, epoch: int, cause: EndCause, *, now: datetime, reason: str, wait_until: datetime | None
    ) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_requeue(claim, epoch)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        queued = replace(
            claim, state=ClaimState.QUEUED, previous_epoch=claim.epoch, epoch=store.draw_epoch(), pod_name=None,
            pod_uid=None, slot=None, address="", protected_until=None, queued_at=now, claimed_at=None,
            heartbeat_at=None, rebinds=claim.rebinds + 1, reason=reason, wait_until=wait_until, cause=cause,
            minted=None,
        )  # fmt: skip
        store.notify(Channel.QUEUE, f"{claim.namespace}/{claim.pool}")
        store.notify(Channel.CLAIM, claim.id)
        return Outcome(Verdict.DONE, self._put(store, queued))

    async def prune(self, *, ended_before: datetime, limit: int = 1000) -> int:
        store = await self._session.turn()
        old = [claim for claim in store.claims.values() if claim.ended_at and claim.ended_at < ended_before]
        old.sort(key=lambda claim: (claim.ended_at or ended_before, claim.ticket))
        for claim in old[:limit]:
            store.forget(claim.id)
            store.attendance.pop(claim.id, None)
        return len(old[:limit])

    async def count_ended(self, *, ended_before: datetime, limit: int) -> int:
        claims = (await self._session.turn()).claims.values()
        return min(limit, sum(claim.ended_at is not None and claim.ended_at < ended_before for claim in claims))

    def _put(self, store: MemoryStore, claim: Claim) -> Claim:
        store.put(claim)
        return self._session.acknowledge(claim)

    def _bind(self, store: MemoryStore, claim: Claim, where: WorkerSlot, now: datetime) -> Claim:
        if claim.queued_at:
            store.notify(Channel.CLAIM, claim.id)
        bound = replace(
            claim, state=ClaimState.CLAIMED, previous_epoch=claim.epoch, epoch=store.draw_epoch(), claimed_at=now,
            heartbeat_at=now, reason="", attempt=claim.attempt + 1, minted=None, **_at(where),
        )  # fmt: skip
        return self._put(store, bound)

    def _end(self, store: MemoryStore, claim: Claim, cause: EndCause, now: datetime, reason: str) -> Claim:
        if claim.queued_at or cause is not EndCause.RELEASED:
            store.notify(Channel.CLAIM, claim.id)
        key = None if frees_key(claim, cause) else claim.idempotency_key
        return self._put(
            store,
            replace(
                claim,
                state=cause.state,
                ended_at=now,
                reason=reason,
                cause=cause,
                payload=None,
                minted=None,
                idempotency_key=key,
            ),
        )


def _created(store: MemoryStore, new: NewClaim, now: datetime) -> Claim:
    return Claim(
        id=new.id, namespace=new.namespace, pool=new.pool, owner=new.owner, state=ClaimState.QUEUED,
        priority=new.priority, idempotency_key=new.idempotency_key, request_hash=new.request_hash,
        epoch=store.draw_epoch(), previous_epoch=None, pod_name=None, pod_uid=None, slot=None, address="",
        protected_until=None, ticket=store.draw_ticket(), retryable=new.retryable, rebinds=0,
        payload=as_json(new.payload), delivered_epoch=None, ttl_seconds=new.ttl_seconds, wait_until=None,
        created_at=now, queued_at=None, claimed_at=None, running_at=None, heartbeat_at=None, ended_at=None, reason="",
        detached=new.detached, holder=new.holder,
    )  # fmt: skip


def _refusal(store: MemoryStore, new: NewClaim, owner_limit: int | None) -> Admission | None:
    found = store.claims.get(new.id)
    if found is None and new.idempotency_key is not None:
        found = find_key(store, new.namespace, new.pool, new.idempotency_key)
    if found is not None:
        return judge_repeat(new, found)
    if owner_limit is not None and count_owned(store, new.namespace, new.pool, new.owner) >= owner_limit:
        return Admission(AdmissionVerdict.LIMIT_REACHED)
    return None


def _at(where: WorkerSlot) -> dict[str, Any]:
    return {
        "pod_name": where.pod_name,
        "pod_uid": where.pod_uid,
        "slot": where.slot,
        "address": where.address,
        "protected_until": where.protected_until,
    }


def _holder(store: MemoryStore, where: WorkerSlot) -> Claim | None:
    return store.holders.get((where.pod_uid, where.slot))


def _is_taken(store: MemoryStore, where: WorkerSlot, owner: str) -> bool:
    """Whether the slot is for one owner's claims, and another owner's run on its worker."""
    return where.one_owner and any(
        holder.pod_uid == where.pod_uid and holder.owner != owner for holder in store.holders.values()
    )


def _later(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else max(one, other)


def _beat(last: datetime | None, now: datetime) -> datetime:
    """Every heartbeat has a later time than the previous one, also if the clock went back."""
    return now if last is None else max(last + timedelta(microseconds=1), now)
