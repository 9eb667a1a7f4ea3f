"""Real clients against real workers: psql, pgbench, asyncpg, psycopg."""

import asyncio
import decimal
import subprocess
import threading
import uuid
from datetime import UTC, date, datetime, time, timedelta

import asyncpg
import psycopg
import pytest
import sqlalchemy

from mooring_postgres_gateway.state import SessionState
from packages.mooring.tests.acceptance.world import until
from postgres_gateway_tests.programs import require

pytestmark = [pytest.mark.realtime, pytest.mark.slow]

VALUES = {
    "true": True,
    "12::SMALLINT": 12,
    "-7::INTEGER": -7,
    "9000000000::BIGINT": 9_000_000_000,
    "1.5::FLOAT": 1.5,
    "0.1::DOUBLE": 0.1,
    "-1234567.8900::DECIMAL(20,4)": decimal.Decimal("-1234567.8900"),
    "'grün'": "grün",
    "'\\xAB\\x00'::BLOB": b"\xab\x00",
    "DATE '1999-12-31'": date(1999, 12, 31),
    "TIME '10:11:12.5'": time(10, 11, 12, 500_000),
    "TIMESTAMP '1999-12-31 23:59:58.000001'": datetime(1999, 12, 31, 23, 59, 58, 1),  # noqa: DTZ001
    "TIMESTAMPTZ '2030-01-02 03:04:05+00'": datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
    "INTERVAL '3 days 4 hours'": timedelta(days=3, hours=4),
    "'123e4567-e89b-12d3-a456-426614174000'::UUID": uuid.UUID("123e4567-e89b-12d3-a456-426614174000"),
    "NULL": None,
}


async def test_asyncpg_reads_every_type_in_binary_form(port):
    connection = await asyncpg.connect(port.url())
    row = await connection.fetchrow(f"SELECT {', '.join(VALUES)}")
    assert list(row.values()) == list(VALUES.values())
    await connection.close()


def test_psycopg_reads_every_type_in_text_form(port):
    with psycopg.connect(port.url()) as connection:
        assert connection.execute(f"SELECT {', '.join(VALUES)}").fetchone() == tuple(VALUES.values())


async def test_asyncpg_sends_every_type_in_binary_form(port):
    given = {
        "BOOLEAN": True, "SMALLINT": -3, "INTEGER": 5, "BIGINT": 1 << 40, "DOUBLE": 0.25, "VARCHAR": "ü",
        "DECIMAL(10,3)": decimal.Decimal("-12.125"), "DATE": date(2020, 2, 29), "BLOB": b"\0\xff",
        "TIMESTAMP": datetime(2021, 1, 1, 1, 1, 1), "UUID": uuid.UUID(int=7),  # noqa: DTZ001
    }  # fmt: skip
    connection = await asyncpg.connect(port.url())
    places = ", ".join(f"${number}::{kind}" for number, kind in enumerate(given, 1))
    row = await connection.fetchrow(f"SELECT {places}", *given.values())
    assert list(row.values()) == list(given.values())
    await connection.close()


LISTS = [
    [1, None, 3], [1 << 40], [True, False], [0.5, float("inf")],
    [decimal.Decimal("-1.25")], [date(2020, 2, 29)], [datetime(2021, 1, 1, 1, 1, 1, 5)], [b"\0\xff"],  # noqa: DTZ001
    [datetime(2021, 1, 1, 1, 1, 1, tzinfo=UTC)], [uuid.UUID(int=7)],
]  # fmt: skip


@pytest.mark.parametrize("place", ["%s", "%b", "%t"], ids=["as psycopg likes", "binary", "text"])
def test_psycopg_sends_lists(port, place):
    with psycopg.connect(port.url()) as connection:
        for given in LISTS:
            rows = connection.execute(f"SELECT unnest({place})", (given,)).fetchall()
            assert [row[0] for row in rows] == given
        texts = ["a", 'b "c" \\ {d}, e', "NULL", "", None]
        rows = connection.execute(f"SELECT unnest({place}::VARCHAR[])", (texts,)).fetchall()
        assert [row[0] for row in rows] == texts
        query = f"SELECT count(*) FROM (VALUES (2, 'b'), (7, 'c')) t(i, s) WHERE i = ANY({place}) AND s = ANY({place})"
        assert connection.execute(query, ([2, 7], ["a", "b"])).fetchone() == (1,)
        assert connection.execute(query, ([], [])).fetchone() == (0,)


def test_psycopg_commits_rolls_back_and_reports_failed_transactions(port):
    with psycopg.connect(port.url()) as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
        connection.commit()
        connection.execute("INSERT INTO t VALUES (%s, %s)", (1, "one"))
        connection.rollback()
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM nothing")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(n, str(n)) for n in range(20)])
        connection.commit()
        assert connection.execute("SELECT count(*), sum(a) FROM t").fetchone() == (20, 190)
        returned = connection.execute("UPDATE t SET b = 'x' WHERE a < 3 RETURNING a, b").fetchall()
        assert sorted(returned) == [(0, "x"), (1, "x"), (2, "x")]


