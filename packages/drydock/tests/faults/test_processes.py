"""Processes that crash at a call, and stay dead until they are restarted."""

import asyncio
from typing import Any

import pytest

from drydock.faults import (
    Crash,
    Crashed,
    Delay,
    FaultyTransport,
    Rule,
)
from drydock.virtual.loop import VirtualLoop
from hawser.transport import Request
from packages.drydock.tests.faults.server import (
    GET,
    PODS,
    POST,
    WATCH,
    Server,
    faulty,
)


@pytest.mark.parametrize(("moment", "carried_out"), [("before", 0), ("after", 1)])
async def test_a_crashed_process_stays_dead_until_it_is_restarted(moment: Any, carried_out: int) -> None:
    server = Server()
    transport = faulty(server, Rule(Crash(moment), nth=frozenset({2})))
    await transport.send(GET)
    with pytest.raises(Crashed):
        await transport.send(POST)
    assert len(server.seen) == 1 + carried_out
    with pytest.raises(Crashed):
        await transport.send(POST)
    assert len(server.seen) == 1 + carried_out
    transport.process.restart()
    await transport.send(GET)
    assert [call.life for call in transport.calls] == [1, 1, 2]


def test_a_crash_is_not_caught_by_except_exception() -> None:
    assert not issubclass(Crashed, Exception)


async def test_a_call_under_way_and_an_open_watch_die_with_the_process() -> None:
    server = Server()
    server.events = [(1, b"one\n"), (5, b"two\n")]
    transport = faulty(server, Rule(Delay(3), resource="nodes"))
    watch = await transport.send(WATCH)
    assert await anext(aiter(watch)) == b"one\n"
    slow = asyncio.create_task(transport.send(Request("POST", "/api/v1/nodes")))
    await VirtualLoop.running().clock.sleep(1)
    transport.process.crash("power cut")
    transport.process.restart()
    with pytest.raises(Crashed):
        await slow
    with pytest.raises(Crashed):
        await anext(aiter(watch))
    assert all(request.method != "POST" for request in server.seen)


async def test_a_sweep_finds_every_call_and_can_crash_at_each() -> None:
    async def app(transport: FaultyTransport) -> None:
        await transport.send(GET)
        await transport.send(POST)
        await transport.send(Request("DELETE", PODS + "/a"))

    clean = faulty(Server())
    await app(clean)
    carried_out = []
    for call in clean.calls:
        for moment in ("before", "after"):
            server = Server()
            with pytest.raises(Crashed):
                await app(faulty(server, Rule(Crash(moment), nth=frozenset({call.index + 1}))))
            carried_out.append(len(server.seen))
    assert carried_out == [0, 1, 1, 2, 2, 3]
