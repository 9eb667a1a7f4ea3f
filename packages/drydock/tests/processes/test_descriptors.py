"""Pipes and terminals without blocking, under the loops that clusters run on."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from drydock.processes.descriptors import Descriptor

Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    return asyncio.run if request.param == "asyncio" else uvloop.run


def _pipe() -> tuple[Descriptor, Descriptor]:
    reading, writing = os.pipe()
    return Descriptor(reading), Descriptor(writing)


def test_more_than_a_pipe_holds_goes_through_it(run: Run) -> None:
    async def main() -> None:
        reading, writing = _pipe()

        async def write() -> None:
            await writing.write(b"x" * (1 << 20))
            writing.close()

        task = asyncio.create_task(write())
        size = 0
        while data := await reading.read():
            size += len(data)
        await task
        reading.close()
        assert size == 1 << 20

    run(main())


def test_a_reader_that_is_gone_breaks_the_pipe(run: Run) -> None:
    async def main() -> None:
        reading, writing = _pipe()
        filling = asyncio.create_task(writing.write(b"x" * (1 << 20)))
        await asyncio.sleep(0.02)
        reading.close()
        with pytest.raises(BrokenPipeError):
            await filling
        writing.close()

    run(main())


def test_closing_wakes_whoever_waits(run: Run) -> None:
    async def main() -> None:
        reading, writing = _pipe()
        waiting = asyncio.create_task(reading.read())
        await asyncio.sleep(0.02)
        reading.close()
        reading.close()
        assert await waiting == b""
        writing.close()
        with pytest.raises(BrokenPipeError):
            await writing.write(b"x")

    run(main())


def test_a_cancelled_read_loses_nothing(run: Run) -> None:
    async def main() -> None:
        reading, writing = _pipe()
        waiting = asyncio.create_task(reading.read())
        await asyncio.sleep(0.02)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await writing.write(b"kept")
        assert await reading.read() == b"kept"
        reading.close()
        writing.close()

    run(main())


def test_a_terminal_that_was_left_is_at_its_end(run: Run) -> None:
    async def main() -> None:
        master, slave = os.openpty()
        terminal = Descriptor(master)
        os.write(slave, b"bye")
        assert await terminal.read() == b"bye"
        waiting = asyncio.create_task(terminal.read())
        await asyncio.sleep(0.02)
        os.close(slave)
        assert await waiting == b""
        terminal.close()

    run(main())
