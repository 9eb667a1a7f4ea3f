"""Ports of a pod over SPDY streams and over WebSocket channels; the pod is a server on a loopback port."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator

import pytest

from drydock.streaming.port_channels import PortChannels
from drydock.streaming.port_forward import Dialled, PortForward
from drydock.streaming.remote_command import IDLE_SECONDS
from drydock.streaming.spdy_frames import Data, Ping, Reset, SynReply
from drydock.virtual.loop import VirtualLoop
from hawser.clock import SystemClock
from packages.drydock.tests.streaming.memory import MemoryCarrier, SpdyClient


class Pod:
    """Shouts back what it is sent; and knows how many connections are open."""

    def __init__(self) -> None:
        self.port = 0
        self.open = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            while data := await reader.read(1 << 16):
                writer.write(data.upper())
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            writer.close()

    async def dial(self, port: int) -> Dialled:
        return await asyncio.open_connection("127.0.0.1", self.port if port == 80 else 1)

    async def until_closed(self) -> None:
        async with asyncio.timeout(5):
            while self.open:
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def a_pod() -> AsyncIterator[Pod]:
    pod = Pod()
    server = await asyncio.start_server(pod.talk, "127.0.0.1", 0)
    pod.port = server.sockets[0].getsockname()[1]
    async with server:
        yield pod


@contextlib.asynccontextmanager
async def forwarded() -> AsyncIterator[tuple[Pod, SpdyClient]]:
    async with a_pod() as pod:
        carrier = MemoryCarrier()
        serving = asyncio.create_task(PortForward(pod.dial, SystemClock()).serve(carrier))
        async with asyncio.timeout(20):
            yield pod, SpdyClient(carrier)
            carrier.vanish()
            await serving
            await pod.until_closed()


async def connect(client: SpdyClient, request: int, port: str = "80") -> tuple[int, int]:
    """As kubectl does: the stream for errors, closed on its side, then that for data."""
    error = client.open(streamtype="error", port=port, requestid=str(request))
    client.write(error, b"", fin=True)
    data = client.open(streamtype="data", port=port, requestid=str(request))
    assert [await client.frame(), await client.frame()] == [SynReply(error, {}), SynReply(data, {})]
    return error, data


@pytest.mark.realtime
async def test_bytes_go_to_the_port_and_back_until_both_ends_have_closed() -> None:
    async with forwarded() as (pod, client):
        _, data = await connect(client, 0)
        client.write(data, b"hello")
        assert await client.frame() == Data(data, b"HELLO")
        client.write(data, b" again", fin=True)
        assert await client.data(data) == b" AGAIN"
        await pod.until_closed()


@pytest.mark.realtime
async def test_connections_do_not_mix() -> None:
    async with forwarded() as (pod, client):
        streams = [(await connect(client, number))[1] for number in range(5)]
        for number, stream in enumerate(streams):
            client.write(stream, f"stream {number}".encode())
            assert await client.frame() == Data(stream, f"STREAM {number}".encode())
        assert pod.open == 5


@pytest.mark.realtime
async def test_a_port_that_nobody_listens_on_is_told_and_the_rest_goes_on() -> None:
    async def connect_later(client: SpdyClient, request: int) -> tuple[int, int]:
        error = client.open(streamtype="error", port="80", requestid=str(request))
        data = client.open(streamtype="data", port="80", requestid=str(request))
        await client.until(SynReply(data, {}))
        return error, data

    async with forwarded() as (_, client):
        error, _ = await connect(client, 0, port="9")
        assert await client.data(error) == b"error forwarding port 9: Connection refused"
        _, data = await connect_later(client, 1)
        client.write(data, b"x")
        assert await client.frame() == Data(data, b"X")


@pytest.mark.realtime
async def test_a_stream_without_a_port_or_a_type_is_refused() -> None:
    async with forwarded() as (_, client):
        for headers in ({"streamtype": "data"}, {"streamtype": "data", "port": "0"}, {"port": "80"}):
            stream = client.open(requestid="7", **headers)
            frame = await client.frame()
            assert isinstance(frame, Reset) and frame.stream == stream


@pytest.mark.realtime
async def test_a_client_that_resets_a_stream_closes_its_connection_to_the_pod() -> None:
    async with forwarded() as (pod, client):
        _, data = await connect(client, 0)
        client.write(data, b"x")
        await client.frame()
        client.reset(data)
        await pod.until_closed()
        client.send(Ping(1))
        assert Ping(1) in await client.until(Ping(1))


@pytest.mark.realtime
async def test_a_client_that_vanishes_leaves_no_connection() -> None:
    async with forwarded() as (pod, client):
        for number in range(3):
            _, data = await connect(client, number)
            client.write(data, b"x")
            await client.frame()
        assert pod.open == 3  # the rest is looked at by `forwarded`


async def test_a_silent_conversation_ends_after_four_hours() -> None:
    async def unreachable(port: int) -> Dialled:
        raise AssertionError("nobody has asked")

    loop = VirtualLoop.running()
    begin = loop.clock.monotonic()
    await PortForward(unreachable, loop.clock).serve(MemoryCarrier())
    assert loop.clock.monotonic() - begin == IDLE_SECONDS


@pytest.mark.realtime
async def test_channels_name_their_port_first_and_then_carry_data_or_an_error() -> None:
    async with a_pod() as pod:
        carrier = MemoryCarrier()
        serving = asyncio.create_task(PortChannels([80, 9], pod.dial, SystemClock()).serve(carrier))
        heads = [await carrier.receive() for _ in range(4)]
        assert heads == [bytes([n]) + struct.pack("<H", port) for n, port in ((0, 80), (1, 80), (2, 9), (3, 9))]
        assert await carrier.receive() == b"\x03error forwarding port 9: Connection refused"
        carrier.send(b"\x00hello")
        assert await carrier.receive() == b"\x00HELLO"
        carrier.vanish()
        await serving
        await pod.until_closed()
