"""A client and a server of streams, joined in memory; and a client's half of SPDY."""

import asyncio
from collections.abc import Mapping

from drydock.streaming.spdy_frames import Data, Frame, FrameReader, FrameWriter, Reset, SynStream


class MemoryCarrier:
    """The server's end; the test is the client."""

    def __init__(self) -> None:
        self._incoming: asyncio.Queue[bytes] = asyncio.Queue()
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        self._gone = False
        self.closed = False

    async def read(self) -> bytes:
        return b"" if self._gone and self._incoming.empty() else await self._incoming.get()

    async def write(self, data: bytes) -> None:
        if self._gone:
            raise ConnectionResetError("the client has gone")
        self._outgoing.put_nowait(data)

    async def close(self) -> None:
        self.closed = True

    def send(self, data: bytes) -> None:
        """As the client."""
        self._incoming.put_nowait(data)

    def vanish(self) -> None:
        """As the client."""
        self._gone = True
        self._incoming.put_nowait(b"")

    async def receive(self) -> bytes:
        """As the client."""
        async with asyncio.timeout(5):
            return await self._outgoing.get()

    @property
    def is_silent(self) -> bool:
        return self._outgoing.empty()


class SpdyClient:
    """Opens streams and reads what comes back, frame by frame."""

    def __init__(self, carrier: MemoryCarrier) -> None:
        self._carrier = carrier
        self._writer = FrameWriter()
        self._reader = FrameReader()
        self._frames: list[Frame] = []
        self._next = 1

    def open(self, *, fin: bool = False, **headers: str) -> int:
        stream, self._next = self._next, self._next + 2
        self.send(SynStream(stream, headers, fin))
        return stream

    def send(self, frame: Frame) -> None:
        self._carrier.send(self._writer.pack(frame))

    def write(self, stream: int, data: bytes, *, fin: bool = False) -> None:
        self.send(Data(stream, data, fin))

    def reset(self, stream: int) -> None:
        self.send(Reset(stream))

    async def frame(self) -> Frame:
        while not self._frames:
            self._frames.extend(self._reader.feed(await self._carrier.receive()))
        return self._frames.pop(0)

    async def until(self, wanted: Frame) -> list[Frame]:
        """What comes up to this frame."""
        seen: list[Frame] = []
        while True:
            seen.append(await self.frame())
            if seen[-1] == wanted:
                return seen

    async def data(self, stream: int) -> bytes:
        """All of a stream, to its end; what comes for others is passed over."""
        found = b""
        while True:
            match await self.frame():
                case Data(identity, payload, fin) if identity == stream:
                    found += payload
                    if fin:
                        return found
                case Reset(identity) if identity == stream:
                    raise ConnectionResetError("reset by the server")


def headers_of(frame: Frame) -> Mapping[str, str]:
    assert isinstance(frame, SynStream)
    return frame.headers
