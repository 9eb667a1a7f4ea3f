import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from drydock.faults import Answer, CutStream, FailStream, Refuse, ReplayOldEvents, Rule, SilenceStream, StaleRead
from hawser.transport import Request, Response
from packages.hawser.tests.tiny_api import World


async def survives_expiry(world: World) -> None:
    for name in ("kept", "changed", "gone"):
        world.api.put(name)
    async with world.synced():
        world.changes.clear()
        await world.clock.sleep(10)
        world.api.put("changed")
        last_known = world.reflector.cache.get("default", "gone")
        world.api.delete("gone")
        world.api.put("new")
        world.api.forget()
        deleted: list[Any] = []
        world.reflector.subscribe(lambda change: deleted.append(change.old) if change.kind == "deleted" else None)
        await world.clock.sleep(100)
        assert world.held == world.true
        assert set(world.changes) == {("modified", "changed"), ("added", "new"), ("deleted", "gone")}
        assert deleted == [last_known]
        assert world.reflector.health.relists == 1


async def test_410_as_an_answer_means_list_compare_and_report_what_is_gone() -> None:
    await survives_expiry(World(Rule(CutStream(0, "broken"), times=1), Rule(Refuse(), watch=True, until_seconds=12)))


async def test_410_inside_the_stream_means_the_same() -> None:
    world = World(Rule(Refuse(), watch=True, until_seconds=12), Rule(FailStream(0), since_seconds=12, times=1))
    world.api.forget = lambda: None  # type: ignore[method-assign]
    await survives_expiry(world)
    assert world.transport.process.fired["FailStream"] == 1


async def test_410_again_and_again_does_not_become_a_storm_of_lists() -> None:
    async with World(Rule(FailStream(0))).synced() as world:
        await world.clock.sleep(600)
        assert 15 < len(world.api.lists) < 80


async def test_a_page_that_expires_starts_the_list_again_and_nothing_partial_is_seen() -> None:
    world = World(Rule(Answer(410, "Expired"), path="pods", nth=frozenset({2})), page_size=2)
    for name in "abcde":
        world.api.put(name)
    async with world.synced():
        assert [dict(request.query).get("continue") for request in world.api.lists] == [None, None, "2 105", "4 105"]
        assert world.held == world.true


async def test_a_silent_watch_is_a_fault_that_is_reported_and_left() -> None:
    async with World(Rule(SilenceStream(1), times=1)).synced() as world:
        world.api.put("heard")
        await world.clock.sleep(1)
        world.api.put("unheard")
        await world.clock.sleep(100)
        assert "unheard" not in world.held
        assert world.reflector.health.last_event_age_seconds == pytest.approx(101)
        await world.clock.sleep(55)
        assert world.held == world.true
        assert world.reflector.health.silences == 1
        assert len(world.api.lists) == 2
        assert not world.reflector.health.fresh, "the watch missed something: it is believed again after an event"
        world.api.put("heard again")
        await world.clock.sleep(1)
        assert world.reflector.health.fresh


async def test_a_watch_of_a_kind_that_never_changes_is_quiet_and_not_at_fault() -> None:
    """An API server sends no bookmarks for a kind of which it has seen no change."""
    async with World(Rule(SilenceStream())).synced() as world:
        for _ in range(20):
            await world.clock.sleep(60)
            assert world.reflector.health.fresh
        assert world.reflector.health.silences == 8
        assert len(world.api.lists) == 9  # each silence is checked by a list


async def test_a_watch_that_stays_silent_keeps_its_error_and_age_visible() -> None:
    async with World(Rule(SilenceStream())).synced() as world:
        ages = []
        for minute in range(20):
            world.api.put(f"unheard-{minute}")
            await world.clock.sleep(60)
            ages.append(world.reflector.health.last_event_age_seconds)
        assert ages == sorted(ages)
        assert ages[-1] > 1100
        assert not world.reflector.health.fresh
        assert world.reflector.health.silences == 8  # each left after 150 s, without a further wait


async def test_a_watch_that_outlives_its_end_is_left() -> None:
    world = World()
    send = world.api.send

    async def send_without_end(request: Request) -> Response:
        query = tuple((key, "999999" if key == "timeoutSeconds" else value) for key, value in request.query)
        return await send(dataclasses.replace(request, query=query))

    world.api.send = send_without_end  # type: ignore[method-assign]
    async with world.synced():
        for _ in range(70):
            world.api.put("a")
            await world.clock.sleep(20)
        assert 3 <= len(world.api.watches) <= 5
        assert world.held == world.true


