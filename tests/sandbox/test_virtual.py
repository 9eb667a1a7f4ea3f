import asyncio
import gc
import socket
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from mooring.clock import Entropy, SystemClock
from mooring.sandbox.realwait import RealWait
from mooring.sandbox.virtual import Deadlock, Livelock, Unattended, VirtualLoop, run_virtual

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


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


def test_waiting_for_nothing_is_a_deadlock_that_names_who_waits_and_where() -> None:
    async def main() -> None:
        await asyncio.create_task(asyncio.Event().wait(), name="patient")

    with pytest.raises(Deadlock, match=r"(?s)nothing is ready.*patient at .*locks\.py"):
        run_virtual(main, seed=1, start=START)


def test_polling_without_waiting_is_a_livelock() -> None:
    loop = VirtualLoop(seed=1, start=START, livelock_turns=1000)

    async def main() -> None:
        while True:
            await loop.clock.sleep(0)

    with pytest.raises(Livelock, match="1000 turns"):
        loop.run_until_complete(main())
    loop.finish()
    loop.close()


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


def test_a_task_that_failed_and_was_dropped_ends_the_run_at_once() -> None:
    async def main() -> None:
        async def failing() -> None:
            raise ValueError("nobody looks")

        dropped = asyncio.create_task(failing())
        await VirtualLoop.running().clock.sleep(1)
        del dropped
        gc.collect()
        await VirtualLoop.running().clock.sleep(3600)
        pytest.fail("the run went on")

    with pytest.raises(ValueError, match="nobody looks"):
        run_virtual(main, seed=1, start=START)


def test_a_task_that_failed_and_was_kept_but_never_awaited_fails_the_run_at_its_end() -> None:
    kept = []

    async def main() -> str:
        async def failing(name: str) -> None:
            raise ValueError(name)

        kept.append(asyncio.create_task(failing("one")))
        kept.append(asyncio.create_task(failing("two")))
        await VirtualLoop.running().clock.sleep(1)
        return "done"

    with pytest.raises(ExceptionGroup) as failure:
        run_virtual(main, seed=1, start=START)
    assert sorted(str(error) for error in failure.value.exceptions) == ["one", "two"]


def test_a_failure_while_the_last_tasks_are_cancelled_is_seen() -> None:
    async def main() -> None:
        async def stubborn() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                raise ValueError("could not clean up")

        keep = asyncio.create_task(stubborn())
        await VirtualLoop.running().clock.sleep(1)
        assert not keep.done()

    with pytest.raises(ValueError, match="could not clean up"):
        run_virtual(main, seed=1, start=START)


def test_a_failing_callback_ends_the_run() -> None:
    async def main() -> None:
        VirtualLoop.running().call_later(5, [].pop)
        await VirtualLoop.running().clock.sleep(10)
        pytest.fail("the run went on")

    with pytest.raises(IndexError):
        run_virtual(main, seed=1, start=START)


def test_a_task_dropped_before_its_end_is_seen() -> None:
    async def main() -> None:
        async def waiting() -> None:
            await asyncio.get_running_loop().create_future()

        dropped = asyncio.create_task(waiting())
        await VirtualLoop.running().clock.sleep(1)
        del dropped
        gc.collect()
        await VirtualLoop.running().clock.sleep(1)
        pytest.fail("the run went on")

    with pytest.raises(Unattended, match="pending"):
        run_virtual(main, seed=1, start=START)


def test_a_failing_run_tells_its_seed_time_and_last_records() -> None:
    async def main() -> None:
        loop = VirtualLoop.running()
        await loop.clock.sleep(42)
        loop.trace.record("pod web-1 vanished")
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong") as failure:
        run_virtual(main, seed=77, start=START)
    told = "".join(failure.value.__notes__)
    assert "seed 77" in told
    assert "42.000000 pod web-1 vanished" in told


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
