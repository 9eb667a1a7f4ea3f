"""Plans of the claim path do not depend on the moment at which PostgreSQL collected statistics."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hawser.clock import Entropy, SystemClock
from mooring.ledger.postgres import PostgresLedger
from mooring.ledger.postgres.database import DatabaseOptions
from mooring.ledger.queries import load
from mooring.model.claim import EndCause
from packages.mooring.tests.ledger.worlds import NOW, running
from packages.mooring.tests.postgres import PostgresForTests

CLAIM_PATH = ("insert_claimed", "mark_running", "end")
_ARGUMENTS = {
    "insert_claimed": "'x', 'ci', 'linux', 'acme', 0, NULL, '', false, NULL, 60, now(), NULL, false,"
    " 'pod', 'uid', 0, '', now(), false, false, false, ''",
    "mark_running": "'x', 1, now(), NULL, false",
    "end": "'x', 1, 'released', now(), '', 'released'",
}
_HOT = "SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'claims'"


@asynccontextmanager
async def opened_on(postgres: PostgresForTests) -> AsyncIterator[PostgresLedger]:
    """With one connection, so that its prepared statements and counters can be read."""
    url = postgres.fresh_database()
    single = DatabaseOptions(pool_size=1)
    ledger = await PostgresLedger.open(url, clock=SystemClock(), entropy=Entropy(), options=single)
    try:
        yield ledger
    finally:
        await ledger.close()
        postgres.give_back(url)


async def claim_and_release(ledger: PostgresLedger, times: int = 1) -> None:
    for _ in range(times):
        claim = await running(ledger)
        await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")


async def plan_of(ledger: PostgresLedger, name: str) -> str:
    database = ledger._database
    statement = "SELECT name FROM pg_prepared_statements WHERE statement = $1"
    prepared = await database.fetch_value(statement, load("claims")[name])
    return "\n".join(row[0] for row in await database.fetch(f"EXPLAIN EXECUTE {prepared}({_ARGUMENTS[name]})"))


async def count_updates(ledger: PostgresLedger) -> tuple[int, int]:
    """All updates of claims so far, and those that wrote no index."""
    await ledger._database.fetch("SELECT pg_stat_force_next_flush()")
    row = await ledger._database.fetch_row(_HOT)
    assert row is not None
    return row["updates"], row["hot"]


async def test_a_claim_is_planned_once_with_every_statistics(postgres: PostgresForTests) -> None:
    async with opened_on(postgres) as ledger:
        await ledger._database.fetch("ANALYZE claims")  # as empty
        await claim_and_release(ledger, 8)
        await ledger._database.fetch("ANALYZE claims")
        await claim_and_release(ledger, 8)
        counts = {
            row["statement"]: row["custom_plans"]
            for row in await ledger._database.fetch("SELECT statement, custom_plans FROM pg_prepared_statements")
        }
        assert {name: counts[load("claims")[name]] for name in CLAIM_PATH} == dict.fromkeys(CLAIM_PATH, 0)


async def test_a_claim_reads_no_row_of_another_claim(postgres: PostgresForTests) -> None:
    async with opened_on(postgres) as ledger:
        await ledger._database.fetch("ANALYZE claims")  # as empty: a scan of the whole table looks cheapest
        await claim_and_release(ledger)
        plans = {name: await plan_of(ledger, name) for name in CLAIM_PATH}
        assert not any("Seq Scan" in plan for plan in plans.values()), plans
        assert "Index Scan using claims_queue" in plans["insert_claimed"]


async def test_a_claim_that_starts_to_run_changes_no_index(postgres: PostgresForTests) -> None:
    async with opened_on(postgres) as ledger:
        updates, hot = await count_updates(ledger)
        claim = await running(ledger)
        await ledger.claims.heartbeat(claim.id, claim.epoch, now=NOW)
        assert await count_updates(ledger) == (updates + 2, hot + 2)
