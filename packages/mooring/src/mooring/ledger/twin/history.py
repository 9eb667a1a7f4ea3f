"""The history of pools in memory."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec.structs import asdict

from mooring.ledger.twin.session import Session
from mooring.ledger.twin.store import MemoryStore
from mooring.model.claim import Claim
from mooring.model.pool_history import (
    COARSE_KEPT,
    COARSE_SECONDS,
    FINE_KEPT,
    FINE_SECONDS,
    Gauges,
    Sample,
    add_buckets,
    bucket_of,
)
from mooring.model.usage import BUSY, IDLE, NOBODY, STARTING

Key = tuple[str, str, int, datetime]


class MemoryHistory:
    """Implements `History`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def write(self, gauges: Sequence[Gauges], *, since: datetime, at: datetime) -> None:
        store = await self._session.turn()
        recent = list(_recent(store, since))
        for one in gauges:
            mine = [claim for claim in recent if (claim.namespace, claim.pool) == (one.namespace, one.pool)]
            waits = add_buckets([_wait(claim) for claim in mine if _within(claim.claimed_at, since, at)])
            over = [claim for claim in mine if _within(claim.ended_at, since, at)]
            sample = Sample(
                **asdict(one),
                at=at,
                waits=waits,
                holds=add_buckets([_hold(claim) for claim in over]),
                ended=len(over),
                arrivals=_arrivals(store, one, mine, since, at),
            )
            key = (one.namespace, one.pool, FINE_SECONDS, at)
            if key not in store.history:
                store.history[key] = sample
                _add_usage(store, sample, since)

    async def summarise(self, samples: Sequence[Sample]) -> None:
        store = await self._session.turn()
        for one in samples:
            store.history.setdefault((one.namespace, one.pool, COARSE_SECONDS, one.at), one)

    async def of_pool(
        self, namespace: str, pool: str, *, step_seconds: int, since: datetime, until: datetime
    ) -> tuple[Sample, ...]:
        everything = await self.of_all(step_seconds=step_seconds, since=since, until=until)
        return tuple(one for one in everything if (one.namespace, one.pool) == (namespace, pool))

    async def of_all(self, *, step_seconds: int, since: datetime, until: datetime) -> tuple[Sample, ...]:
        rows = (await self._session.turn()).history.items()
        return tuple(one for key, one in sorted(rows) if key[2] == step_seconds and since < one.at <= until)

    async def summarised_until(self) -> datetime | None:
        rows: Iterable[Key] = (await self._session.turn()).history
        return max((at for _, _, step, at in rows if step == COARSE_SECONDS), default=None)

    async def prune(self, *, now: datetime, limit: int = 1000) -> int:
        rows = (await self._session.turn()).history
        kept = {FINE_SECONDS: FINE_KEPT, COARSE_SECONDS: COARSE_KEPT}
        old = [key for key in rows if key[3] < now - kept[key[2]]][:limit]
        for key in old:
            del rows[key]
        return len(old)


def _arrivals(
    store: MemoryStore, one: Gauges, claims: Iterable[Claim], since: datetime, until: datetime
) -> dict[int, int]:
    """Claims that were made or refused, by half second."""
    came = [claim.created_at for claim in claims]
    came += [
        at for (namespace, pool, *_), at in store.refusals.items() if (namespace, pool) == (one.namespace, one.pool)
    ]
    return dict(Counter(int((at - since).total_seconds() * 2) for at in came if _within(at, since, until)))


def _add_usage(store: MemoryStore, sample: Sample, since: datetime) -> None:
    """A worker that serves several claims is shared among their owners."""
    live = [claim for claim in store.open.values() if claim.live]
    sharing = Counter(claim.pod_uid for claim in live)
    used: defaultdict[tuple[str, str], float] = defaultdict(float)
    used.update({(NOBODY, state): sample.workers.get(state, 0.0) for state in (IDLE, STARTING)})
    for claim in live:
        if (claim.namespace, claim.pool) == (sample.namespace, sample.pool):
            used[claim.owner, BUSY] += 1.0 / sharing[claim.pod_uid]
    for (owner, state), workers in used.items():
        key = (since.date(), sample.namespace, sample.pool, owner, state)
        if workers > 0:
            store.usage[key] = store.usage.get(key, 0.0) + workers * FINE_SECONDS


def _recent(store: MemoryStore, since: datetime) -> Iterator[Claim]:
    """Open claims, and ended ones back to `since`: every write puts a claim at the end of the rows."""
    for claim in reversed(store.claims.values()):
        if claim.ended_at is not None and claim.ended_at < since:
            return
        yield claim


def _wait(claim: Claim) -> dict[int, int]:
    if claim.claimed_at is None or not (claim.live or claim.ended_at):
        return {}
    return {bucket_of((claim.claimed_at - (claim.queued_at or claim.created_at)).total_seconds()): 1}


def _hold(claim: Claim) -> dict[int, int]:
    if not (claim.ended_at and claim.running_at and claim.claimed_at and claim.running_at >= claim.claimed_at):
        return {}
    return {bucket_of((claim.ended_at - claim.running_at).total_seconds()): 1}


def _within(moment: datetime | None, since: datetime, until: datetime) -> bool:
    return moment is not None and since <= moment < until
