"""Many streams over one carrier, as SPDY/3.1 has them. Only the client opens streams, as in all of Kubernetes."""

import asyncio
from collections.abc import Callable, Mapping

from drydock.streaming.carrier import Carrier, Idleness
from drydock.streaming.inflow import Inflow
from drydock.streaming.spdy_frames import (
    INVALID_STREAM,
    REFUSED_STREAM,
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    GoAway,
    Ping,
    Reset,
    SynReply,
    SynStream,
)

_MOST_STREAMS = 1000
_PIECE_BYTES = 1 << 16


class StreamRefused(ValueError):
    """A new stream is not wanted."""


class SpdyStream:
    """One stream. Each end closes its own direction; either can cut both."""

    def __init__(self, connection: "SpdyConnection", identity: int, headers: Mapping[str, str]) -> None:
        self._connection = connection
        self._inflow = Inflow()
        self._cut = False
        self.identity = identity
        self.headers = headers  # names in lower case
        self.client_closed = False
        self.closed = False

    async def read(self) -> bytes:
        """What the client has sent; empty when it sends no more."""
        return await self._inflow.get()

    async def write(self, data: bytes) -> None:
        """Send; returns when the client keeps up. Raises `ConnectionResetError` when it wants no more."""
        for begin in range(0, len(data), _PIECE_BYTES):
            if self._cut:
                raise ConnectionResetError("the client has reset the stream")
            await self._connection.send(Data(self.identity, data[begin : begin + _PIECE_BYTES]))

    async def close(self) -> None:
        """Send no more. What the client still sends can be read."""
        if not self.closed and not self._cut:
            self.closed = True
            self._connection.settle(self)
            await self._connection.send(Data(self.identity, b"", fin=True))

    def stop_reading(self) -> None:
        """Drop what the client sends from now on."""
        self._inflow.stop()

    async def deliver(self, data: bytes, *, last: bool) -> None:
        """For the connection: the client has sent this."""
        await self._inflow.put(data)
        if last:
            self.client_closed = True
            self._inflow.end()

    def cut(self) -> None:
        """For the connection: the stream is over in both directions."""
        self._cut = True
        self._inflow.stop()


class SpdyConnection:
    """`run` serves it; streams may be written to from any task."""

    def __init__(self, carrier: Carrier, idleness: Idleness) -> None:
        self._carrier = carrier
        self._idleness = idleness
        self._reader = FrameReader()
        self._writer = FrameWriter()
        self._sending = asyncio.Lock()
        self._streams: dict[int, SpdyStream] = {}
        self._last_stream = 0

    async def run(self, accept: Callable[[SpdyStream], None]) -> None:
        """Until the client has gone. `accept` hears of each new stream, and may raise `StreamRefused`.

        Raises `SpdyError` when the client does not speak SPDY.
        """
        try:
            while data := await self._carrier.read():
                for frame in self._reader.feed(data):
                    await self._handle(frame, accept)
        finally:
            for stream in self._streams.values():
                stream.cut()
            self._streams.clear()

    async def send(self, frame: Frame) -> None:
        """Send one frame; frames go out one after another, because headers are compressed in that order."""
        if isinstance(frame, Data):
            self._idleness.touch()
        async with self._sending:
            await self._carrier.write(self._writer.pack(frame))

    async def go_away(self) -> None:
        """Signal the client that nothing more will come."""
        await self.send(GoAway(self._last_stream))

    def settle(self, stream: SpdyStream) -> None:
        """Forget a stream that both ends have closed."""
        if stream.closed and stream.client_closed:
            self._streams.pop(stream.identity, None)

    async def _handle(self, frame: Frame, accept: Callable[[SpdyStream], None]) -> None:
        match frame:
            case SynStream():
                self._idleness.touch()
                await self._open(frame, accept)
            case Data(identity, payload, fin):
                self._idleness.touch()
                await self._take(identity, payload, fin)
            case Reset(identity):
                if stream := self._streams.pop(identity, None):
                    stream.cut()
            case Ping():
                await self.send(frame)
            case SynReply() | GoAway():
                pass  # we open no streams; and a client that goes away closes the carrier

    async def _open(self, frame: SynStream, accept: Callable[[SpdyStream], None]) -> None:
        stream = SpdyStream(self, frame.stream, frame.headers)
        try:
            if frame.stream <= self._last_stream or len(self._streams) >= _MOST_STREAMS:
                raise StreamRefused("not a new stream, or one too many")
            accept(stream)
        except StreamRefused:
            await self.send(Reset(frame.stream, REFUSED_STREAM))
            return
        self._last_stream = frame.stream
        self._streams[frame.stream] = stream
        await stream.deliver(b"", last=frame.fin)
        await self.send(SynReply(frame.stream, {}))

    async def _take(self, identity: int, payload: bytes, fin: bool) -> None:
        stream = self._streams.get(identity)
        if stream is not None:
            await stream.deliver(payload, last=fin)
            self.settle(stream)
        elif identity > self._last_stream:
            await self.send(Reset(identity, INVALID_STREAM))
