import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from hawser.clock import Entropy, SystemClock
from mooring.ledger.migrations import SCHEMA
from mooring.ledger.postgres import PostgresLedger
from mooring.ledger.postgres import database as database_module
from mooring.ledger.postgres.database import Database, DatabaseOptions, describe
from mooring.model.claim import AdmissionVerdict, ClaimState, EndCause
from mooring.model.errors import InvalidInput, Misconfigured, Unavailable
from packages.mooring.tests.ledger.worlds import NOW, PostgresWorld, after, asked, claimed, on, queued
from packages.mooring.tests.postgres import PostgresForTests


async def open_at(url: str, **options: Any) -> PostgresLedger:
    return await PostgresLedger.open(
        url, clock=SystemClock(), entropy=Entropy(), options=DatabaseOptions(connect_timeout_seconds=2, **options)
    )


async def database_at(url: str, **options: Any) -> Database:
    database = Database(url, DatabaseOptions(**options), SystemClock(), Entropy())
    await database.open()
    return database


@pytest.mark.realtime
async def test_an_unreachable_database_is_one_clear_line_without_the_password() -> None:
    with pytest.raises(Unavailable) as caught:
        await open_at("postgresql://mooring:secret@127.0.0.1:1/ledger")
    said = str(caught.value)
    assert "the database ledger at 127.0.0.1:1 does not answer" in said
    assert "secret" not in said and "\n" not in said


async def test_a_wrong_password_or_name_is_a_setting_to_correct(postgres: PostgresForTests) -> None:
    with pytest.raises(Misconfigured, match="nowhere"):
        await open_at(postgres.url_of("nowhere"))
    user, _, rest = postgres.url.partition("@")
    with pytest.raises(Misconfigured, match="password authentication failed"):
        await open_at(f"{user}x@{rest}")
    with pytest.raises(Misconfigured):
        await open_at("mysql://localhost/x")


async def test_heartbeats_do_not_wait_behind_claims(postgres: PostgresForTests) -> None:
    """Otherwise a replica that is busy with claims counts as dead, and another one takes over."""
    ledger = await open_at(postgres.url, pool_size=2)
    try:
        replica = await ledger.replicas.register("busy", address="", version="", now=NOW)
        database = ledger._database
        waiting = [asyncio.create_task(database.fetch("SELECT pg_sleep(2)")) for _ in range(6)]
        await asyncio.sleep(0.1)
        async with asyncio.timeout(1):
            assert await ledger.replicas.heartbeat("busy", replica.epoch, now=after(1))
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    finally:
        await ledger.close()


async def test_searches_of_readers_leave_connections_to_claims(postgres: PostgresForTests) -> None:
    database = await database_at(postgres.url, pool_size=5)
    try:
        searches = [asyncio.create_task(database.search("SELECT pg_sleep(0.5)")) for _ in range(8)]
        await asyncio.sleep(0.2)
        started = asyncio.get_running_loop().time()
        await asyncio.gather(*(database.fetch("SELECT pg_sleep(0.1)") for _ in range(4)))
        assert asyncio.get_running_loop().time() - started < 0.4
        for search in searches:
            search.cancel()
        await asyncio.gather(*searches, return_exceptions=True)
    finally:
        await database.close()


