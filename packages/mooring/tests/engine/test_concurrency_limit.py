"""The limit, against a simulated API server: each request takes a core for a while, and time on the network."""

import asyncio
from dataclasses import dataclass, field

import pytest

from hawser.clock import LoopClock
from mooring.engine.concurrency_limit import LEAST, ConcurrencyLimit
from packages.testing.coroutines import START

CORES = 2
WORK_SECONDS = 0.004
BURST = 300
CLOCK = LoopClock(START)


@dataclass
class Server:
    """First come, first served."""

    cores: int = CORES
    away_seconds: float = 0.001
    _free: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.cores)

    async def work(self) -> None:
        await CLOCK.sleep(self.away_seconds / 2)
        async with self._free:
            await CLOCK.sleep(WORK_SECONDS)
        await CLOCK.sleep(self.away_seconds / 2)


async def limited(limit: ConcurrencyLimit, server: Server) -> float:
    """Work within the limit; when it was over."""
    began_at = await limit.acquire()
    try:
        await server.work()
    finally:
        limit.release(began_at, complete=True)
    return CLOCK.monotonic()


async def burst(limit: ConcurrencyLimit, server: Server, count: int = BURST) -> list[float]:
    """The seconds after which each of them was over, in order."""
    began = CLOCK.monotonic()
    ends = await asyncio.gather(*(limited(limit, server) for _ in range(count)))
    return sorted(end - began for end in ends)


async def test_a_busy_server_gets_as_many_as_keep_it_busy():
    limit, server = ConcurrencyLimit(CLOCK), Server()
    for _ in range(5):
        ends = await burst(limit, server)
        assert ends[-1] < BURST * WORK_SECONDS / CORES * 1.05, "the server had no pause"
        assert ends[BURST // 2] < ends[-1] * 0.55, "half of them are over after half of the time"
    assert limit.current == LEAST


async def test_a_server_far_away_gets_more_at_once():
    limit = ConcurrencyLimit(CLOCK, least=4, most=16)
    for _ in range(2):
        await burst(limit, Server(cores=1_000, away_seconds=0.2))
    assert limit.current == 16


async def test_a_server_that_becomes_busy_gets_fewer_again():
    limit = ConcurrencyLimit(CLOCK, least=4, most=16)
    for _ in range(2):
        await burst(limit, Server(cores=1_000))
    assert limit.current == 16
    for _ in range(2):
        await burst(limit, Server(cores=1))
    assert limit.current <= 6


async def test_work_without_a_queue_leaves_the_number_as_it_is():
    limit, server = ConcurrencyLimit(CLOCK), Server()
    for _ in range(500):
        await limited(limit, server)
    assert limit.current == LEAST


async def test_the_first_come_is_the_first_served():
    limit = ConcurrencyLimit(CLOCK, least=1)
    came: list[int] = []
    served: list[int] = []

    async def work(number: int) -> None:
        came.append(number)
        began_at = await limit.acquire()
        served.append(number)
        await CLOCK.sleep(1)
        limit.release(began_at, complete=True)

    await asyncio.gather(*map(work, range(5)))
    assert served == came and len(served) == 5


@pytest.mark.parametrize("after_seconds", [0.5, 1.0, 1.5])
async def test_a_request_that_stops_waiting_takes_no_place(after_seconds: float):
    limit = ConcurrencyLimit(CLOCK, least=1)

    async def work() -> None:
        began_at = await limit.acquire()
        try:
            await CLOCK.sleep(1)
        finally:
            limit.release(began_at, complete=False)

    tasks = [asyncio.create_task(work()) for _ in range(4)]
    await CLOCK.sleep(after_seconds)
    tasks[1].cancel()
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(1):
        await work_alone(limit)


async def work_alone(limit: ConcurrencyLimit) -> None:
    limit.release(await limit.acquire(), complete=True)
