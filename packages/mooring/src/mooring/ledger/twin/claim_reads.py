"""Reads of claims in memory."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from mooring.ledger.records import ClaimFilter, ClaimPage, Holds, LiveClaims, Occupancy, PoolCount, WaitingSign
from mooring.ledger.twin.session import Session
from mooring.ledger.twin.store import MemoryStore
from mooring.model.claim import Claim, ClaimState, Hold


class MemoryClaimReads:
    """The reading half of `Claims`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def get(self, claim_id: str) -> Claim | None:
        return (await self._session.turn()).claims.get(claim_id)

    async def find_by_prefix(self, prefix: str, *, limit: int = 10) -> tuple[Claim, ...]:
        found = [claim for claim in (await self._session.turn()).claims.values() if claim.id.startswith(prefix)]
        return tuple(sorted(found, key=lambda claim: -claim.ticket)[:limit])

    async def find_by_key(self, namespace: str, pool: str, idempotency_key: str) -> Claim | None:
        return find_key((await self._session.turn()), namespace, pool, idempotency_key)

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
        return Occupancy(present.id, present.armed, counted, len(order_queue(store, namespace, pool)))

    async def expired_on(self, pod_uid: str) -> tuple[Claim, ...]:
        found = [
            claim
            for claim in (await self._session.turn()).claims.values()
            if claim.pod_uid == pod_uid and claim.state is ClaimState.EXPIRED
        ]
        return tuple(sorted(found, key=lambda claim: claim.ticket))

    async def live_by_pods(self, pod_uids: Iterable[str]) -> tuple[Claim, ...]:
        wanted = set(pod_uids)
        found = (await self._session.turn()).holders.values()
        return tuple(sorted((c for c in found if c.pod_uid in wanted), key=lambda c: (c.pod_uid or "", c.slot or 0)))

    async def queue(self, namespace: str, pool: str) -> tuple[Claim, ...]:
        return tuple(order_queue(await self._session.turn(), namespace, pool))

    async def heads(self, namespace: str, pool: str, *, now: datetime, skip: Collection[str] = ()) -> tuple[Claim, ...]:
        first: dict[str, Claim] = {}
        for claim in waiting(await self._session.turn(), namespace, pool, now):
            if claim.id not in skip:
                first.setdefault(claim.owner, claim)
        return tuple(first.values())

    async def waiting(self) -> tuple[WaitingSign, ...]:
        store = await self._session.turn()
        found = sorted((claim for claim in store.open.values() if needs_client(claim)), key=lambda claim: claim.ticket)
        return tuple(WaitingSign(claim.id, claim.epoch, store.attendance.get(claim.id)) for claim in found)

    async def position(self, claim_id: str) -> int | None:
        store = await self._session.turn()
        claim = store.claims.get(claim_id)
        if claim is None or claim.state is not ClaimState.QUEUED:
            return None
        return order_queue(store, claim.namespace, claim.pool).index(claim) + 1

    async def count_open(self, namespace: str, pool: str, owner: str) -> int:
        return count_owned(await self._session.turn(), namespace, pool, owner)

    async def served_by_owner(self, namespace: str, pool: str, *, since: datetime) -> Mapping[str, int]:
        claims = (await self._session.turn()).claims.values()
        mine = (one for one in claims if (one.namespace, one.pool) == (namespace, pool))
        recent = (
            one for one in mine if (one.ended_at is not None and one.ended_at >= since and one.claimed_at) or one.live
        )
        return dict(Counter(one.owner for one in recent))

    async def count_by_pool(self) -> tuple[PoolCount, ...]:
        opened = (await self._session.turn()).open.values()
        counts = []
        for namespace, pool in sorted({(claim.namespace, claim.pool) for claim in opened}):
            claims = [claim for claim in opened if (claim.namespace, claim.pool) == (namespace, pool)]
            states = [claim.state for claim in claims]
            queued, claimed, running = (
                states.count(state) for state in (ClaimState.QUEUED, ClaimState.CLAIMED, ClaimState.RUNNING)
            )
            waiting = (claim.queued_at for claim in claims if claim.state is ClaimState.QUEUED)
            oldest = min((since for since in waiting if since is not None), default=None)
            counts.append(PoolCount(namespace, pool, queued, claimed, running, oldest))
        return tuple(counts)

    async def list(self, which: ClaimFilter, *, limit: int = 100, before_ticket: int | None = None) -> ClaimPage:
        store = await self._session.turn()
        matching = [claim for claim in store.claims.values() if _matches(claim, which)]
        rest = [claim for claim in matching if before_ticket is None or claim.ticket < before_ticket]
        items = tuple(sorted(rest, key=lambda claim: -claim.ticket)[:limit])
        return ClaimPage(items, len(matching), items[-1].ticket if len(items) == limit else None)


def find_key(store: MemoryStore, namespace: str, pool: str, key: str) -> Claim | None:
    """The claim with that idempotency key."""
    found = store.keys.get((namespace, pool, key))
    return None if found is None else store.claims[found]


def needs_client(claim: Claim) -> bool:
    """Whether the claim waits, and ends when its client is gone."""
    return claim.state is ClaimState.QUEUED and not claim.detached and claim.running_at is None


def order_queue(store: MemoryStore, namespace: str, pool: str) -> list[Claim]:
    """The waiting claims of a pool in the order in which they will be served."""
    queued = [
        claim
        for claim in store.open.values()
        if claim.state is ClaimState.QUEUED and (claim.namespace, claim.pool) == (namespace, pool)
    ]
    return sorted(queued, key=lambda claim: (-claim.priority, claim.ticket))


def waiting(store: MemoryStore, namespace: str, pool: str, now: datetime) -> list[Claim]:
    """The queue without claims whose wait is over."""
    return [
        claim for claim in order_queue(store, namespace, pool) if claim.wait_until is None or claim.wait_until > now
    ]


def count_owned(store: MemoryStore, namespace: str, pool: str, owner: str) -> int:
    """The owner's open claims in a pool."""
    wanted = (namespace, pool, owner)
    return sum((claim.namespace, claim.pool, claim.owner) == wanted for claim in store.open.values())


def _matches(claim: Claim, which: ClaimFilter) -> bool:
    return (
        which.namespace in (None, claim.namespace)
        and which.pool in (None, claim.pool)
        and which.owner in (None, claim.owner)
        and which.pod_uid in (None, claim.pod_uid)
        and (which.within is None or claim.namespace in which.within)
        and (which.states is None or claim.state in which.states)
    )
