"""Live views in virtual time: who is told what, and what happens when one cannot be drawn."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hawser.clock import LoopClock
from mooring.dashboard import live
from mooring.dashboard.live import LiveViews, View
from mooring.dashboard.views import Selection
from mooring.model.errors import InvalidInput, Unavailable
from mooring.queries.events import CLIENT_QUEUE, COALESCE_SECONDS, HEARTBEAT_SECONDS, RING, EventHub
from mooring.queries.visibility import EVERYTHING
from packages.mooring.tests.pages.readings import NOON, AnyReadings, always

Shown = dict[str, str]


class Screen:
    """A page whose fragments the test decides."""

    def __init__(self) -> None:
        self.shows: Shown = {"box": "one"}
        self.failure: Exception | None = None
        self.seconds = 0.0
        self.renderings = 0

    async def render(self, _: Any, __: Selection, ___: Any) -> Shown:
        self.renderings += 1
        await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        return dict(self.shows)


@asynccontextmanager
async def live_views(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[EventHub, LiveViews, Screen]]:
    """A hub and live views that live as long as the test."""
    screen = Screen()
    monkeypatch.setitem(live.RENDERERS, "screen", screen.render)
    clock = LoopClock(NOON)
    hub = EventHub(clock)
    views = LiveViews(hub, AnyReadings(), clock)  # type: ignore[arg-type]
    running = [asyncio.create_task(hub.run()), asyncio.create_task(views.run())]
    try:
        yield hub, views, screen
        assert not any(task.done() for task in running)
    finally:
        for task in running:
            task.cancel()


async def hear(tab: AsyncIterator[bytes], within: float = 2 * COALESCE_SECONDS) -> tuple[str, Shown]:
    async with asyncio.timeout(within):
        message = (await anext(tab)).decode()
    event, data = message.strip().split("\n")
    shown = json.loads(data.removeprefix("data: "))
    shown.pop("strip", None)  # every page has it
    return event.removeprefix("event: "), shown


async def hear_change(tab: AsyncIterator[bytes]) -> tuple[str, Shown]:
    """The next message that is no beat."""
    while (message := await hear(tab)) == ("beat", {}):
        continue
    return message


async def test_a_tab_gets_everything_first_and_then_what_changed(monkeypatch: pytest.MonkeyPatch):
    async with live_views(monkeypatch) as (hub, views, screen):
        screen.shows = {"box": "one", "other": "same"}
        tab = views.watch(View("screen", Selection(), EVERYTHING), always)
        assert await hear(tab) == ("fragments", {"box": "one", "other": "same"})
        screen.shows = {"box": "two", "other": "same"}
        hub.publish("worker", "a")
        assert await hear_change(tab) == ("fragments", {"box": "two"})


async def test_boxes_that_come_or_go_make_the_tab_take_everything_anew(monkeypatch: pytest.MonkeyPatch):
    async with live_views(monkeypatch) as (hub, views, screen):
        tab = views.watch(View("screen", Selection(), EVERYTHING), always)
        await hear(tab)
        screen.shows = {"box": "one", "new": "box"}
        hub.publish("node", "new")
        assert await hear_change(tab) == ("reload", {})


async def test_a_change_that_does_not_concern_a_page_still_shows_that_the_stream_lives(monkeypatch: pytest.MonkeyPatch):
    async with live_views(monkeypatch) as (hub, views, _):
        tab = views.watch(View("screen", Selection(), EVERYTHING), always)
        await hear(tab)
        for _ in range(30):
            hub.publish("worker", "elsewhere")
            assert await hear(tab) == ("beat", {})


async def test_silence_is_filled_with_beats(monkeypatch: pytest.MonkeyPatch):
    async with live_views(monkeypatch) as (_, views, _):
        tab = views.watch(View("screen", Selection(), EVERYTHING), always)
        await hear(tab)
        assert await hear(tab, within=HEARTBEAT_SECONDS + 1) == ("beat", {})


@pytest.mark.parametrize("failure", [Unavailable("the ledger is away"), KeyError("a template's mistake")], ids=repr)
async def test_a_view_that_cannot_be_drawn_harms_nobody_and_comes_back(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
):
    async with live_views(monkeypatch) as (hub, views, screen):
        tab = views.watch(View("screen", Selection(), EVERYTHING), always)
        await hear(tab)
        screen.failure = failure
        hub.publish("worker", "a")
        await asyncio.sleep(2 * COALESCE_SECONDS)
        screen.failure, screen.shows = None, {"box": "again"}
        hub.publish("worker", "a")
        assert await hear_change(tab) == ("fragments", {"box": "again"})


async def test_a_tab_that_does_not_read_is_told_to_take_everything_anew(monkeypatch: pytest.MonkeyPatch):
    async with live_views(monkeypatch) as (hub, views, screen):
        tab = views.watch(View("screen", Selection(), EVERYTHING), always)
        await hear(tab)
        for number in range(live.TAB_QUEUE + 1):
            screen.shows = {"box": f"number {number}"}
            hub.publish("worker", "a")
            await asyncio.sleep(2 * COALESCE_SECONDS)
        assert await hear_change(tab) == ("reload", {})


async def test_many_different_views_take_at_most_half_of_the_time(monkeypatch: pytest.MonkeyPatch):
    async with live_views(monkeypatch) as (hub, views, screen):
        tabs = [views.watch(View("screen", Selection(q=str(number)), EVERYTHING), always) for number in range(50)]
        for tab in tabs:
            await hear(tab)
        screen.seconds, screen.renderings = 0.1, 0
        for _ in range(20):
            hub.publish("worker", "a")
            await asyncio.sleep(COALESCE_SECONDS)
        assert 90 <= screen.renderings <= 101, "of the 200 that fit into 20 s"


async def test_a_page_without_live_view_is_refused_before_the_stream_begins(monkeypatch: pytest.MonkeyPatch):
    async with live_views(monkeypatch) as (_, views, _):
        with pytest.raises(InvalidInput):
            views.watch(View("nope", Selection(), EVERYTHING), always)


async def test_what_happens_while_the_missed_is_told_is_not_missed(monkeypatch: pytest.MonkeyPatch):
    async with live_views(monkeypatch) as (hub, _, _):
        for number in range(3):
            hub.publish("worker", f"early-{number}")
            await asyncio.sleep(2 * COALESCE_SECONDS)
        listener = hub.listen(last_id=1)
        assert (await anext(listener)).changes == {"worker": ["early-1"]}
        hub.publish("worker", "meanwhile")
        await asyncio.sleep(2 * COALESCE_SECONDS)
        told = [await anext(listener) for _ in range(3)]
        assert [event.changes for event in told] == [{"worker": ["early-2"]}, {}, {"worker": ["meanwhile"]}]


async def test_a_listener_who_was_away_beyond_the_ring_or_falls_behind_is_told_to_resync(
    monkeypatch: pytest.MonkeyPatch,
):
    async with live_views(monkeypatch) as (hub, _, _):
        slow = hub.listen()
        await anext(slow)
        for number in range(RING + 2):
            hub.publish("worker", f"w-{number}")
            await asyncio.sleep(COALESCE_SECONDS)
        assert RING > CLIENT_QUEUE
        assert (await anext(slow)).type == "resync"
        assert (await anext(hub.listen(last_id=1))).type == "resync"
