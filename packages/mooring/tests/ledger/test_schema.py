import asyncio
import re
from pathlib import Path

import asyncpg
import pytest

import mooring.ledger.postgres
import mooring.ledger.queries
from hawser.clock import Entropy, SystemClock
from mooring.ledger.migrations import SCHEMA, Migration, known_migrations, migrate
from mooring.ledger.postgres import PostgresLedger
from mooring.ledger.queries import load
from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.errors import Misconfigured
from packages.mooring.tests.ledger.worlds import NOW, claimed
from packages.mooring.tests.postgres import PostgresForTests

FILES = sorted(Path(mooring.ledger.queries.__file__).parent.glob("*.sql"))
QUERIES = [(file.stem, name) for file in FILES for name in load(file.stem)]


async def open_at(url: str) -> PostgresLedger:
    return await PostgresLedger.open(url, clock=SystemClock(), entropy=Entropy())


async def connect(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(url, server_settings={"search_path": SCHEMA})


async def test_replicas_that_start_together_on_an_empty_database_make_one_ledger(postgres: PostgresForTests) -> None:
    url = postgres.empty_database()
    ledgers = await asyncio.gather(*(open_at(url) for _ in range(4)))
    try:
        assert len({ledger.incarnation for ledger in ledgers}) == 1
        connection = await connect(url)
        assert await connection.fetchval("SELECT count(*) FROM migrations") == len(known_migrations())
        await connection.close()
    finally:
        for ledger in ledgers:
            await ledger.close()


def tomorrow(works_with: int) -> list[Migration]:
    """The migrations of a later release: one more than today, which code from `works_with` on may use."""
    version = len(known_migrations()) + 1
    sql = (
        f"-- A column and a table of a later release.\n-- works with: {works_with}\n\n"
        "ALTER TABLE claims ADD COLUMN mood text NOT NULL DEFAULT 'calm'; CREATE TABLE future (id integer);"
    )
    return [*known_migrations(), Migration(version, f"{version:04}_future", sql)]


async def migrate_to(url: str, migrations: list[Migration]) -> list[Migration]:
    connection = await connect(url)
    try:
        return await migrate(connection, migrations, NOW)
    finally:
        await connection.close()


async def test_a_newer_schema_that_needs_newer_code_is_left_alone(postgres: PostgresForTests) -> None:
    url, newest = postgres.empty_database(), len(known_migrations())
    await migrate_to(url, tomorrow(works_with=newest + 1))
    with pytest.raises(Misconfigured, match=f"version {newest + 1}, newer than this Mooring knows \\({newest}\\)"):
        await open_at(url)


async def test_a_step_that_does_not_say_which_code_it_works_with_needs_its_own(postgres: PostgresForTests) -> None:
    url, newest = postgres.empty_database(), len(known_migrations())
    silent = Migration(newest + 1, f"{newest + 1:04}_silent", "CREATE TABLE future (id integer)")
    await migrate_to(url, [*known_migrations(), silent])
    with pytest.raises(Misconfigured, match=f"needs code that knows version {newest + 1}"):
        await open_at(url)


async def test_an_older_release_starts_and_works_on_the_schema_of_the_next_one(postgres: PostgresForTests) -> None:
    url, newest = postgres.empty_database(), len(known_migrations())
    older = await open_at(url)
    try:
        upgraded = tomorrow(works_with=newest)
        assert await migrate_to(url, upgraded) == upgraded[newest:]
        made = await claimed(older, "during-the-upgrade")
        restarted = await open_at(url)
        try:
            await claimed(restarted, "after-the-rollback")
            assert await restarted.claims.get(made.id) == made
            assert restarted.incarnation == older.incarnation
        finally:
            await restarted.close()
    finally:
        await older.close()
    assert await migrate_to(url, upgraded) == [], "the newer release finds everything as it left it"


async def test_one_version_at_a_time_is_skipped(postgres: PostgresForTests) -> None:
    """Two releases back is too far if the second one has removed what the first still used."""
    url, newest = postgres.empty_database(), len(known_migrations())
    contract = Migration(newest + 2, f"{newest + 2:04}_contract", f"-- works with: {newest + 1}\n\nSELECT 1")
    await migrate_to(url, [*tomorrow(works_with=newest), contract])
    with pytest.raises(Misconfigured, match=f"{newest + 2:04}_contract needs code that knows version {newest + 1}"):
        await open_at(url)
    assert await migrate_to(url, tomorrow(works_with=newest)) == []


async def test_the_history_of_an_earlier_release_has_no_word_about_compatibility(postgres: PostgresForTests) -> None:
    url = postgres.empty_database()
    await (await open_at(url)).close()
    connection = await connect(url)
    await connection.execute("ALTER TABLE migrations DROP COLUMN works_with, DROP COLUMN code")
    await connection.close()
    await (await open_at(url)).close()


def test_every_new_step_works_with_the_release_before_it() -> None:
    first_released = 8
    for migration in known_migrations()[first_released:]:
        assert migration.works_with < migration.version, f"{migration.name} says '-- works with: N' with an older N"


async def test_a_step_that_differs_from_the_one_applied_is_refused(postgres: PostgresForTests) -> None:
    url = postgres.empty_database()
    await (await open_at(url)).close()
    connection = await connect(url)
    await connection.execute("UPDATE migrations SET checksum = 'other'")
    await connection.close()
    with pytest.raises(Misconfigured, match="0001_ledger differs"):
        await open_at(url)


async def test_a_step_that_fails_leaves_the_schema_as_it_was(postgres: PostgresForTests) -> None:
    connection = await connect(postgres.empty_database())
    try:
        broken = Migration(2, "0002_broken", "CREATE TABLE half (id integer); SELECT nonsense")
        with pytest.raises(asyncpg.UndefinedColumnError):
            await migrate(connection, [known_migrations()[0], broken], NOW)
        assert await connection.fetchval("SELECT to_regclass('claims')") is None
        assert len(await migrate(connection, known_migrations(), NOW)) == len(known_migrations())
        assert await migrate(connection, known_migrations(), NOW) == []
    finally:
        await connection.close()


def test_the_steps_are_numbered_without_gaps() -> None:
    assert [migration.version for migration in known_migrations()] == list(range(1, len(known_migrations()) + 1))


async def test_every_query_prepares_on_the_real_server(postgres: PostgresForTests) -> None:
    connection = await connect(postgres.fresh_database())
    try:
        for noun, name in QUERIES:
            try:
                await connection.prepare(load(noun)[name])
            except asyncpg.PostgresError as error:
                pytest.fail(f"{noun}.{name}: {error}")
    finally:
        await connection.close()


def test_every_query_is_used_and_every_use_has_a_query() -> None:
    used: set[tuple[str, str]] = set()
    for module in Path(mooring.ledger.postgres.__path__[0]).glob("*.py"):
        source = module.read_text()
        for noun in re.findall(r'_SQL = load\("(\w+)"\)', source):
            used |= {(noun, name) for name in re.findall(r'_SQL\["(\w+)"\]', source)}
    assert used == set(QUERIES)


async def test_the_database_itself_refuses_a_second_holder_and_unknown_states(postgres: PostgresForTests) -> None:
    connection = await connect(postgres.fresh_database())
    insert = (
        "INSERT INTO claims (id, namespace, pool, owner, state, priority, request_hash, epoch, pod_uid, slot, address,"
        " ticket, retryable, ttl_seconds, created_at) VALUES ($1, 'n', 'p', 'o', $2, 0, '', $3, $4, 0, '', $3, false,"
        " 60, $5)"
    )
    try:
        await connection.execute(insert, "1", "claimed", 1, "pod", NOW)
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.execute(insert, "2", "running", 2, "pod", NOW)
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.execute(insert, "3", "dreaming", 3, "other", NOW)
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.execute(insert, "4", "claimed", 4, None, NOW)
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.execute(insert, "5", "released", 5, "pod", NOW)
    finally:
        await connection.close()


async def test_claims_that_ended_before_causes_were_kept_are_read_without_one(postgres: PostgresForTests) -> None:
    url = postgres.empty_database()
    connection = await connect(url)
    await migrate(connection, known_migrations()[:1], NOW)
    await connection.execute(
        "INSERT INTO claims (id, namespace, pool, owner, state, priority, request_hash, epoch, address, ticket,"
        " retryable, ttl_seconds, created_at, ended_at) VALUES ('old', 'n', 'p', 'o', 'lost', 0, '', 1, '', 1, false,"
        " 60, $1, $1)",
        NOW,
    )
    await connection.close()
    ledger = await open_at(url)
    try:
        old = await ledger.claims.get("old")
        assert old is not None and (old.state, old.cause) == (ClaimState.LOST, None)
    finally:
        await ledger.close()


async def test_columns_and_model_have_the_same_fields_and_states(postgres: PostgresForTests) -> None:
    connection = await connect(postgres.fresh_database())
    try:
        columns = await connection.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'claims'",
            SCHEMA,
        )
        assert {row["column_name"] for row in columns} == set(Claim.__struct_fields__)
        check = await connection.fetchval(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'claims_state_check'"
        )
        assert set(re.findall(r"'(\w+)'::text", check)) == {state.value for state in ClaimState}
        check = await connection.fetchval(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'claims_cause_check'"
        )
        assert set(re.findall(r"'(\w+)'::text", check)) == {cause.value for cause in EndCause}
    finally:
        await connection.close()
