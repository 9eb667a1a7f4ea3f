"""Claims in PostgreSQL. Every write is one fenced statement; a second read explains a write without effect."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from asyncpg import UniqueViolationError

from mooring.ledger.postgres.batches import StatementBatches
from mooring.ledger.postgres.database import Connection, Database, Row
from mooring.ledger.postgres.incarnation import IncarnationKeeper
from mooring.ledger.queries import load
from mooring.ledger.records import (
    Cause,
    ClaimFilter,
    ClaimPage,
    Holds,
    Incarnation,
    LiveClaims,
    Occupancy,
    PoolCount,
    WaitingSign,
)
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
    judge_bind,
    judge_heartbeat,
    judge_repeat,
    judge_requeue,
    judge_write,
)

_SQL = load("claims")
_FIELDS = Claim.__struct_fields__
_POD_UID = 14  # its index among the arguments of insert_claimed; the slot is next
_OF_INCARNATION = 4  # columns of `live` and `holds` before those of the claim
_columns = itemgetter(*_FIELDS)
_WAIT_OVER = "no worker became free in time"


class PostgresClaims:
    """Implements `Claims`."""

    def __init__(self, database: Database, keeper: IncarnationKeeper) -> None:
        self._database = database
        self._keeper = keeper
        self._inserting = StatementBatches(database, _SQL["insert_claimed"], order=itemgetter(_POD_UID, _POD_UID + 1))
        self._starting = StatementBatches(database, _SQL["mark_running"], order=itemgetter(0))
        self._ending = StatementBatches(database, _SQL["end"], order=itemgetter(0))

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
        arguments = (
            *_request(new, now, owner_limit),
            overtake,
            *_slot(where),
            where.one_owner,
            private,
            new.detached,
            new.holder,
        )
        if owner_limit is None and not where.one_owner:
            return await self._admitted(new, await self._inserting.fetch_row(*arguments))
        locks = _locks(new if owner_limit is not None else None, where)
        return await self._admitted(new, await self._fetch_locked(locks, _SQL["insert_claimed"], *arguments))

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
        arguments = (*_request(new, now, owner_limit), wait_until, new.detached, queue_limit, new.holder, by_owner)
        locks = _locks(new) if owner_limit is not None else []
        if queue_limit is not None:
            locks.append((_SQL["lock_queue"], new.namespace, new.pool))
        return await self._admitted(new, await self._fetch_locked(locks, _SQL["insert_queued"], *arguments))

    async def bind_next(
        self, namespace: str, pool: str, where: WorkerSlot, *, now: datetime, skip: Collection[str] = ()
    ) -> Outcome | None:
        try:
            arguments = (namespace, pool, *_slot(where), now, where.one_owner, list(skip))
            row = await self._fetch_locked(_locks(None, where), _SQL["bind_next"], *arguments)
        except UniqueViolationError:
            holder = await self._database.fetch_row(_SQL["find_holder"], where.pod_uid, where.slot)
            return Outcome(Verdict.SLOT_TAKEN, self._claim(holder) if holder else None)
        return Outcome(Verdict.DONE, self._claim(row)) if row else None

    async def bind(self, claim_id: str, epoch: int, where: WorkerSlot, *, now: datetime) -> Outcome:
        try:
            row = await self._fetch_locked(
                _locks(None, where), _SQL["bind"], claim_id, epoch, *_slot(where), now, where.one_owner
            )
        except UniqueViolationError:
            return Outcome(Verdict.SLOT_TAKEN, await self.get(claim_id))
        if row:
            return Outcome(Verdict.DONE, self._claim(row))
        claim = await self.get(claim_id)
        verdict = judge_bind(claim, epoch, where)
        if verdict is Verdict.DONE and claim is not None and await self._is_taken(where, claim.owner):
            verdict = Verdict.WORKER_TAKEN
        return _missed(verdict, claim)

    async def mark_running(
        self,
        claim_id: str,
        epoch: int,
        *,
        now: datetime,
        minted: dict[str, Any] | None = None,
        announce: bool = False,
    ) -> Outcome:
        row = await self._starting.fetch_row(claim_id, epoch, now, minted, announce)
        return await self._written(row if row["id"] else None, claim_id, epoch, ClaimState.RUNNING)

    async def deliver_next(self, pod_uid: str, *, now: datetime) -> Claim | None:
        row = await self._database.fetch_row(_SQL["deliver_next"], pod_uid, now)
        return self._claim(row) if row else None

    async def heartbeat(self, claim_id: str, epoch: int, *, now: datetime, last: datetime | None = None) -> Outcome:
        row = await self._database.fetch_row(_SQL["heartbeat"], claim_id, epoch, now, last)
        if row:
            return Outcome(Verdict.DONE, self._claim(row))
        claim = await self.get(claim_id)
        return _missed(judge_heartbeat(claim, epoch), claim)

    async def end(self, claim_id: str, epoch: int, cause: EndCause, *, now: datetime, reason: str) -> Outcome:
        state = cause.state
        row = await self._ending.fetch_row(claim_id, epoch, state.value, now, reason, cause.value)
        return await self._written(row if row["id"] else None, claim_id, epoch, state)

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
        row = await self._database.fetch_row(_SQL["expire"], claim_id, epoch, heartbeat_at, now, reason, cause.value)
        return await self._written(row, claim_id, epoch, ClaimState.EXPIRED)

    async def attend(self, claim_ids: Collection[str], *, now: datetime) -> None:
        await self._database.fetch(_SQL["attend"], list(claim_ids), now)

    async def waiting(self) -> tuple[WaitingSign, ...]:
        return tuple(WaitingSign(**row) for row in await self._database.fetch(_SQL["waiting"]))

    async def abandon(self, sign: WaitingSign, *, now: datetime, reason: str) -> Outcome:
        row = await self._database.fetch_row(_SQL["abandon"], sign.claim, sign.epoch, sign.seen_at, now, reason)
        return await self._written(row, sign.claim, sign.epoch, ClaimState.EXPIRED)

    async def expire_waiting(self, *, now: datetime, limit: int = 100) -> tuple[Claim, ...]:
        return self._claims(await self._database.fetch(_SQL["expire_waiting"], now, limit, _WAIT_OVER))

    async def requeue(
        self, claim_id: str, epoch: int, cause: EndCause, *, now: datetime, reason: str, wait_until: datetime | None
    ) -> Outcome:
        row = await self._database.fetch_row(_SQL["requeue"], claim_id, epoch, now, reason, wait_until, cause.value)
        if row:
            return Outcome(Verdict.DONE, self._claim(row))
        claim = await self.get(claim_id)
        return _missed(judge_requeue(claim, epoch), claim)

    async def get(self, claim_id: str) -> Claim | None:
        row = await self._database.fetch_row(_SQL["get"], claim_id)
        return self._claim(row) if row else None

    async def find_by_prefix(self, prefix: str, *, limit: int = 10) -> tuple[Claim, ...]:
        return self._claims(await self._database.search(_SQL["find_by_prefix"], prefix, limit))

    async def find_by_key(self, namespace: str, pool: str, idempotency_key: str) -> Claim | None:
        row = await self._database.fetch_row(_SQL["find_by_key"], namespace, pool, idempotency_key)
        return self._claim(row) if row else None

    async def live(self, namespace: str | None = None, pool: str | None = None) -> LiveClaims:
        rows = await self._database.fetch(_SQL["live"], namespace, pool)
        present = self._present(rows[0])
        return LiveClaims(present.id, present.armed, self._claims([row for row in rows if row["id"] is not None]))

    async def holds(self) -> Holds:
        rows = await self._database.fetch(_SQL["holds"])
        present = self._present(rows[0])
        items = tuple(Hold(*row[_OF_INCARNATION:]) for row in rows if row["id"] is not None)
        return Holds(present.id, present.armed, items)

    async def occupancy(self, namespace: str, pool: str) -> Occupancy:
        row = await self._database.fetch_row(_SQL["occupancy"], namespace, pool)
        assert row is not None, "an opened ledger has an incarnation"
        present = self._present(row)
        return Occupancy(present.id, present.armed, Counter(row["held"]), row["queued"])

    async def live_by_pods(self, pod_uids: Iterable[str]) -> tuple[Claim, ...]:
        return self._claims(await self._database.fetch(_SQL["live_by_pods"], list(pod_uids)))

    async def queue(self, namespace: str, pool: str) -> tuple[Claim, ...]:
        return self._claims(await self._database.fetch(_SQL["queue"], namespace, pool))

    async def expired_on(self, pod_uid: str) -> tuple[Claim, ...]:
        return self._claims(await self._database.scan(_SQL["expired_on"], pod_uid))

    async def heads(self, namespace: str, pool: str, *, now: datetime, skip: Collection[str] = ()) -> tuple[Claim, ...]:
        return self._claims(await self._database.fetch(_SQL["heads"], namespace, pool, now, list(skip)))

    async def position(self, claim_id: str) -> int | None:
        return await self._database.fetch_value(_SQL["position"], claim_id) or None

    async def count_open(self, namespace: str, pool: str, owner: str) -> int:
        count: int = await self._database.fetch_value(_SQL["count_open"], namespace, pool, owner)
        return count

    async def served_by_owner(self, namespace: str, pool: str, *, since: datetime) -> Mapping[str, int]:
        rows = await self._database.fetch(_SQL["served_by_owner"], namespace, pool, since)
        return {row["owner"]: row["claims"] for row in rows}

    async def count_by_pool(self) -> tuple[PoolCount, ...]:
        return tuple(PoolCount(**row) for row in await self._database.fetch(_SQL["count_by_pool"]))

    async def list(self, which: ClaimFilter, *, limit: int = 100, before_ticket: int | None = None) -> ClaimPage:
        states = None if which.states is None else sorted(which.states)
        within = None if which.within is None else sorted(which.within)
        matching = (which.namespace, which.pool, which.owner, states, which.pod_uid, within)
        total: int = (await self._database.search(_SQL["count"], *matching))[0]["count"]
        items = self._claims(await self._database.search(_SQL["list"], *matching, before_ticket, limit))
        return ClaimPage(items, total, items[-1].ticket if len(items) == limit else None)

    async def prune(self, *, ended_before: datetime, limit: int = 1000) -> int:
        count: int = await self._database.fetch_value(_SQL["prune"], ended_before, limit)
        return count

    async def count_ended(self, *, ended_before: datetime, limit: int) -> int:
        count: int = await self._database.fetch_value(_SQL["count_ended"], ended_before, limit)
        return count

    async def _fetch_locked(self, locks: Sequence[tuple[str, ...]], query: str, *arguments: object) -> Row | None:
        """The row of a statement that begins when these locks are held, so it sees what was written under them."""
        if not locks:
            return await self._database.fetch_row(query, *arguments)

        async def fetch(connection: Connection) -> Row | None:
            for lock in locks:
                await connection.fetch(*lock)
            return await connection.fetchrow(query, *arguments)

        return await self._database.transact(fetch)

    async def _is_taken(self, where: WorkerSlot, owner: str) -> bool:
        live = await self.live_by_pods([where.pod_uid]) if where.one_owner else ()
        return any(claim.owner != owner for claim in live)

    async def _admitted(self, new: NewClaim, row: Row) -> Admission:
        if row["id"] is not None:
            return Admission(AdmissionVerdict.CREATED, self._claim(row))
        return await self._explain_refusal(new, row)

    async def _explain_refusal(self, new: NewClaim, row: Row) -> Admission:
        found = await self._database.fetch_row(
            _SQL["find_request"], new.id, new.namespace, new.pool, new.idempotency_key
        )
        if found:
            return judge_repeat(new, self._claim(found))
        if row["over_limit"]:
            return Admission(AdmissionVerdict.LIMIT_REACHED)
        if row.get("queue_full"):
            return Admission(AdmissionVerdict.QUEUE_FULL)
        if row["queue_ahead"]:
            return Admission(AdmissionVerdict.QUEUE_AHEAD)
        return Admission(AdmissionVerdict.WORKER_TAKEN if row["worker_taken"] else AdmissionVerdict.SLOT_TAKEN)

    async def _written(self, row: Row | None, claim_id: str, epoch: int, goal: ClaimState) -> Outcome:
        if row:
            return Outcome(Verdict.DONE, self._claim(row))
        claim = await self.get(claim_id)
        return _missed(judge_write(claim, epoch, goal), claim)

    def _present(self, row: Row) -> Incarnation:
        """The incarnation that the rows of live claims were read from."""
        return self._keeper.saw(
            Incarnation(id=row["incarnation"], since=row["since"], cause=Cause(row["began_by"]), armed=row["armed"])
        )

    def _claims(self, rows: Iterable[Row]) -> tuple[Claim, ...]:
        return tuple(self._claim(row) for row in rows)

    def _claim(self, row: Row) -> Claim:
        values = dict(zip(_FIELDS, _columns(row), strict=True))
        values["state"] = ClaimState(values["state"])
        values["cause"] = EndCause(values["cause"]) if values["cause"] is not None else None
        claim = Claim(**values)
        self._keeper.acknowledge(claim.epoch)
        return claim


def _missed(verdict: Verdict, claim: Claim | None) -> Outcome:
    """The write had no effect.

    If the claim as read now would allow it, it has changed since, so the write was refused.
    """
    return Outcome(Verdict.REFUSED if verdict is Verdict.DONE else verdict, claim)


def _request(new: NewClaim, now: datetime, owner_limit: int | None) -> tuple[object, ...]:
    return (
        new.id, new.namespace, new.pool, new.owner, new.priority, new.idempotency_key, new.request_hash,
        new.retryable, new.payload, new.ttl_seconds, now, owner_limit,
    )  # fmt: skip


def _locks(new: NewClaim | None, where: WorkerSlot | None = None) -> list[tuple[str, ...]]:
    """Always in this order, or two requests could wait for each other."""
    owner = [(_SQL["lock_owner"], new.namespace, new.pool, new.owner)] if new is not None else []
    return [*owner, *([(_SQL["lock_pod"], where.pod_uid)] if where is not None and where.one_owner else [])]


def _slot(where: WorkerSlot) -> tuple[object, ...]:
    return (where.pod_name, where.pod_uid, where.slot, where.address, where.protected_until)
