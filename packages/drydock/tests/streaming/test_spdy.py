"""Streams over SPDY: opened by the client, closed by both, and cut with the connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from drydock.streaming.carrier import Idleness
from drydock.streaming.spdy import SpdyConnection, SpdyStream, StreamRefused
from drydock.streaming.spdy_frames import INVALID_STREAM, REFUSED_STREAM, Data, Ping, Reset, SynReply
from hawser.clock import SystemClock
from packages.drydock.tests.streaming.memory import MemoryCarrier, SpdyClient

pytestmark = pytest.mark.realtime


class _Served:
    """A connection that is served, and the client at its other end."""

    def __init__(self) -> None:
        self.carrier = MemoryCarrier()
        self.client = SpdyClient(self.carrier)
        self.connection = SpdyConnection(self.carrier, Idleness(SystemClock(), 1.0))
        self.streams: list[SpdyStream] = []

    def accept(self, stream: SpdyStream) -> None:
        if "unwanted" in stream.headers:
            raise StreamRefused("so it says")
        self.streams.append(stream)

    async def open(self) -> tuple[int, SpdyStream]:
        identity = self.client.open(streamtype="data")
        assert await self.client.frame() == SynReply(identity, {})
        return identity, self.streams[-1]


@asynccontextmanager
async def serving() -> AsyncIterator[_Served]:
    served = _Served()
    async with asyncio.TaskGroup() as group:
        group.create_task(served.connection.run(served.accept))
        try:
            async with asyncio.timeout(10):
                yield served
        finally:
            served.carrier.vanish()


async def test_a_stream_carries_both_ways_and_each_end_closes_its_own() -> None:
    async with serving() as served:
        identity, stream = await served.open()
        served.client.write(identity, b"ping", fin=True)
        assert [await stream.read(), await stream.read()] == [b"ping", b""]
        await stream.write(b"pong")
        await stream.close()
        assert await served.client.data(identity) == b"pong"


async def test_a_stream_that_is_not_wanted_is_reset() -> None:
    async with serving() as served:
        identity = served.client.open(unwanted="yes")
        assert await served.client.frame() == Reset(identity, REFUSED_STREAM)
        assert not served.streams


async def test_data_for_a_stream_that_never_was_is_answered_with_a_reset() -> None:
    async with serving() as served:
        served.client.write(99, b"?")
        assert await served.client.frame() == Reset(99, INVALID_STREAM)


async def test_late_data_for_a_closed_stream_is_passed_over() -> None:
    async with serving() as served:
        identity, stream = await served.open()
        served.client.write(identity, b"", fin=True)
        assert await stream.read() == b""
        await stream.close()
        served.client.write(identity, b"late")
        served.client.send(Ping(1))
        assert await served.client.until(Ping(1)) == [Data(identity, b"", fin=True), Ping(1)]


async def test_a_reset_ends_reading_and_makes_writing_fail_also_after_the_client_has_closed() -> None:
    async with serving() as served:
        identity, stream = await served.open()
        served.client.write(identity, b"", fin=True)
        served.client.reset(identity)
        served.client.send(Ping(1))
        await served.client.until(Ping(1))
        assert await stream.read() == b""
        with pytest.raises(ConnectionResetError):
            await stream.write(b"x")
        await stream.close()  # nothing to close: nothing is sent
        assert served.carrier.is_silent


async def test_pings_are_sent_back() -> None:
    async with serving() as served:
        served.client.send(Ping(41))
        assert await served.client.frame() == Ping(41)


async def test_a_client_that_sends_faster_than_anybody_reads_has_to_wait() -> None:
    async with serving() as served:
        identity, stream = await served.open()
        for _ in range(8):
            served.client.write(identity, b"x" * (1 << 18))
        served.client.send(Ping(1))
        await asyncio.sleep(0.05)
        assert served.carrier.is_silent  # the ping is still behind what nobody has read
        size = 0
        while size < 8 << 18:
            size += len(await stream.read())
        assert await served.client.frame() == Ping(1)


async def test_what_nobody_wants_to_read_does_not_hold_up_the_rest() -> None:
    async with serving() as served:
        identity, stream = await served.open()
        stream.stop_reading()
        for _ in range(8):
            served.client.write(identity, b"x" * (1 << 18))
        served.client.send(Ping(1))
        assert await served.client.frame() == Ping(1)


async def test_the_end_of_the_connection_ends_every_stream() -> None:
    async with serving() as served:
        _, stream = await served.open()
        reading = asyncio.create_task(stream.read())
        await asyncio.sleep(0)
        served.carrier.vanish()
        assert await reading == b""
        with pytest.raises(ConnectionResetError):
            await stream.write(b"x")


async def test_there_is_an_end_to_the_number_of_streams() -> None:
    async with serving() as served:
        for _ in range(1000):
            await served.open()
        identity = served.client.open(streamtype="data")
        assert await served.client.frame() == Reset(identity, REFUSED_STREAM)