async def test_a_line_cut_short_reconnects_from_the_last_whole_one() -> None:
    async with World(Rule(CutStream(2, "inside"), times=1)).synced() as world:
        for name in "abcd":
            world.api.put(name)
        await world.clock.sleep(10)
        assert world.held == world.true
        assert world.changes == [("added", name) for name in "abcd"]
        assert dict(world.api.watches[1].query)["resourceVersion"] == "102"


async def test_events_that_come_again_and_late_are_ignored() -> None:
    async with World(Rule(ReplayOldEvents())).synced() as world:
        for round_ in range(20):
            world.api.put("a")
            world.api.put("b")
            if round_ % 3 == 0:
                world.api.delete("b")
        await world.clock.sleep(1)
        assert world.held == world.true
        assert len(world.changes) == 47
        assert world.reflector.version == world.api.version
        assert len(world.api.lists) == 1


async def test_a_list_from_a_server_that_lags_deletes_and_sets_back_nothing() -> None:
    rules = (
        Rule(FailStream(2), times=1),
        Rule(StaleRead(), since_seconds=5, until_seconds=60),
    )
    world = World(*rules)
    world.api.put("old")
    async with world.synced():
        await world.clock.sleep(9)
        world.api.put("new")
        world.api.put("old")
        world.changes.clear()
        await world.clock.sleep(40)
        assert world.held == world.true
        assert world.changes == [("added", "new"), ("modified", "old")]
        assert world.reflector.health.stale_lists > 0
        assert "held at 103" in world.reflector.health.last_error
        await world.clock.sleep(100)
        assert world.reflector.health.last_error == ""
        assert ("deleted", "new") not in world.changes
        world.api.put("newest")
        await world.clock.sleep(1)
        assert world.held == world.true


async def test_pages_of_different_versions_are_no_list() -> None:
    world = World(page_size=2)
    for name in "abcd":
        world.api.put(name)
    told = world.api.list_answer
    drifting = iter([False, True])

    def drift(query: Mapping[str, str]) -> Response:
        return told({**query, "continue": "2 99"} if next(drifting, False) else query)

    world.api.list_answer = drift  # type: ignore[method-assign]
    async with world.synced():
        assert world.held == world.true
        assert world.reflector.health.stale_lists == 1


async def test_a_version_ahead_of_the_server_means_wait_and_list() -> None:
    too_new = Answer(504, "Timeout", retry_after_seconds=1, cause="ResourceVersionTooLarge")
    async with World(Rule(too_new, watch=True, times=2)).synced() as world:
        await world.clock.sleep(20)
        assert len(world.api.lists) == 3
        world.api.put("a")
        await world.clock.sleep(1)
        assert world.held == world.true


async def test_a_version_that_the_server_does_not_understand_means_list() -> None:
    async with World(Rule(Answer(400, "BadRequest"), watch=True, times=1)).synced() as world:
        await world.clock.sleep(10)
        assert len(world.api.lists) == 2


@pytest.mark.parametrize("status", [429, 503])
async def test_the_servers_wish_when_to_come_back_is_kept(status: int) -> None:
    world = World(Rule(Answer(status, retry_after_seconds=20), watch=False, times=2))
    began = world.clock.monotonic()
    async with world.synced():
        assert world.clock.monotonic() - began >= 40
        assert len(world.transport.calls) == 4


async def test_an_absurd_wish_is_not_kept_for_ever() -> None:
    async with World(Rule(Answer(429, retry_after_seconds=10**6), watch=False, times=1)).synced() as world:
        assert world.clock.monotonic() < 100


async def test_failures_back_off_and_success_starts_over() -> None:
    async with World(Rule(Refuse(), until_seconds=600)).running() as world:
        await world.clock.sleep(600)
        assert 25 < len(world.transport.calls) < 90
        assert "refused" in world.reflector.health.last_error
        await world.reflector.wait_synced()
        world.api.put("a")
        await world.clock.sleep(1)
        assert world.reflector._backoff.next_seconds() <= 0.8


async def test_a_server_that_ends_every_watch_at_once_is_not_hammered() -> None:
    async with World(Rule(CutStream(0))).synced() as world:
        await world.clock.sleep(600)
        assert 15 < len(world.api.watches) < 80


@pytest.mark.parametrize("status", [401, 403, 404, 500])
async def test_refusals_leave_the_cache_as_it_is(status: int) -> None:
    world = World(Rule(CutStream(0), times=1), Rule(Answer(status), watch=True, times=3))
    world.api.put("a")
    async with world.synced():
        world.api.put("b")
        await world.clock.sleep(60)
        assert world.held == world.true
        assert ("deleted", "a") not in world.changes
        assert len(world.api.lists) == 1
