"""Drains, dead workers and limits under sessions of a real client, on real workers.

A statement that reads a named pipe runs until the test closes the pipe, so no test waits for a time.
"""

import contextlib
import errno
import os
import select
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from hawser.errors import EvictionBlocked
from packages.mooring.tests.acceptance.world import until
from packages.mooring.tests.client.dock import NAMESPACE
from postgres_gateway_tests.harbour import Harbour

pytestmark = [pytest.mark.realtime, pytest.mark.slow]

ROWS = b"1\n2\n39\n"


@dataclass
class Gate:
    """A named pipe that a statement reads."""

    path: Path

    @property
    def statement(self) -> str:
        columns = "header = false, auto_detect = false, columns = {'a': 'INTEGER'}"
        return f"SELECT sum(a)::INTEGER FROM read_csv('{self.path}', {columns})"

    def enter(self) -> int:
        """Wait until a statement reads the pipe; it reads until the returned end is closed."""
        (end,) = until(self._open, 30, "a statement reads the pipe")
        return end

    def reenter(self, end: int) -> None:
        """Wait until another statement reads the pipe, whose first reader is gone.

        The end stays open meanwhile: closing it would end a statement that came sooner.
        """
        poll = select.poll()
        poll.register(end, select.POLLOUT)
        until(lambda: not any(found & select.POLLERR for _, found in poll.poll(0)), 30, "a statement reads the pipe")

    def _open(self) -> list[int]:
        try:
            return [os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)]
        except OSError as error:
            assert error.errno == errno.ENXIO, error  # nobody reads it yet
            return []


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    os.mkfifo(tmp_path / "gate")
    return Gate(tmp_path / "gate")


@contextlib.contextmanager
def asking(url: str) -> Iterator[Callable[[str], "Future[object]"]]:
    """A session, and how to run a statement of it beside the test."""
    with ThreadPoolExecutor(1) as threads, psycopg.connect(url, autocommit=True) as connection:

        def ask(text: str) -> object:
            cursor = connection.execute(text)
            return cursor.fetchone() if cursor.description else cursor.statusmessage

        yield lambda text: threads.submit(ask, text)


def kill_the_busy_worker(harbour: Harbour, pool: str) -> None:
    [pod] = harbour.busy_pods(pool)
    harbour.kill_worker(pod)
    until(lambda: pod.metadata.uid not in {one.metadata.uid for one in harbour.pods(pool)}, 30, "the worker is gone")


def test_a_drain_waits_for_the_statement_that_runs(harbour: Harbour, gate: Gate) -> None:
    pool = harbour.pool(warm=1, max=2)
    harbour.database(pool)
    with harbour.gateway() as port, asking(port.url()) as ask:
        asked = ask(gate.statement)
        pipe = gate.enter()
        [pod] = harbour.busy_pods(pool)
        draining = harbour.drain(pod.spec.node_name)
        try:
            with pytest.raises(EvictionBlocked):
                harbour.dock.call(harbour.dock.client.evict(pod.metadata.name, NAMESPACE))
            assert draining.is_alive() and not asked.done()
            os.write(pipe, ROWS)
            os.close(pipe)
            assert asked.result(60) == (42,)
            draining.join(120)
            assert not draining.is_alive()
        finally:
            harbour.reopen(pod.spec.node_name)
        assert ask("SELECT 1").result(60) == (1,), "the session continues on another worker"


@pytest.mark.parametrize("safe", [False, True], ids=["a read", "a write that is marked as safe"])
def test_a_statement_that_may_run_twice_is_repeated_when_its_worker_dies(
    harbour: Harbour, gate: Gate, tmp_path: Path, safe: bool
) -> None:
    pool = harbour.pool(warm=2, max=3)
    harbour.database(pool)
    target = tmp_path / "out.csv"
    text = f"/* mooring:safe */ COPY ({gate.statement}) TO '{target}' (HEADER false)" if safe else gate.statement
    with harbour.gateway() as port, asking(port.url()) as ask:
        asked = ask(text)
        pipe = gate.enter()
        kill_the_busy_worker(harbour, pool)
        gate.reenter(pipe)
        os.write(pipe, ROWS)
        os.close(pipe)
        assert asked.result(60) == ("COPY 1" if safe else (42,))
    assert not safe or target.read_text() == "42\n"


def test_a_write_whose_worker_dies_gets_an_honest_error_and_the_session_continues(
    harbour: Harbour, gate: Gate, tmp_path: Path
) -> None:
    pool = harbour.pool(warm=2, max=3)
    harbour.database(pool)
    with harbour.gateway() as port, asking(port.url()) as ask:
        asked = ask(f"COPY ({gate.statement}) TO '{tmp_path / 'out.csv'}'")
        pipe = gate.enter()
        kill_the_busy_worker(harbour, pool)
        with pytest.raises(psycopg.OperationalError) as raised:
            asked.result(60)
        os.close(pipe)
        assert raised.value.sqlstate == "08007"
        assert ask("SELECT 1").result(60) == (1,)


def test_one_organisation_cannot_take_more_workers_than_its_limit(harbour: Harbour) -> None:
    pool = harbour.pool(warm=2, max=2, limits={"perOwner": 1})
    harbour.database(pool)
    harbour.database(pool, "globex", owner="globex")
    with harbour.gateway() as port, asking(port.url()) as first, asking(port.url()) as second:
        assert first("BEGIN").result(60) == "BEGIN"
        with pytest.raises(psycopg.errors.TooManyConnections):
            second("SELECT 1").result(60)
        with asking(port.url("globex")) as other:
            assert other("SELECT 1").result(60) == (1,)
        assert first("COMMIT").result(60) == "COMMIT"
        until(lambda: harbour.dock.open_claims(pool) == 0, 30, "idle sessions give their workers back")
        assert second("SELECT 1").result(60) == (1,)
