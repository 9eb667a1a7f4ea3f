"""Writes that come at once share a round trip and a commit, and nothing else."""

import asyncio
from typing import Any

import asyncpg
import pytest

from mooring.ledger.port import Ledger
from mooring.model.claim import Admission, AdmissionVerdict, ClaimState
from mooring.model.errors import InvalidInput, Unavailable
from packages.mooring.tests.ledger.worlds import NOW, PostgresWorld, asked, claimed, on
from packages.mooring.tests.postgres import PostgresForTests

MANY = 40


async def insert(ledger: Ledger, pod: str, **changes: Any) -> Admission:
    return await ledger.claims.insert_claimed(asked(**changes), on(pod), now=NOW, overtake=True)


@pytest.fixture
def world(postgres: PostgresForTests) -> PostgresWorld:
    """Closed after the test, like every world."""
    return PostgresWorld(postgres)


async def commits(world: PostgresWorld) -> int:
    """How many transactions wrote the claims as they are."""
    connection = await asyncpg.connect(world.url)
    try:
        count: int = await connection.fetchval("SELECT count(DISTINCT xmin::text) FROM mooring.claims")
        return count
    finally:
        await connection.close()


async def until_blocked(connection: asyncpg.Connection) -> None:
    """Until somebody waits for a lock that another session holds."""
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    while not await connection.fetchval(waiting):
        await asyncio.sleep(0.02)


async def test_claims_that_come_at_once_share_commits_all_the_way_to_running(world: PostgresWorld) -> None:
    ledger = await world.open()
    admissions = await asyncio.gather(*(insert(ledger, f"w-{number}") for number in range(MANY)))
    claims = [admission.require() for admission in admissions]
    assert [claim.pod_name for claim in claims] == [f"w-{number}" for number in range(MANY)]
    assert len({claim.epoch for claim in claims}) == MANY
    assert await commits(world) <= 3
    outcomes = await asyncio.gather(
        *(ledger.claims.mark_running(claim.id, claim.epoch, now=NOW) for claim in reversed(claims))
    )
    assert [outcome.require().id for outcome in outcomes] == [claim.id for claim in reversed(claims)]
    assert await commits(world) <= 3


async def test_one_that_cannot_be_written_fails_alone(world: PostgresWorld) -> None:
    ledger = await world.open()
    good = [insert(ledger, f"w-{number}", payload={"text": "plain"}) for number in range(MANY)]
    spoilt = [insert(ledger, "bad", payload={"text": "\0"}), insert(ledger, "big", priority=1 << 40)]
    *told, nul, overflow = await asyncio.gather(*good, *spoilt, return_exceptions=True)
    assert isinstance(nul, InvalidInput) and isinstance(overflow, asyncpg.DataError | InvalidInput)
    assert all(isinstance(one, Admission) and one.verdict is AdmissionVerdict.CREATED for one in told)
    assert (await insert(ledger, "after")).verdict is AdmissionVerdict.CREATED


async def test_a_stale_epoch_among_good_ones_is_refused_alone(world: PostgresWorld) -> None:
    ledger = await world.open()
    claims = [await claimed(ledger, f"w-{number}") for number in range(4)]
    outcomes = await asyncio.gather(
        *(ledger.claims.mark_running(claim.id, claim.epoch - (claim is claims[1]), now=NOW) for claim in claims)
    )
    assert [outcome.applied for outcome in outcomes] == [True, False, True, True]
    assert (await ledger.claims.get(claims[1].id)).state is ClaimState.CLAIMED  # type: ignore[union-attr]


async def test_replicas_that_want_the_same_workers_in_opposite_orders_do_not_wait_for_each_other(
    world: PostgresWorld,
) -> None:
    ledgers = [await world.open(), await world.open()]
    for round_number in range(5):
        names = [f"w-{round_number}-{number}" for number in range(MANY)]
        orders = (names, list(reversed(names)))
        async with asyncio.timeout(5):
            admissions = await asyncio.gather(
                *(insert(ledger, name) for ledger, order in zip(ledgers, orders, strict=True) for name in order)
            )
        verdicts = [admission.verdict for admission in admissions]
        assert verdicts.count(AdmissionVerdict.CREATED) == verdicts.count(AdmissionVerdict.SLOT_TAKEN) == MANY


async def test_who_gives_up_waiting_takes_nobody_along(world: PostgresWorld) -> None:
    ledger = await world.open()
    impatient = [asyncio.create_task(insert(ledger, f"w-{number}")) for number in range(MANY)]
    await asyncio.sleep(0)
    for task in impatient[::2]:
        task.cancel()
    told = await asyncio.gather(*impatient, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in told[::2])
    assert all(isinstance(one, Admission) for one in told[1::2])


async def test_a_connection_lost_on_the_way_is_told_to_all_and_the_next_go_over_a_new_one(
    world: PostgresWorld,
) -> None:
    ledger, other = await world.open(), await asyncpg.connect(world.url)
    try:
        await other.execute("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('uid-w-0/0', 2))")
        inserts = [asyncio.create_task(insert(ledger, f"w-{number}")) for number in range(20)]
        await until_blocked(other)
        # `other` keeps its lock: a connection that got it just before its own end could still commit.
        await other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        )
        told = await asyncio.gather(*inserts, return_exceptions=True)
        assert {type(one) for one in told} == {Unavailable}
        await other.execute("ROLLBACK")
        assert (await insert(ledger, "w-0")).verdict is AdmissionVerdict.CREATED
    finally:
        await other.close()
