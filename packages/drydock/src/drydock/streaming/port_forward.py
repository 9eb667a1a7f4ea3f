"""port-forward: pairs of SPDY streams, one pair for each connection of the client, joined to ports of a pod."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from drydock.streaming.carrier import Carrier, Idleness
from drydock.streaming.conversation import until_all, until_first
from drydock.streaming.remote_command import IDLE_SECONDS
from drydock.streaming.spdy import SpdyConnection, SpdyStream, StreamRefused
from drydock.streaming.upgrade import SPDY, TUNNEL_PREFIX, WEBSOCKET
from hawser.clock import Clock

PORT_FORWARD = "portforward.k8s.io"
SPOKEN = {WEBSOCKET: (f"{TUNNEL_PREFIX}{PORT_FORWARD}",), SPDY: (PORT_FORWARD,)}
_CREATION_SECONDS = 30.0
_PIECE_BYTES = 1 << 16

Dialled = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[int], Awaitable[Dialled]]


@dataclass(slots=True)
class _Pair:
    """The streams of one connection: data both ways, and a word about what went wrong."""

    data: SpdyStream | None = None
    error: SpdyStream | None = None
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, stream: SpdyStream) -> None:
        match stream.headers.get("streamtype", ""):
            case "data" if self.data is None:
                self.data = stream
            case "error" if self.error is None:
                self.error = stream
            case other:
                raise StreamRefused(f"a stream of type {other!r}")
        if self.data and self.error:
            self.complete.set()


class PortForward:
    """One conversation. `dial` opens a connection to a port of the pod, or raises `OSError`."""

    def __init__(self, dial: Dial, clock: Clock) -> None:
        self._dial = dial
        self._clock = clock
        self._pairs: dict[str, _Pair] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, carrier: Carrier) -> None:
        """Until the client has gone; then every connection to the pod is closed."""
        idleness = Idleness(self._clock, IDLE_SECONDS)
        try:
            await until_first(SpdyConnection(carrier, idleness).run(self._accept), idleness.wait())
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, stream: SpdyStream) -> None:
        port = _port(stream.headers.get("port", ""))
        request = stream.headers.get("requestid", "")
        pair = self._pairs.get(request) or _Pair()
        pair.add(stream)
        if request not in self._pairs:
            self._pairs[request] = pair
            task = asyncio.create_task(self._forward(request, pair, port), name=f"forward port {port}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, request: str, pair: _Pair, port: int) -> None:
        try:
            async with asyncio.timeout(_CREATION_SECONDS):
                await pair.complete.wait()
        except TimeoutError:
            pass  # half a pair: both ends are closed below
        finally:
            del self._pairs[request]
        try:
            if pair.data and pair.error:
                await self._join(pair.data, pair.error, port)
        finally:
            with contextlib.suppress(ConnectionError):
                for stream in (pair.data, pair.error):
                    if stream:
                        stream.stop_reading()
                        await stream.close()

    async def _join(self, data: SpdyStream, error: SpdyStream, port: int) -> None:
        try:
            reader, writer = await self._dial(port)
        except OSError as failure:
            await error.write(forwarding_error(port, failure))
            return
        try:
            await until_all(_to_pod(data, writer), _from_pod(reader, data))
        except ConnectionError:
            pass  # either end has broken off; the other is closed now
        finally:
            writer.close()


async def _to_pod(data: SpdyStream, writer: asyncio.StreamWriter) -> None:
    while piece := await data.read():
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _from_pod(reader: asyncio.StreamReader, data: SpdyStream) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        await data.write(piece)
    await data.close()


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 1 << 16:
        raise StreamRefused(f"{text!r} is not a port")
    return int(text)


def forwarding_error(port: int, failure: OSError) -> bytes:
    """The error for a port that cannot be reached."""
    why = os.strerror(failure.errno) if failure.errno else str(failure)
    return f"error forwarding port {port}: {why}".encode()
