"""One pool with everything that its page shows: workers, queue, owners, and why its workers fail."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timedelta

import msgspec

from mooring.ledger.records import ClaimFilter
from mooring.model.claim import OPEN, ClaimState
from mooring.model.errors import MooringError
from mooring.model.pool_history import FINE_SECONDS, Sample
from mooring.queries.claims import ClaimReading, read_claims
from mooring.queries.fleet import FleetQueries, PoolReading, WorkerReading
from mooring.queries.pool_history import RECENT_SECONDS
from mooring.queries.readings import Readings

MOST_CLAIMS = 1_000


class Waiting(msgspec.Struct, frozen=True, rename="camel"):
    """A claim in the queue: how long it waits, and when it may get a worker.

    That is when one has started for it or, if `max` leaves no room for one, if sessions end as fast as they did lately
    while claims waited.
    """

    claim: ClaimReading
    waited_seconds: float
    expected_seconds: float | None


class OwnerUse(msgspec.Struct, frozen=True, rename="camel"):
    """The open claims of one owner, against its limit if the pool has one."""

    owner: str
    running: int
    queued: int
    limit: int | None


class PoolDetail(msgspec.Struct, frozen=True, rename="camel"):
    """A pool as its page shows it. `ledger` is False while its claims cannot be read."""

    pool: PoolReading
    workers: list[WorkerReading]
    queue: list[Waiting]
    owners: list[OwnerUse]
    ledger: bool


async def read_pool(readings: Readings, namespace: str, name: str, now: datetime) -> PoolDetail:
    """One pool, or `NotFound`."""
    fleet = readings.fleet
    pool = fleet.pool(namespace, name)
    workers = await fleet.workers(namespace, name)
    try:
        claims = await _open_claims(fleet, pool)
    except MooringError:
        return PoolDetail(pool, workers, [], [], ledger=False)
    samples = (await readings.history.recent()).get(f"{namespace}/{name}", [])
    rate = compute_end_rate(samples, now)
    waiting = sorted((one for one in claims if one.state == ClaimState.QUEUED), key=lambda one: one.position or 0)
    queue = [Waiting(one, (now - one.created_at).total_seconds(), _expect(one, rate)) for one in waiting]
    return PoolDetail(pool, workers, queue, _owners(claims, pool.spec.limits.per_owner), ledger=True)


async def _open_claims(fleet: FleetQueries, pool: PoolReading) -> list[ClaimReading]:
    which = ClaimFilter(namespace=pool.namespace, pool=pool.name, states=OPEN)
    return (await read_claims(fleet, which, MOST_CLAIMS, None, lambda _: False)).items


def compute_end_rate(samples: list[Sample], now: datetime) -> float:
    """How many claims ended a second, lately and while others waited: fewer come to an end where fewer have come."""
    since = now - timedelta(seconds=RECENT_SECONDS)
    full = [sample.ended for sample in samples if sample.queued and sample.at > since]
    return sum(full) / (len(full) * FINE_SECONDS) if full else 0.0


def _expect(claim: ClaimReading, rate: float) -> float | None:
    if claim.expected_wait_seconds is not None:
        return claim.expected_wait_seconds
    return claim.position / rate if claim.position and rate else None


def _owners(claims: list[ClaimReading], limit: int | None) -> list[OwnerUse]:
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for claim in claims:
        counts[claim.owner][claim.state == ClaimState.QUEUED] += 1
    uses = [OwnerUse(owner, count[False], count[True], limit) for owner, count in counts.items()]
    return sorted(uses, key=lambda use: (-use.running - use.queued, use.owner))
