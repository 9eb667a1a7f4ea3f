"""A limit that groups share: a group with many tasks leaves room for others."""

import asyncio
from collections import Counter

from mooring.engine.fair_limit import FairLimit


class Work:
    """Things that end when they are told to."""

    def __init__(self, most: int) -> None:
        self.limit = FairLimit(most)
        self.running: list[tuple[str, int, asyncio.Event]] = []

    def ask(self, whose: str, count: int) -> None:
        for number in range(count):
            self.limit.submit(whose, lambda number=number: asyncio.create_task(self._run(whose, number)))

    async def _run(self, whose: str, number: int) -> None:
        end = asyncio.Event()
        one = (whose, number, end)
        self.running.append(one)
        try:
            await end.wait()
        finally:
            self.running.remove(one)

    async def counts(self) -> Counter[str]:
        for _ in range(4):
            await asyncio.sleep(0)
        return Counter(whose for whose, _, _ in self.running)

    async def end(self, whose: str) -> list[int]:
        """End what it has under way; what that was."""
        found = [one for one in self.running if one[0] == whose]
        for _, _, end in found:
            end.set()
        await self.counts()
        return sorted(number for _, number, _ in found)


async def test_a_single_group_gets_half_of_the_limit_and_others_begin_at_once() -> None:
    work = Work(16)
    work.ask("slow", 100)
    assert await work.counts() == {"slow": 8}
    work.ask("slow too", 100)
    assert await work.counts() == {"slow": 8, "slow too": 4}
    for name in ("a", "b"):
        work.ask(name, 1)
    assert await work.counts() == {"slow": 8, "slow too": 4, "a": 1, "b": 1}
    work.limit.cancel()


async def test_waiting_tasks_begin_in_order_as_soon_as_there_is_room() -> None:
    work = Work(4)
    work.ask("pool", 5)
    await work.counts()
    ended = [await work.end("pool"), await work.end("pool"), await work.end("pool")]
    assert ended == [[0, 1], [2, 3], [4]]
    assert await work.counts() == {}


async def test_a_task_that_is_no_longer_needed_takes_no_room() -> None:
    work = Work(4)
    for _ in range(50):
        work.limit.submit("gone", lambda: None)
    work.ask("pool", 2)
    assert await work.counts() == {"pool": 2}
    work.limit.cancel()
    assert await work.counts() == {}
