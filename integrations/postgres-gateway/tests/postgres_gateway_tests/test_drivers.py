"""Real clients against real workers: asyncpg, psycopg."""

import asyncpg
import psycopg
import pytest

pytestmark = pytest.mark.realtime


def test_smoke(port):
    with psycopg.connect(port.url()) as connection:
        print(connection.execute("SELECT 40 + %s AS x", (2,)).fetchall())


async def test_smoke2(port):
    connection = await asyncpg.connect(port.url())
    print(await connection.fetch("SELECT $1::int + 1 AS x, now() as n, 'a' as t, 1.5 as d, [1,2] as l", 41))
    await connection.close()
