"""What goes wrong in a virtual run is seen: deadlocks, dropped tasks, failing callbacks."""

import asyncio
import gc
from datetime import UTC, datetime

import pytest

from drydock.virtual.loop import Deadlock, Livelock, Unattended, VirtualLoop, run_virtual

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


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
