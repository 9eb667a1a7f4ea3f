"""Writes of a term that is over are not sent; reads, and writes of nobody's term, are."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from hawser.transport import Request, Response
from mooring.engine.fence import FencedTransport, acting
from mooring.model.errors import StaleEpoch

WRITES = ["POST", "PUT", "PATCH", "DELETE"]


class Wire:
    """Answers everything, and counts it."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send(self, request: Request) -> Response:
        self.sent.append(request.method)
        return Response(200, {}, _nothing())


async def _nothing() -> AsyncIterator[bytes]:
    yield b""


@pytest.mark.parametrize("method", WRITES)
async def test_a_write_of_the_present_term_is_sent_and_of_a_past_one_refused(method: str) -> None:
    wire, term = Wire(), 7
    fenced = FencedTransport(wire, lambda: term)
    with acting(7):
        await fenced.send(Request(method, "/api/v1/x"))
        term = 8
        with pytest.raises(StaleEpoch, match="does not lead any more"):
            await fenced.send(Request(method, "/api/v1/x"))
    assert wire.sent == [method]


@pytest.mark.parametrize("method", WRITES)
async def test_a_write_that_began_while_nobody_led_is_refused_under_every_term(method: str) -> None:
    wire = Wire()
    with acting(0), pytest.raises(StaleEpoch):
        await FencedTransport(wire, lambda: 3).send(Request(method, "/api/v1/x"))
    assert wire.sent == []


async def test_reads_and_writes_outside_of_a_pass_are_not_fenced() -> None:
    wire = Wire()
    fenced = FencedTransport(wire, lambda: 0)
    with acting(5):
        await fenced.send(Request("GET", "/api/v1/x"))
    await fenced.send(Request("DELETE", "/api/v1/x"))
    assert wire.sent == ["GET", "DELETE"]


async def test_tasks_that_a_pass_starts_are_fenced_like_the_pass() -> None:
    wire, term = Wire(), 1
    fenced = FencedTransport(wire, lambda: term)
    with acting(1):
        task = asyncio.create_task(fenced.send(Request("PATCH", "/api/v1/x")))
    term = 2
    with pytest.raises(StaleEpoch):
        await task
    assert wire.sent == []
