import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from drydock.virtual.loop import VirtualLoop, run_virtual
from hawser.clock import Entropy

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.slow
def test_an_hour_of_five_hundred_workers_takes_seconds() -> None:
    async def main() -> datetime:
        clock = VirtualLoop.running().clock

        async def worker(index: int) -> None:
            for _ in range(120):
                async with asyncio.timeout(60):
                    await clock.sleep(30)

        async with asyncio.TaskGroup() as group:
            for index in range(500):
                group.create_task(worker(index))
        return clock.now()

    began = time.monotonic()
    assert run_virtual(main, seed=1, start=START) == START + timedelta(hours=1)
    assert time.monotonic() - began < 15


def test_time_jumps_to_each_timer_and_timers_of_one_instant_fire_in_the_order_they_were_set() -> None:
    async def main() -> list[tuple[float, str]]:
        loop = VirtualLoop.running()
        fired: list[tuple[float, str]] = []
        for delay, name in ((2.0, "late"), (0.5, "first"), (0.5, "second"), (0.5, "third")):
            loop.call_later(delay, lambda name=name: fired.append((loop.time(), name)))
        await loop.clock.sleep(3)
        return fired

    assert run_virtual(main, seed=4, start=START) == [(0.5, "first"), (0.5, "second"), (0.5, "third"), (2.0, "late")]


def race(seed: int | None) -> tuple[list[int], str]:
    async def main() -> tuple[list[int], str]:
        loop = VirtualLoop.running()
        order: list[int] = []

        async def racer(number: int) -> None:
            await loop.clock.sleep(1)
            order.append(number)
            loop.trace.record(f"racer {number}")

        async with asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(racer(number))
        return order, loop.trace.digest

    return run_virtual(main, seed=seed, start=START)


def test_without_a_seed_ready_tasks_run_first_in_first_out() -> None:
    assert race(None)[0] == list(range(12))


def test_a_seed_decides_the_order_and_repeats_it() -> None:
    orders = {tuple(race(seed)[0]) for seed in range(20)}
    assert len(orders) == 20
    assert race(7) == race(7)
    assert race(7)[1] != race(8)[1]


def test_tasks_cancelled_through_a_set_still_end_in_a_repeatable_order() -> None:
    def once() -> tuple[list[int], str]:
        async def main() -> tuple[list[int], str]:
            loop = VirtualLoop.running()
            ended: list[int] = []

            async def patient(number: int) -> None:
                try:
                    await loop.create_future()
                finally:
                    ended.append(number)

            async def failing() -> None:
                await loop.clock.sleep(1)
                raise ValueError("down we go")

            ballast = [bytearray(Entropy().below(4000) + 1) for _ in range(200)]  # moves the tasks' addresses
            with pytest.raises(ExceptionGroup):
                async with asyncio.TaskGroup() as group:
                    for number in range(30):
                        group.create_task(patient(number))
                    group.create_task(failing())
            assert ballast
            return ended, loop.trace.digest

        return run_virtual(main, seed=3, start=START)

    assert once() == once() == once()


def test_plain_callbacks_keep_their_order_and_are_not_overtaken() -> None:
    async def main() -> list[str]:
        loop = VirtualLoop.running()
        seen: list[str] = []

        async def note(name: str) -> None:
            seen.append(name)

        tasks = [asyncio.create_task(note(f"before-{index}")) for index in range(5)]
        loop.call_soon(seen.append, "callback")
        tasks += [asyncio.create_task(note(f"after-{index}")) for index in range(5)]
        await asyncio.wait(tasks)
        return seen

    for seed in range(10):
        seen = run_virtual(main, seed=seed, start=START)
        assert {name.split("-")[0] for name in seen[:5]} == {"before"}
        assert seen[5] == "callback"
        assert {name.split("-")[0] for name in seen[6:]} == {"after"}


def test_locks_queues_timeouts_and_task_groups_hold_under_every_order() -> None:
    async def main() -> int:
        clock = VirtualLoop.running().clock
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=3)
        lock = asyncio.Lock()
        inside = 0
        total = 0

        async def producer(number: int) -> None:
            for step in range(5):
                await queue.put(number * 10 + step)
                await clock.sleep(step % 3)

        async def consumer() -> None:
            nonlocal inside, total
            while True:
                try:
                    value = await asyncio.wait_for(queue.get(), timeout=20)
                except TimeoutError:
                    return
                async with lock:
                    inside += 1
                    assert inside == 1
                    await clock.sleep(0.1)
                    inside -= 1
                total += value

        async with asyncio.TaskGroup() as group:
            for number in range(6):
                group.create_task(producer(number))
            for _ in range(4):
                group.create_task(consumer())
        return total

    assert {run_virtual(main, seed=seed, start=START) for seed in range(30)} == {
        sum(number * 10 + step for number in range(6) for step in range(5))
    }


def test_async_generators_left_open_are_closed() -> None:
    closed = []

    async def main() -> None:
        async def numbers():
            try:
                yield 1
                yield 2
            finally:
                closed.append(True)

        generator = numbers()
        assert await anext(generator) == 1

    run_virtual(main, seed=1, start=START)
    assert closed == [True]


def test_generators_that_tasks_are_reading_when_the_run_ends_are_left_to_them() -> None:
    closed = []

    async def main() -> None:
        async def endless():
            try:
                while True:
                    await VirtualLoop.running().clock.sleep(1)
                    yield 1
            finally:
                closed.append(True)

        async def read() -> None:
            async for _ in endless():
                pass

        reading = asyncio.create_task(read())
        await VirtualLoop.running().clock.sleep(5.5)
        assert not reading.done()

    run_virtual(main, seed=1, start=START)
    assert closed == [True]


def test_cancelled_timers_do_not_pile_up() -> None:
    async def main() -> int:
        loop = VirtualLoop.running()
        for _ in range(20_000):
            async with asyncio.timeout(3600):
                await loop.clock.sleep(0)
        return len(loop._timers)

    assert run_virtual(main, seed=1, start=START) < 1000