def test_statements_that_psycopg_prepares_are_prepared_again_on_another_worker(port, harbour, pool):
    with psycopg.connect(port.url(), autocommit=True) as connection:
        for number in range(8):
            assert connection.execute("SELECT %s + 1", (number,), prepare=True).fetchone() == (number + 1,)
        until(lambda: harbour.dock.open_claims(pool) == 0, 20, "the idle session gives its worker back")
        assert connection.execute("SELECT %s + 1", (8,), prepare=True).fetchone() == (9,)


def test_a_worker_that_leaves_while_it_takes_over_a_session_is_replaced(port, harbour, pool, monkeypatch):
    restore, left = SessionState.restore, []

    async def leave_first(state, stream, transaction):
        if not left:
            left.append(await stream.close())
        await restore(state, stream, transaction)

    with psycopg.connect(port.url(), autocommit=True) as connection:
        connection.execute("SET statement_timeout = '1min'")
        until(lambda: harbour.dock.open_claims(pool) == 0, 20, "the idle session gives its worker back")
        monkeypatch.setattr(SessionState, "restore", leave_first)
        assert connection.execute("SHOW statement_timeout").fetchone() == ("1min",)
        assert left


async def test_asyncpg_pools_reset_their_connections(port):
    async with asyncpg.create_pool(port.url(), min_size=1, max_size=2) as pool:
        for number in range(4):
            async with pool.acquire() as connection:
                assert await connection.fetchval("SELECT $1::INTEGER", number) == number


async def test_asyncpg_fetches_a_cursor_in_portions(port):
    connection = await asyncpg.connect(port.url())
    async with connection.transaction():
        rows = [row[0] async for row in connection.cursor("SELECT i FROM range(1, 2501) t(i)", prefetch=100)]
    assert rows == list(range(1, 2501))
    await connection.close()


async def test_asyncpg_copies_in_and_out(port, tmp_path):
    connection = await asyncpg.connect(port.url())
    await connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR, c DATE)")
    records = [(n, None if n % 7 == 0 else f"text {n}", date(2020, 1, 1)) for n in range(2500)]
    assert await connection.copy_records_to_table("t", records=records) == "COPY 2500"
    assert await connection.fetchval("SELECT count(*) FROM t WHERE b IS NULL") == 358
    target = tmp_path / "out.csv"
    assert await connection.copy_from_query("SELECT a, b FROM t ORDER BY a LIMIT 3", output=str(target), format="csv")
    assert target.read_text() == "0,\n1,text 1\n2,text 2\n"
    await connection.close()


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_psycopg_copies_what_it_copied_out_in_again(port, form):
    odd = ["plain", "", "a,b", 'quote " inside', "tab\tand\nline", "back\\slash", None, "\\N", "\\."]
    with psycopg.connect(port.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (n INTEGER, v VARCHAR); CREATE TABLE u (n INTEGER, v VARCHAR)")
        with connection.cursor() as cursor:
            for number, value in enumerate(odd):
                cursor.execute("INSERT INTO t VALUES (%s, %s)", (number, value))
            with cursor.copy(f"COPY (SELECT * FROM t ORDER BY n) TO STDOUT (FORMAT {form})") as copy:
                data = b"".join(bytes(piece) for piece in copy)
            with cursor.copy(f"COPY u (n, v) FROM STDIN (FORMAT {form})") as copy:
                for at in range(0, len(data), 5):
                    copy.write(data[at : at + 5])
            rows = cursor.execute("SELECT v FROM u ORDER BY n").fetchall()
    assert [row[0] for row in rows] == odd


def test_a_copy_that_fails_stores_nothing_and_the_session_continues(port):
    with psycopg.connect(port.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (n INTEGER)")
        with (
            pytest.raises(psycopg.errors.InvalidTextRepresentation),
            connection.cursor().copy("COPY t FROM STDIN") as copy,
        ):
            copy.write("1\n2\nthree\n")
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


async def test_a_pipeline_is_one_transaction_and_errors_last_until_sync(port):
    async with await psycopg.AsyncConnection.connect(port.url(), autocommit=True) as connection:
        await connection.execute("CREATE TABLE t (n INTEGER)")
        with pytest.raises(psycopg.errors.UndefinedTable):
            async with connection.pipeline():
                await connection.execute("INSERT INTO t VALUES (1)")
                await connection.execute("INSERT INTO nothing VALUES (1)")
                await connection.execute("INSERT INTO t VALUES (2)")
        assert await (await connection.execute("SELECT count(*) FROM t")).fetchone() == (0,)


def test_a_running_statement_is_cancelled(port):
    with psycopg.connect(port.url(), autocommit=True) as connection:
        connection.execute("SELECT 1")  # a worker is claimed, so the next statement runs at once
        timer = threading.Timer(0.5, connection.cancel_safe)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT count(*) FROM range(1000000000000) t(i)")
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_statement_that_outlasts_its_timeout_is_cancelled(port):
    with psycopg.connect(port.url(), autocommit=True) as connection:
        connection.execute("SET statement_timeout = '200ms'")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute("SELECT count(*) FROM range(1000000000000) t(i)")


def test_sqlalchemy_connects_and_nests_transactions(port):
    """It asks for the version and for types of extensions first, within a savepoint."""
    engine = sqlalchemy.create_engine(port.url().replace("postgresql:", "postgresql+psycopg:").rstrip("?"))
    try:
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text("CREATE TABLE t (a INTEGER)"))
            with connection.begin_nested():
                connection.execute(sqlalchemy.text("INSERT INTO t VALUES (:a)"), [{"a": 1}, {"a": 2}])
            assert connection.execute(sqlalchemy.text("SELECT a FROM t ORDER BY a")).scalars().all() == [1, 2]
    finally:
        engine.dispose()


def test_what_a_savepoint_would_bring_back_is_refused_and_fails_the_transaction(port):
    with psycopg.connect(port.url()) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.commit()
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("SAVEPOINT s")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="no savepoints"):
            connection.execute("ROLLBACK TO SAVEPOINT s")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


