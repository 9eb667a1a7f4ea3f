"""Faults inside a watch: events that vanish, repeat, lag, and streams that break."""

import asyncio

import msgspec
import pytest

from drydock.faults import (
    CutStream,
    DropEvents,
    FailStream,
    LagEvents,
    RepeatEvents,
    ReplayOldEvents,
    Rule,
    SilenceStream,
)
from hawser.errors import ConnectionFailed
from packages.drydock.tests.faults.server import (
    WATCH,
    Server,
    faulty,
    lines_read,
    now,
)


async def watched(events: list[tuple[float, bytes]], *rules: Rule) -> list[bytes]:
    server = Server()
    server.events = events
    lines = await lines_read(await faulty(server, *rules).send(WATCH))
    assert server.closed == 1
    return lines


EVENTS = [(float(second), f'{{"number": {second}}}\n'.encode()) for second in range(1, 6)]


LINES = [line for _, line in EVENTS]


async def test_events_can_vanish_repeat_and_come_again() -> None:
    assert await watched(EVENTS, Rule(DropEvents())) == []
    assert 0 < len(await watched(EVENTS, Rule(DropEvents(0.75)))) < 5
    assert await watched(EVENTS, Rule(RepeatEvents())) == [line for line in LINES for _ in range(2)]
    replayed = await watched(EVENTS, Rule(ReplayOldEvents()))
    assert len(replayed) == 9
    assert all(replayed[odd] in LINES[: odd // 2 + 1] for odd in range(2, 9, 2))


async def test_late_events_lag_by_the_same_time_each_in_order() -> None:
    async def main() -> list[tuple[float, bytes]]:
        server = Server()
        server.events = EVENTS
        response = await faulty(server, Rule(LagEvents(30))).send(WATCH)
        return [(now(), line) async for line in response]

    assert await main() == [(at + 30, line) for at, line in EVENTS]


async def test_a_lagging_watch_can_be_closed_and_passes_failures_on() -> None:
    server = Server()
    server.events = EVENTS
    response = await faulty(server, Rule(LagEvents(30))).send(WATCH)
    assert await anext(aiter(response)) == LINES[0]
    await response.close()
    broken = await faulty(server, Rule(CutStream(2, "broken")), Rule(LagEvents(30))).send(WATCH)
    with pytest.raises(ConnectionFailed):
        await lines_read(broken)


async def test_a_watch_can_be_cut_cleanly_inside_a_line_or_broken() -> None:
    assert await watched(EVENTS, Rule(CutStream(2))) == LINES[:2]
    *whole, part = await watched(EVENTS, Rule(CutStream(2, "inside")))
    assert whole == LINES[:2]
    assert 0 < len(part) < len(LINES[2])
    assert LINES[2].startswith(part)
    with pytest.raises(ConnectionFailed):
        await watched(EVENTS, Rule(CutStream(0, "broken")))


async def test_a_silent_watch_stays_open_and_says_nothing() -> None:
    server = Server()
    server.events = EVENTS
    stream = aiter(await faulty(server, Rule(SilenceStream(1))).send(WATCH))
    assert await anext(stream) == LINES[0]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await anext(stream)


async def test_an_error_can_come_inside_the_stream() -> None:
    *before, error = await watched(EVENTS, Rule(FailStream(3)))
    assert before == LINES[:3]
    decoded = msgspec.json.decode(error)
    assert decoded["type"] == "ERROR"
    assert decoded["object"]["code"] == 410


async def test_chunks_are_cut_into_whole_lines_first() -> None:
    text = b"".join(LINES)
    chunks = [(1.0, text[at : at + 7]) for at in range(0, len(text), 7)]
    assert await watched(chunks, Rule(CutStream(3))) == LINES[:3]