@pytest.mark.realtime
async def test_a_search_waits_for_its_turn_no_longer_than_for_a_connection(
    postgres: PostgresForTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the last of many readers would wait for hours for a server that hangs."""
    monkeypatch.setattr(database_module, "_PATIENCE_SECONDS", 0.3)
    database = await database_at(postgres.url, pool_size=5, statement_timeout_seconds=0.5)
    try:
        started = asyncio.get_running_loop().time()
        searches = (database.search("SELECT pg_sleep(30)") for _ in range(8))
        ends = await asyncio.gather(*searches, return_exceptions=True)
        assert all(isinstance(end, Unavailable) for end in ends)
        assert asyncio.get_running_loop().time() - started < 2
        assert await database.search("SELECT 1 AS one")
    finally:
        await database.close()


def test_a_database_is_described_without_its_secrets() -> None:
    assert (
        describe("postgresql://u:p@db.example:5433/ledger?sslmode=require") == "the database ledger at db.example:5433"
    )
    assert describe("postgresql://u:p@/ledger?host=%2Frun") == "the database ledger at the local socket"


async def test_an_ordinary_role_that_owns_its_database_is_enough(postgres: PostgresForTests) -> None:
    await postgres.admin("CREATE ROLE app LOGIN PASSWORD 'pw'", "CREATE DATABASE app_ledger OWNER app")
    ledger = await open_at(postgres.url_of("app_ledger").replace(postgres.url.split("@")[0], "postgresql://app:pw"))
    try:
        assert (await claimed(ledger)).live
        assert (await ledger.meta.observe_epoch(500, now=NOW)).armed is False
    finally:
        await ledger.close()


async def test_a_lost_connection_is_unavailable_once_and_then_forgotten(postgres: PostgresForTests) -> None:
    world = PostgresWorld(postgres)
    try:
        ledger = await world.open()
        slow = asyncio.create_task(ledger._database.fetch("SELECT pg_sleep(30)"))  # type: ignore[attr-defined]
        await asyncio.sleep(0.1)
        await world.cut_connections()
        with pytest.raises(Unavailable):
            await slow
        await ledger.meta.ping()
    finally:
        await world.close()


async def test_the_pool_is_bounded_and_everyone_gets_a_turn(postgres: PostgresForTests) -> None:
    url = postgres.fresh_database()
    ledger = await open_at(url, pool_size=2)
    try:
        admissions = await asyncio.gather(
            *(ledger.claims.insert_claimed(asked(), on(f"w{i}"), now=NOW) for i in range(40))
        )
        assert {admission.verdict for admission in admissions} == {AdmissionVerdict.CREATED}
        used = await ledger._database.fetch_value(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mooring'"
        )
        assert used <= 3, "two to work with, one to listen"
    finally:
        await ledger.close()


async def test_a_statement_that_takes_too_long_is_given_up(postgres: PostgresForTests) -> None:
    database = await database_at(postgres.url, statement_timeout_seconds=0.2)
    try:
        with pytest.raises(Unavailable, match="statement timeout"):
            await database.fetch("SELECT pg_sleep(30)")
        assert await database.fetch_value("SELECT 7") == 7
    finally:
        await database.close()


async def test_a_call_that_gets_no_connection_in_time_is_given_up(
    postgres: PostgresForTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "_PATIENCE_SECONDS", 0.2)
    database = await database_at(postgres.url, pool_size=1, statement_timeout_seconds=0.1)
    try:
        async with database._pool.acquire():
            with pytest.raises(Unavailable, match="does not answer"):
                await asyncio.wait_for(database.fetch("SELECT 7"), 5)
        assert await database.fetch_value("SELECT 7") == 7
    finally:
        await database.close()


async def test_a_call_that_is_cancelled_leaves_the_pool_in_order(postgres: PostgresForTests) -> None:
    database = await database_at(postgres.url, pool_size=1)
    try:
        slow = asyncio.create_task(database.fetch("SELECT pg_sleep(30)"))
        await asyncio.sleep(0.1)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert await database.fetch_value("SELECT 7") == 7
    finally:
        await database.close()


@pytest.mark.parametrize("error", [asyncpg.SerializationError, asyncpg.DeadlockDetectedError])
async def test_a_transaction_the_server_gave_up_is_run_again_as_a_whole(
    postgres: PostgresForTests, error: type[asyncpg.PostgresError]
) -> None:
    database, attempts = await database_at(postgres.url), []

    def failing(times: int) -> Callable[[Any], Awaitable[int]]:
        async def work(connection: Any) -> int:
            attempts.append(await connection.fetchval("SELECT txid_current()"))
            if len(attempts) <= times:
                raise error("injected")
            return len(attempts)

        return work

    try:
        assert await database.transact(failing(3)) == 4
        assert len(set(attempts)) == 4, "each in a transaction of its own"
        attempts.clear()
        with pytest.raises(Unavailable):
            await database.transact(failing(1000))
        assert 2 <= len(attempts) <= 10
    finally:
        await database.close()


async def test_a_real_deadlock_ends_with_both_transactions_done(postgres: PostgresForTests) -> None:
    world = PostgresWorld(postgres)
    ledger = await world.open()
    await ledger.replicas.register("a", address="", version="", now=NOW)
    await ledger.replicas.register("b", address="", version="", now=NOW)
    database, tries, first_locks = ledger._database, [], asyncio.Barrier(2)  # type: ignore[attr-defined]

    async def both(first: str, second: str) -> None:
        async def work(connection: Any) -> None:
            tries.append(first)
            await connection.execute("UPDATE replicas SET beats = beats + 1 WHERE id = $1", first)
            if len(tries) <= 2:
                await first_locks.wait()
            await connection.execute("UPDATE replicas SET beats = beats + 1 WHERE id = $1", second)

        await database.transact(work)

    try:
        await asyncio.gather(both("a", "b"), both("b", "a"))
        assert len(tries) == 3, "one of them was the server's victim"
        assert [replica.beats for replica in await ledger.replicas.all()] == [3, 3]
    finally:
        await world.close()


async def test_limits_hold_where_the_database_insists_on_serializable(postgres: PostgresForTests) -> None:
    world = PostgresWorld(postgres)
    await postgres.admin(f"ALTER DATABASE {world.name} SET default_transaction_isolation = 'serializable'")
    try:
        ledger = await world.open()
        attempts = (
            ledger.claims.insert_queued(asked(), now=NOW, wait_until=after(60), owner_limit=3) for _ in range(10)
        )
        verdicts = [admission.verdict for admission in await asyncio.gather(*attempts)]
        assert verdicts.count(AdmissionVerdict.CREATED) == 3
    finally:
        await postgres.admin(f"ALTER DATABASE {world.name} RESET default_transaction_isolation")
        await world.close()


async def test_a_claim_that_another_server_is_just_taking_holds_nobody_up(postgres: PostgresForTests) -> None:
    world = PostgresWorld(postgres)
    taking = await asyncpg.connect(world.url, server_settings={"search_path": SCHEMA})
    try:
        ledger = await world.open()
        head, second = await queued(ledger), await queued(ledger)
        async with taking.transaction():
            await taking.execute("SELECT FROM claims WHERE id = $1 FOR UPDATE", head.id)
            async with asyncio.timeout(10):
                outcome = await ledger.claims.bind_next("ci", "linux", on("a"), now=NOW)
        assert outcome is not None and outcome.require().id == second.id
    finally:
        await taking.close()
        await world.close()


@pytest.mark.parametrize("way", ["insert_claimed", "bind", "bind_next"])
async def test_an_epoch_is_drawn_only_when_the_slot_is_ones_own_to_take(postgres: PostgresForTests, way: str) -> None:
    """Else a claimer that was slow between drawing and inserting would bring a lower epoch after a higher one."""
    world = PostgresWorld(postgres)
    ahead = await asyncpg.connect(world.url)
    try:
        ledger = await world.open()
        waiting = await queued(ledger)
        async with ahead.transaction():
            await ahead.execute("SELECT pg_advisory_xact_lock(hashtextextended('uid-a/0', 2))")
            match way:
                case "insert_claimed":
                    slow = asyncio.create_task(ledger.claims.insert_claimed(asked(), on("a"), now=NOW, overtake=True))
                case "bind":
                    slow = asyncio.create_task(ledger.claims.bind(waiting.id, waiting.epoch, on("a"), now=NOW))
                case _:
                    slow = asyncio.create_task(ledger.claims.bind_next("ci", "linux", on("a"), now=NOW))
            await asyncio.sleep(0.2)
            assert not slow.done()
            meanwhile = await claimed(ledger, "b")
        assert (await slow).require().epoch > meanwhile.epoch
    finally:
        await ahead.close()
        await world.close()


async def test_text_that_postgresql_cannot_keep_is_the_callers_mistake(postgres: PostgresForTests) -> None:
    world = PostgresWorld(postgres)
    try:
        ledger = await world.open()
        with pytest.raises(InvalidInput):
            await ledger.claims.insert_claimed(asked("ac\0me"), on("a"), now=NOW)
        with pytest.raises(InvalidInput):
            await ledger.claims.get("a\0")
    finally:
        await world.close()


async def test_what_one_process_was_answered_is_there_after_its_death(postgres: PostgresForTests) -> None:
    """A connection cut in the middle of a transaction leaves nothing of it; what was answered stays."""
    world = PostgresWorld(postgres)
    try:
        ledger = await world.open()
        held = await claimed(ledger, "a")
        half = await ledger._database.connect()  # type: ignore[attr-defined]
        await half.execute("BEGIN")
        await half.execute("UPDATE claims SET state = 'lost', ended_at = created_at")
        half.terminate()
        ended = await ledger.claims.end(held.id, held.epoch, EndCause.RELEASED, now=NOW, reason="")
        assert ended.require().state is ClaimState.RELEASED
    finally:
        await world.close()


async def test_the_way_of_a_claim_takes_a_few_milliseconds(postgres: PostgresForTests) -> None:
    world, clock = PostgresWorld(postgres), SystemClock()
    try:
        ledger, taken = await world.open(), []
        for number in range(30):
            begun = clock.monotonic()
            admission = await ledger.claims.insert_claimed(asked(), on(f"w{number}"), now=NOW)
            claim = admission.require()
            await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW)
            await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")
            taken.append(clock.monotonic() - begun)
        assert min(taken) < 0.01
    finally:
        await world.close()
