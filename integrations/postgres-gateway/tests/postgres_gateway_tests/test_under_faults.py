"""Queries while nodes are drained, workers die and replicas are killed: none is lost, none runs twice unless safe."""

import asyncio
import itertools
import os
from collections import Counter
from dataclasses import dataclass, field

import asyncpg
import pytest

from postgres_gateway_tests.faulty_stage import FaultyStage, faulty_stage

pytestmark = [pytest.mark.realtime, pytest.mark.slow]

QUERIES = int(os.environ.get("MOORING_GATEWAY_QUERIES", "120"))
CLIENTS = 6
SESSION = 12  # statements of a session
NOT_RUN = {"40001", "53000", "53300", "57P01", "57P03", "08006"}
UNKNOWN = "08007"


@dataclass
class Record:
    """What the clients saw."""

    done: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def statement(stage: FaultyStage, number: int) -> tuple[str, str]:
    """Its kind and its text: a read, a write, or a write that is marked as safe."""
    kind = ("read", "write", "read", "safe")[number % 4]
    if kind == "read":
        return kind, f"SELECT {number} AS q, count(*) AS n, sum(i)::BIGINT AS s FROM range({number % 50 + 1}) t(i)"
    mark = "/* mooring:safe */ " if kind == "safe" else ""
    where = f"'{stage.lake}' (FORMAT csv, PARTITION_BY (q), APPEND, FILENAME_PATTERN 'run_{{uuid}}')"
    return kind, f"{mark}COPY (SELECT {number} AS q, now() AS at) TO {where}"


async def play(stage: FaultyStage, numbers: "itertools.count[int]", record: Record) -> None:
    """One client: sessions of a few statements, until all numbers are used."""
    number = next(numbers)
    while number < QUERIES:
        connection = None
        try:
            connection = await asyncpg.connect(stage.url, timeout=60)
            for _ in range(SESSION):
                while not await ask(stage, connection, number, record):
                    pass
                number = next(numbers)
                if number >= QUERIES:
                    break
        except (OSError, asyncpg.InterfaceError, asyncpg.ConnectionDoesNotExistError) as error:
            record.errors[type(error).__name__] += 1
        finally:
            if connection is not None:
                connection.terminate()


async def ask(stage: FaultyStage, connection: asyncpg.Connection, number: int, record: Record) -> bool:
    """Run one statement; False to run it again, which is right after an error that says so."""
    kind, text = statement(stage, number)
    try:
        if kind == "read":
            row = tuple(await connection.fetchrow(text))
            count = number % 50 + 1
            if row != (number, count, count * (count - 1) // 2):
                record.wrong.append(f"{text}: {row}")
        else:
            await connection.execute(text)
    except asyncpg.PostgresError as error:
        record.errors[f"{kind} {error.sqlstate}"] += 1
        if error.sqlstate in NOT_RUN:
            if kind == "write" and stage.runs_of(number):
                record.wrong.append(f"{error.sqlstate}, but it ran: {text}")
            return False
        if error.sqlstate != UNKNOWN:
            record.wrong.append(f"{error.sqlstate} {error}: {text}")
        if not stage.runs_of(number):
            return False  # a person looks, and finds that it has not run
    record.done[kind] += 1
    return True



async def test_no_query_is_lost_and_none_runs_twice_unless_it_is_marked_as_safe(tmp_path):
    record, numbers = Record(), itertools.count()
    async with faulty_stage(tmp_path, workers=3) as stage:
        disturbing = asyncio.create_task(stage.disturb(1.0))
        await asyncio.gather(*(play(stage, numbers, record) for _ in range(CLIENTS)))
        disturbing.cancel()
        runs = Counter({number: stage.runs_of(number) for number in range(QUERIES) if number % 4 in (1, 3)})
        print(f"{QUERIES} queries: {dict(record.done)}; errors {dict(record.errors)}; {stage.counts}")
        print("runs of writes", Counter(runs[n] for n in runs if n % 4 == 1), "of safe ones", Counter(runs[n] for n in runs if n % 4 == 3))
        assert disturbing.cancelled() or not disturbing.done() or disturbing.exception() is None
    assert not record.wrong
    assert sum(record.done.values()) == QUERIES
    assert all(runs[number] == 1 for number in runs if number % 4 == 1)
    assert all(runs[number] >= 1 for number in runs if number % 4 == 3)
    assert not any(name.startswith("read") and not name.endswith(("57P03",)) for name in record.errors)