@pytest.mark.parametrize("query", ["SELECT version()", "SELECT pg_catalog.version()"])
def test_the_version_is_in_the_form_that_clients_read(port, query):
    with psycopg.connect(port.url()) as connection:
        assert connection.execute(query).fetchone() == ("PostgreSQL 15.0 (Mooring, DuckDB)",)


async def test_a_statement_timeout_of_the_connection_holds_after_a_reset(port):
    """As asyncpg's pools reset connections; libpq sends the same within `options`."""
    endless = "SELECT count(*) FROM range(1000000000000) t(i)"
    connection = await asyncpg.connect(port.url(), server_settings={"statement_timeout": "200ms"})
    await connection.execute("SET statement_timeout = 0; RESET ALL")
    with pytest.raises(asyncpg.QueryCanceledError, match="statement timeout"):
        await connection.fetch(endless)
    await connection.close()
    options = "-c statement_timeout=200 -c jit=off"
    with psycopg.connect(port.url(), options=options) as other, pytest.raises(psycopg.errors.QueryCanceled):
        other.execute(endless)
    with pytest.raises(psycopg.OperationalError, match="statement_timeout"):
        psycopg.connect(port.url(), options="-c statement_timeout=soon")


def psql(port, *arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    command = [require("psql"), "-X", "-v", "ON_ERROR_STOP=1", "-At", port.url(), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def test_psql_runs_a_script_with_transactions_and_copy(port):
    script = """
        CREATE TABLE t (a INTEGER, b VARCHAR);
        BEGIN; INSERT INTO t VALUES (1, 'one'), (2, NULL); COMMIT;
        \\copy t FROM STDIN
3\tthree
4\t\\N
\\.
        SELECT count(*), count(b) FROM t;
        SELECT a FROM t ORDER BY a \\; SELECT 'two results';
        \\copy (SELECT a, b FROM t ORDER BY a) TO STDOUT CSV HEADER
        SHOW server_encoding;
    """
    done = psql(port, stdin=script)
    assert done.returncode == 0, done.stderr
    lines = [
        "CREATE TABLE", "BEGIN", "INSERT 0 2", "COMMIT", "COPY 2", "4|2", "1", "2", "3", "4", "two results",
        "a,b", "1,one", "2,", "3,three", "4,", "UTF8",
    ]  # fmt: skip
    assert done.stdout.splitlines() == lines


def test_psql_shows_errors_with_their_sqlstate(port):
    done = psql(port, "-v", "VERBOSITY=verbose", "-c", "SELECT * FROM nothing")
    assert done.returncode == 1
    assert "ERROR:  42P01" in done.stderr


def test_pgbench_runs_in_simple_mode(port, tmp_path):
    script = tmp_path / "script.sql"
    script.write_text("\\set n random(1, 1000)\nSELECT count(*) FROM range(:n) t(i);\n")
    command = [require("pgbench"), "-M", "simple", "-n", "-f", str(script), "-c", "2", "-t", "50", port.url()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "number of transactions actually processed: 100/100" in done.stdout
    assert "number of failed transactions: 0" in done.stdout


async def test_sessions_do_not_see_each_other(port):
    one, two = await asyncio.gather(asyncpg.connect(port.url()), asyncpg.connect(port.url()))
    await one.execute("CREATE TABLE mine (a INTEGER)")
    with pytest.raises(asyncpg.UndefinedTableError):
        await two.fetch("SELECT * FROM mine")
    await one.close()
    await two.close()
