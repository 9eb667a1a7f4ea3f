"""The queue of keys, own writes laid over a cache, and which pods are selected."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.own_writes import OwnWrites
from drydock.actors.machinery.selection import Selection
from drydock.virtual.loop import VirtualLoop
from hawser.clock import LoopClock
from hawser.errors import ConnectionFailed
from hawser.fitting.selectors import compile_map, compile_selector

START = datetime(2026, 3, 1, tzinfo=UTC)
Object = dict[str, Any]


async def play(reconcile: Any, script: Any, *, seconds: float = 1000.0) -> None:
    """Run a loop while a script adds keys."""
    clock = VirtualLoop.running().clock
    loop: ReconcileLoop[str] = ReconcileLoop("test", lambda key: reconcile(clock, key), clock, workers=3)
    task = asyncio.create_task(loop.run())
    await script(clock, loop)
    await clock.sleep(seconds)
    task.cancel()


async def test_a_key_added_many_times_is_worked_on_once() -> None:
    seen: list[str] = []

    async def reconcile(clock: LoopClock, key: str) -> None:
        seen.append(key)

    async def script(clock: LoopClock, loop: ReconcileLoop[str]) -> None:
        for key in ("a", "b", "a", "a"):
            loop.add(key)

    await play(reconcile, script)
    assert sorted(seen) == ["a", "b"]


async def test_a_key_added_while_it_is_worked_on_is_worked_on_again_and_never_twice_at_once() -> None:
    at_work: list[str] = []
    seen: list[float] = []

    async def reconcile(clock: LoopClock, key: str) -> None:
        assert not at_work
        at_work.append(key)
        seen.append(clock.monotonic())
        await clock.sleep(10)
        at_work.remove(key)

    async def script(clock: LoopClock, loop: ReconcileLoop[str]) -> None:
        loop.add("a")
        await clock.sleep(1)
        for _ in range(3):
            loop.add("a")

    await play(reconcile, script)
    assert seen == [0.0, 10.0]


async def test_a_failing_key_is_retried_with_a_growing_delay_until_it_succeeds() -> None:
    seen: list[float] = []

    async def reconcile(clock: LoopClock, key: str) -> None:
        seen.append(round(clock.monotonic(), 3))
        if len(seen) < 4:
            raise ConnectionFailed("not now")

    async def script(clock: LoopClock, loop: ReconcileLoop[str]) -> None:
        loop.add("a")

    await play(reconcile, script)
    assert seen == [0.0, 0.1, 0.3, 0.7]


async def test_the_longest_retry_is_a_minute() -> None:
    seen: list[float] = []

    async def reconcile(clock: LoopClock, key: str) -> None:
        seen.append(clock.monotonic())
        raise ConnectionFailed("never")

    async def script(clock: LoopClock, loop: ReconcileLoop[str]) -> None:
        loop.add("a")

    await play(reconcile, script)
    assert round(seen[-1] - seen[-2]) == 60


async def test_of_several_wishes_for_later_the_earliest_counts() -> None:
    seen: list[float] = []

    async def reconcile(clock: LoopClock, key: str) -> None:
        seen.append(clock.monotonic())

    async def script(clock: LoopClock, loop: ReconcileLoop[str]) -> None:
        loop.add_after("a", 20)
        loop.add_after("a", 5)
        loop.add_after("a", 30)
        loop.add_after("b", 7)
        loop.forget_wish("b")

    await play(reconcile, script)
    assert seen == [5.0]


async def test_what_reconcile_returns_is_when_it_wants_the_key_again() -> None:
    seen: list[float] = []

    async def reconcile(clock: LoopClock, key: str) -> float | None:
        seen.append(clock.monotonic())
        return 30.0 if len(seen) < 3 else None

    async def script(clock: LoopClock, loop: ReconcileLoop[str]) -> None:
        loop.add("a")

    await play(reconcile, script)
    assert seen == [0.0, 30.0, 60.0]


# -- own writes


def versioned(uid: str, version: int, **metadata: Any) -> Object:
    return {"metadata": {"name": uid, "uid": uid, "resourceVersion": str(version), **metadata}}


async def test_a_created_object_counts_before_the_cache_shows_it() -> None:
    writes = OwnWrites(VirtualLoop.running().clock)
    writes.wrote("owner", versioned("p", 5))
    assert writes.over("owner", []) == [versioned("p", 5)]
    assert writes.over("other", []) == []
    assert writes.over("owner", [versioned("p", 5)]) == [versioned("p", 5)]
    assert writes.over("owner", []) == []  # seen once, it is the cache's business


async def test_an_older_version_in_the_cache_is_covered_by_the_own_newer_one() -> None:
    writes = OwnWrites(VirtualLoop.running().clock)
    writes.wrote("owner", versioned("p", 7))
    assert writes.over("owner", [versioned("p", 6)]) == [versioned("p", 7)]
    assert writes.over("owner", [versioned("p", 8)]) == [versioned("p", 8)]


async def test_a_deleted_object_is_on_its_way_out_until_the_cache_says_so_too() -> None:
    writes = OwnWrites(VirtualLoop.running().clock)
    writes.deleted("owner", versioned("p", 7))
    [shown] = writes.over("owner", [versioned("p", 8)])
    assert shown["metadata"]["deletionTimestamp"] == "2026-03-01T12:00:00Z"
    going = versioned("p", 9, deletionTimestamp="2026-03-01T12:00:30Z")
    assert writes.over("owner", [going]) == [going]
    assert writes.over("owner", [versioned("p", 8)]) == [versioned("p", 8)]


async def test_an_object_the_cache_saw_disappear_is_forgotten() -> None:
    writes = OwnWrites(VirtualLoop.running().clock)
    writes.wrote("owner", versioned("p", 5))
    writes.gone("owner", "p")
    assert writes.over("owner", []) == []


async def test_a_write_the_cache_never_shows_is_believed_for_five_minutes() -> None:
    clock = VirtualLoop.running().clock
    writes = OwnWrites(clock)
    writes.wrote("owner", versioned("p", 5))
    await clock.sleep(299)
    assert len(writes.over("owner", [])) == 1
    await clock.sleep(2)
    assert writes.over("owner", []) == []


# -- selection


def labelled(name: str, **labels: str) -> Object:
    return {"metadata": {"name": name, "namespace": "ns", "labels": labels}}


def test_pods_come_and_go_under_selectors() -> None:
    selection = Selection()
    web, everything = ("ns", "web"), ("ns", "all")
    selection.select(web, compile_map({"app": "web"}), [labelled("p", app="web"), labelled("q")])
    selection.select(everything, compile_selector({}), [labelled("p", app="web"), labelled("q")])
    assert selection.members(web) == [("ns", "p")]
    assert selection.place(labelled("q", app="web")) == [web, everything]
    assert selection.members(web) == [("ns", "p"), ("ns", "q")]
    assert selection.place(labelled("p")) == [everything, web]
    assert selection.members(web) == [("ns", "q")]
    assert selection.remove(("ns", "q")) == [web, everything]
    assert selection.members(web) == []
    selection.drop(everything)
    assert selection.selectors_of(("ns", "p")) == []


def test_selectors_do_not_reach_into_other_namespaces() -> None:
    selection = Selection()
    selection.select(("other", "web"), compile_selector({}), [])
    assert selection.place(labelled("p")) == []


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not compile_selector(None)({"a": "b"})
    assert compile_selector({})({})
    assert not compile_map({})({"a": "b"})
    both = compile_selector({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]})
    assert both({"a": "1", "b": ""}) and not both({"a": "1"}) and not both({"b": ""})
