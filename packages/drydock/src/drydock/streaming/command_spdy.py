"""The streams of a command as streams of SPDY: each names its part in a header."""

import asyncio

from drydock.streaming.carrier import Carrier, Idleness
from drydock.streaming.remote_command import CommandOptions
from drydock.streaming.spdy import SpdyConnection, SpdyStream, StreamRefused

_CREATION_SECONDS = 30.0


class CommandSpdy:
    """See `CommandStreams`."""

    def __init__(self, carrier: Carrier, idleness: Idleness, options: CommandOptions) -> None:
        self._connection = SpdyConnection(carrier, idleness)
        self._streams: dict[str, SpdyStream] = {}
        self._complete = asyncio.Event()
        parts = {"stdin": options.stdin, "stdout": options.stdout, "stderr": options.stderr, "resize": options.tty}
        self._expected = {"error", *(name for name, wanted in parts.items() if wanted)}

    async def listen(self) -> None:
        await self._connection.run(self._accept)

    async def opened(self) -> None:
        try:
            async with asyncio.timeout(_CREATION_SECONDS):
                await self._complete.wait()
        except TimeoutError as error:
            missing = ", ".join(sorted(self._expected - set(self._streams)))
            raise ConnectionAbortedError(f"the client has not made the streams {missing}") from error

    async def read_input(self) -> bytes:
        return await self._read("stdin")

    async def read_sizes(self) -> bytes:
        return await self._read("resize")

    async def write_output(self, data: bytes) -> None:
        await self._write("stdout", data)

    async def write_error(self, data: bytes) -> None:
        await self._write("stderr", data)

    async def finish(self, status: bytes) -> None:
        await self._write("error", status)
        for stream in self._streams.values():
            stream.stop_reading()
            await stream.close()
        await self._connection.go_away()

    def _accept(self, stream: SpdyStream) -> None:
        name = stream.headers.get("streamtype", "")
        if name not in self._expected or name in self._streams:
            raise StreamRefused(f"a stream of type {name!r}")
        self._streams[name] = stream
        if set(self._streams) == self._expected:
            self._complete.set()

    async def _read(self, name: str) -> bytes:
        stream = self._streams.get(name)
        return await stream.read() if stream else b""

    async def _write(self, name: str, data: bytes) -> None:
        if stream := self._streams.get(name):
            await stream.write(data)
