"""Queries while nodes are drained, workers die and replicas are killed, and what their clients saw.

python -m postgres_gateway_tests.under_faults 10000
"""

import asyncio
import itertools
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from postgres_gateway_tests.faulty_stage import FaultyStage, faulty_stage

CLIENTS = 6
SESSION = 12  # statements of a session
NOT_RUN = {"40001", "53000", "53300", "57P01", "57P03", "08006"}
UNKNOWN = "08007"
KINDS = ("read", "write", "read", "safe")


@dataclass
class Record:
    """What the clients saw."""

    done: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    runs: dict[int, int] = field(default_factory=dict)  # of statements that write, by number

    def runs_of(self, kind: str) -> Counter[int]:
        """How many statements ran how often."""
        return Counter(count for number, count in self.runs.items() if KINDS[number % 4] == kind)

    def find_fault(self, queries: int) -> str:
        """What is wrong with a run of so many queries; empty if nothing."""
        if self.wrong:
            return self.wrong[0]
        if (done := sum(self.done.values())) != queries:
            return f"{done} of {queries} queries were done"
        if twice := [number for number, count in self.runs.items() if KINDS[number % 4] == "write" and count != 1]:
            return f"write {twice[0]} ran {self.runs[twice[0]]} times"
        lost = [number for number, count in self.runs.items() if count == 0]
        return f"statement {lost[0]} did not run" if lost else ""

    def describe(self) -> str:
        return (
            f"done {dict(self.done)}; errors {dict(self.errors)}; faults {self.faults}; wrong {self.wrong[:5]}; "
            f"runs of writes {dict(self.runs_of('write'))}, of safe ones {dict(self.runs_of('safe'))}"
        )


def statement(stage: FaultyStage, number: int) -> tuple[str, str]:
    """Its kind and its text: a read, a write, or a write that is marked as safe."""
    kind = KINDS[number % 4]
    if kind == "read":
        return kind, f"SELECT {number} AS q, count(*) AS n, sum(i)::BIGINT AS s FROM range({number % 50 + 1}) t(i)"
    mark = "/* mooring:safe */ " if kind == "safe" else ""
    where = f"'{stage.lake}' (FORMAT csv, PARTITION_BY (q), APPEND, FILENAME_PATTERN 'run_{{uuid}}')"
    return kind, f"{mark}COPY (SELECT {number} AS q, now() AS at) TO {where}"


async def play(stage: FaultyStage, numbers: "itertools.chain[int | None]", record: Record) -> None:
    """One client: sessions of a few statements, until all numbers are used."""
    number = next(numbers)
    while number is not None:
        connection = None
        try:
            connection = await asyncpg.connect(stage.url, timeout=60)
            for _ in range(SESSION):
                while not await ask(stage, connection, number, record):
                    pass
                number = next(numbers)
                if number is None:
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


async def run(folder: Path, queries: int, record: Record) -> None:
    """So many queries under faults. The record is complete as far as the run came, also when it is interrupted."""
    numbers = itertools.chain(range(queries), itertools.repeat(None))
    async with faulty_stage(folder, workers=3) as stage:
        record.faults = stage.counts
        disturbing = asyncio.create_task(stage.disturb(1.0))
        try:
            await asyncio.gather(*(play(stage, numbers, record) for _ in range(CLIENTS)))
            assert not disturbing.done(), disturbing.exception()
        finally:
            disturbing.cancel()
            record.runs = {number: stage.runs_of(number) for number in range(queries) if KINDS[number % 4] != "read"}


def main(queries: int) -> int:
    """Print what the clients saw; 0 if no query was lost, and none ran twice unless it is marked as safe."""
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))  # so that nothing is left running
    record = Record()
    try:
        with tempfile.TemporaryDirectory() as made:
            asyncio.run(run(Path(made), queries, record))
    finally:
        print(record.describe(), flush=True)
    return 1 if record.find_fault(queries) else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
