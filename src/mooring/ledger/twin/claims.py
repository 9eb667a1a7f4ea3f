"""Claims in memory: the judges of `model.claim` decide what PostgreSQL decides in its WHERE."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from mooring.ledger.records import Channel, ClaimFilter, ClaimPage, Holds, LiveClaims, Occupancy, PoolCount
from mooring.ledger.twin.session import Session
from mooring.ledger.twin.store import MemoryStore, as_json
from mooring.model.claim import (
    Admission,
    AdmissionVerdict,
    Claim,
    ClaimState,
    EndCause,
    Hold,
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

_WAIT_OVER = "no worker became free in time"


class MemoryClaims:
    """Implements `Claims`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def insert_claimed(
        self,
        new: NewClaim,
        where: WorkerSlot,
        *,
        now: datetime,
        owner_limit: int | None = None,
        overtake: bool = False,
    ) -> Admission:
        store = await self._session.turn()
        refusal = _refusal(store, new, owner_limit)
        if refusal:
            return refusal
        if not overtake and any(
            claim.priority >= new.priority for claim in _waiting(store, new.namespace, new.pool, now)
        ):
            return Admission(AdmissionVerdict.QUEUE_AHEAD)
        if _holder(store, where):
            return Admission(AdmissionVerdict.SLOT_TAKEN)
        claim = replace(
            _created(store, new, now), state=ClaimState.CLAIMED, claimed_at=now, heartbeat_at=now, **_at(where)
        )
        return Admission(AdmissionVerdict.CREATED, self._put(store, claim))

    async def insert_queued(
        self, new: NewClaim, *, now: datetime, wait_until: datetime, owner_limit: int | None = None
    ) -> Admission:
        store = await self._session.turn()
        refusal = _refusal(store, new, owner_limit)
        if refusal:
            return refusal
        claim = self._put(store, replace(_created(store, new, now), queued_at=now, wait_until=wait_until))
        store.notify(Channel.QUEUE, f"{claim.namespace}/{claim.pool}")
        return Admission(AdmissionVerdict.CREATED, claim)

    async def bind_next(self, namespace: str, pool: str, where: WorkerSlot, *, now: datetime) -> Outcome | None:
        store = await self._session.turn()
        waiting = _waiting(store, namespace, pool, now)
        if not waiting:
            return None
        holder = _holder(store, where)
        if holder:
            return Outcome(Verdict.SLOT_TAKEN, holder)
        return Outcome(Verdict.DONE, self._bind(store, waiting[0], where, now))

    async def bind(self, claim_id: str, epoch: int, where: WorkerSlot, *, now: datetime) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_bind(claim, epoch, where)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
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
        payload: dict[str, Any] | None = None,
        announce: bool = False,
    ) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_write(claim, epoch, ClaimState.RUNNING)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        running = replace(
            claim, state=ClaimState.RUNNING, running_at=_later(claim.claimed_at, now),
            heartbeat_at=_later(claim.heartbeat_at, now), payload=_joined(claim.payload, as_json(payload)),
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

    async def heartbeat(self, claim_id: str, epoch: int, *, now: datetime) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_heartbeat(claim, epoch)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        return Outcome(Verdict.DONE, self._put(store, replace(claim, heartbeat_at=_beat(claim.heartbeat_at, now))))

    async def end(self, claim_id: str, epoch: int, cause: EndCause, *, now: datetime, reason: str) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_write(claim, epoch, cause.state)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        return Outcome(Verdict.DONE, self._end(store, claim, cause, now, reason))

    async def expire(
        self, claim_id: str, epoch: int, *, heartbeat_at: datetime | None, now: datetime, reason: str
    ) -> Outcome:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        verdict = judge_write(claim, epoch, ClaimState.EXPIRED)
        if claim is None or verdict is not Verdict.DONE:
            return Outcome(verdict, claim)
        if claim.heartbeat_at != heartbeat_at:
            return Outcome(Verdict.REFUSED, claim)
        return Outcome(Verdict.DONE, self._end(store, claim, EndCause.EXPIRED, now, reason))

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
        )  # fmt: skip
        store.notify(Channel.QUEUE, f"{claim.namespace}/{claim.pool}")
        store.notify(Channel.CLAIM, claim.id)
        return Outcome(Verdict.DONE, self._put(store, queued))

    async def get(self, claim_id: str) -> Claim | None:
        return (await self._session.turn()).claims.get(claim_id)

    async def find_by_key(self, namespace: str, pool: str, idempotency_key: str) -> Claim | None:
        return _by_key((await self._session.turn()), namespace, pool, idempotency_key)

    async def live(self, namespace: str | None = None, pool: str | None = None) -> LiveClaims:
        store = await self._session.turn()
        found = [
            claim
            for claim in store.holders.values()
            if namespace in (None, claim.namespace) and pool in (None, claim.pool)
        ]
        found.sort(key=lambda claim: claim.ticket)
        present = self._session.incarnation
        return LiveClaims(present.id, present.armed, tuple(found))

    async def holds(self) -> Holds:
        live = await self.live()
        items = tuple(
            Hold(claim.pod_uid or "", claim.id, claim.epoch, claim.owner, claim.claimed_at or claim.created_at,
                 claim.protected_until)
            for claim in live.claims
        )  # fmt: skip
        return Holds(live.incarnation, live.armed, items)

    async def occupancy(self, namespace: str, pool: str) -> Occupancy:
        store = await self._session.turn()
        held = Counter(
            claim.pod_uid for claim in store.holders.values() if (claim.namespace, claim.pool) == (namespace, pool)
        )
        present = self._session.incarnation
        counted = {uid: count for uid, count in held.items() if uid is not None}
        return Occupancy(present.id, present.armed, counted, len(_queue(store, namespace, pool)))

    async def live_by_pods(self, pod_uids: Iterable[str]) -> tuple[Claim, ...]:
        wanted = set(pod_uids)
        found = (await self._session.turn()).holders.values()
        return tuple(sorted((c for c in found if c.pod_uid in wanted), key=lambda c: (c.pod_uid or "", c.slot or 0)))

    async def queue(self, namespace: str, pool: str) -> tuple[Claim, ...]:
        return tuple(_queue(await self._session.turn(), namespace, pool))

    async def position(self, claim_id: str) -> int | None:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        if claim is None or claim.state is not ClaimState.QUEUED:
            return None
        return _queue(store, claim.namespace, claim.pool).index(claim) + 1

    async def count_open(self, namespace: str, pool: str, owner: str) -> int:
        return _count_open(await self._session.turn(), namespace, pool, owner)

    async def count_by_pool(self) -> tuple[PoolCount, ...]:
        opened = (await self._session.turn()).open.values()
        counts = []
        for namespace, pool in sorted({(claim.namespace, claim.pool) for claim in opened}):
            states = [claim.state for claim in opened if (claim.namespace, claim.pool) == (namespace, pool)]
            by_state = (states.count(state) for state in (ClaimState.QUEUED, ClaimState.CLAIMED, ClaimState.RUNNING))
            counts.append(PoolCount(namespace, pool, *by_state))
        return tuple(counts)

    async def list(self, which: ClaimFilter, *, limit: int = 100, before_ticket: int | None = None) -> ClaimPage:
        store = await self._session.turn()
        matching = [claim for claim in store.claims.values() if _matches(claim, which)]
        rest = [claim for claim in matching if before_ticket is None or claim.ticket < before_ticket]
        items = tuple(sorted(rest, key=lambda claim: -claim.ticket)[:limit])
        return ClaimPage(items, len(matching), items[-1].ticket if len(items) == limit else None)

    async def prune(self, *, ended_before: datetime, limit: int = 1000) -> int:
        store = await self._session.turn()
        old = [claim for claim in store.claims.values() if claim.ended_at and claim.ended_at < ended_before]
        old.sort(key=lambda claim: (claim.ended_at or ended_before, claim.ticket))
        for claim in old[:limit]:
            store.forget(claim.id)
        return len(old[:limit])

    def _put(self, store: MemoryStore, claim: Claim) -> Claim:
        store.put(claim)
        return self._session.acknowledge(claim)

    def _bind(self, store: MemoryStore, claim: Claim, where: WorkerSlot, now: datetime) -> Claim:
        if claim.queued_at:
            store.notify(Channel.CLAIM, claim.id)
        bound = replace(
            claim, state=ClaimState.CLAIMED, previous_epoch=claim.epoch, epoch=store.draw_epoch(), claimed_at=now,
            heartbeat_at=now, reason="", **_at(where),
        )  # fmt: skip
        return self._put(store, bound)

    def _end(self, store: MemoryStore, claim: Claim, cause: EndCause, now: datetime, reason: str) -> Claim:
        if claim.queued_at or cause.state is not ClaimState.RELEASED:
            store.notify(Channel.CLAIM, claim.id)
        key = None if frees_key(claim, cause) else claim.idempotency_key
        return self._put(
            store,
            replace(
                claim, state=cause.state, ended_at=now, reason=reason, cause=cause, payload=None, idempotency_key=key
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
    )  # fmt: skip


def _refusal(store: MemoryStore, new: NewClaim, owner_limit: int | None) -> Admission | None:
    found = store.claims.get(new.id)
    if found is None and new.idempotency_key is not None:
        found = _by_key(store, new.namespace, new.pool, new.idempotency_key)
    if found is not None:
        return judge_repeat(new, found)
    if owner_limit is not None and _count_open(store, new.namespace, new.pool, new.owner) >= owner_limit:
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


def _by_key(store: MemoryStore, namespace: str, pool: str, key: str) -> Claim | None:
    found = store.keys.get((namespace, pool, key))
    return None if found is None else store.claims[found]


def _holder(store: MemoryStore, where: WorkerSlot) -> Claim | None:
    return store.holders.get((where.pod_uid, where.slot))


def _queue(store: MemoryStore, namespace: str, pool: str) -> list[Claim]:
    queued = [
        claim
        for claim in store.open.values()
        if claim.state is ClaimState.QUEUED and (claim.namespace, claim.pool) == (namespace, pool)
    ]
    return sorted(queued, key=lambda claim: (-claim.priority, claim.ticket))


def _waiting(store: MemoryStore, namespace: str, pool: str, now: datetime) -> list[Claim]:
    """The queue without those whose wait is over."""
    return [claim for claim in _queue(store, namespace, pool) if claim.wait_until is None or claim.wait_until > now]


def _count_open(store: MemoryStore, namespace: str, pool: str, owner: str) -> int:
    wanted = (namespace, pool, owner)
    return sum((claim.namespace, claim.pool, claim.owner) == wanted for claim in store.open.values())


def _matches(claim: Claim, which: ClaimFilter) -> bool:
    return (
        which.namespace in (None, claim.namespace)
        and which.pool in (None, claim.pool)
        and which.owner in (None, claim.owner)
        and which.pod_uid in (None, claim.pod_uid)
        and (which.states is None or claim.state in which.states)
    )


def _later(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else max(one, other)


def _beat(last: datetime | None, now: datetime) -> datetime:
    """A heartbeat is always another one than the last, whatever the clock says."""
    return now if last is None else max(last + timedelta(microseconds=1), now)


def _joined(asked: dict[str, Any] | None, minted: dict[str, Any] | None) -> dict[str, Any] | None:
    return minted if asked is None else {**asked, **(minted or {})}
