"""Something open in a thread of its own, and what goes wrong there."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from drydock.hosting import hosted


@asynccontextmanager
async def number(log: list[str]) -> AsyncIterator[int]:
    log.append("open")
    yield 7
    log.append("closed")


async def thread_name() -> str:
    return threading.current_thread().name


def test_it_is_open_for_the_block_and_work_runs_in_its_thread() -> None:
    log: list[str] = []
    with hosted(lambda: number(log), "keeper") as host:
        assert (host.value, log) == (7, ["open"])
        assert host.run(thread_name()) == "keeper"
    assert log == ["open", "closed"]


def test_a_failure_to_open_is_raised_where_it_was_asked_for() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[int]:
        raise ValueError("no luck")
        yield 1

    with pytest.raises(ValueError, match="no luck"), hosted(broken):
        pytest.fail("it is not open")


def test_a_failure_to_close_is_raised_at_the_end_of_the_block() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[int]:
        yield 1
        raise ValueError("no end")

    with pytest.raises(ValueError, match="no end"), hosted(broken) as host:
        assert host.value == 1


def test_work_that_takes_too_long_is_cancelled() -> None:
    cancelled = threading.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with hosted(lambda: number([])) as host:
        with pytest.raises(TimeoutError):
            host.run(endless(), timeout_seconds=0.05)
        assert cancelled.wait(5)


def test_an_error_in_the_block_still_closes_it() -> None:
    log: list[str] = []
    with pytest.raises(KeyError), hosted(lambda: number(log)):
        raise KeyError
    assert log == ["open", "closed"]
