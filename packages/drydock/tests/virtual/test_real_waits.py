"""Who waits in real time inside virtual time is refused."""

import asyncio
import socket
import threading
from datetime import UTC, datetime

import pytest

from drydock.virtual.loop import VirtualLoop, run_virtual
from drydock.virtual.real_waits import RealWait
from hawser.clock import SystemClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def open_connection() -> None:
    await asyncio.open_connection("127.0.0.1", 1)


async def use_a_thread() -> None:
    await asyncio.to_thread(print)


async def use_a_blocking_socket() -> None:
    with socket.socket() as plain:
        plain.connect(("127.0.0.1", 1))


async def run_a_program() -> None:
    await asyncio.create_subprocess_exec("true")


@pytest.mark.parametrize(
    "attempt",
    [open_connection, use_a_thread, use_a_blocking_socket, run_a_program],
)
def test_real_waiting_is_refused(attempt) -> None:
    with pytest.raises(RealWait):
        run_virtual(attempt, seed=1, start=START)


def test_real_waiting_is_free_again_afterwards() -> None:
    async def main() -> None:
        return None

    run_virtual(main, seed=1, start=START)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))


def test_another_thread_cannot_reach_into_virtual_time() -> None:
    loop = VirtualLoop(seed=1, start=START)
    refused: list[RealWait] = []

    def reach_in() -> None:
        try:
            loop.call_soon_threadsafe(print)
        except RealWait as error:
            refused.append(error)

    thread = threading.Thread(target=reach_in)
    thread.start()
    thread.join()
    assert refused


def test_code_that_needs_virtual_time_says_so_outside_of_it(run) -> None:
    async def main() -> None:
        VirtualLoop.running()

    with pytest.raises(RuntimeError, match="run_virtual"):
        run(main())


def test_the_system_clock_sleeps_in_virtual_time_too() -> None:
    async def main() -> float:
        await SystemClock().sleep(100)
        return asyncio.get_running_loop().time()

    assert run_virtual(main, seed=1, start=START) == 100
