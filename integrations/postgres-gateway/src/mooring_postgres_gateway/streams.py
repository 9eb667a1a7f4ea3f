"""Messages over a connection: reading ahead by a bounded number, so that the end of the other side is noticed."""

import asyncio
import contextlib
from collections.abc import Iterable

from mooring_postgres_gateway.wire.frames import (
    LONGEST_MESSAGE_BYTES,
    Framer,
    Message,
    ProtocolViolation,
    encode_all,
)

_CHUNK_BYTES = 64 * 1024
_AHEAD = 256  # messages that are read before they are asked for
AHEAD_BYTES = 1024 * 1024  # the same in bytes; one message may be longer
SEND_SECONDS = 300.0  # a side that takes nothing for so long counts as gone


class Gone(Exception):
    """The other side has closed the connection, or takes nothing any more."""


class MessageStream:
    """One connection. `gone` is set as soon as its end was seen, also while nobody reads."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int = LONGEST_MESSAGE_BYTES
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._framer = Framer(limit)
        self._inbox: asyncio.Queue[Message | ProtocolViolation | None] = asyncio.Queue(_AHEAD)
        self._ahead_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False
        self.gone = asyncio.Event()
        self._reading = asyncio.create_task(self._read_ahead())

    async def read(self) -> Message:
        """The next message. Raises `Gone` at the end, `ProtocolViolation` for what is no message."""
        if self._ended and self._inbox.empty():
            raise Gone
        found = await self._inbox.get()
        if isinstance(found, Message):
            self._count(-len(found.body))
            return found
        self._ended = True
        raise found if isinstance(found, ProtocolViolation) else Gone()

    async def read_some(self) -> list[Message]:
        """At least one message, and all that have arrived already. An end is left for the next call."""
        found = [await self.read()]
        while not self._inbox.empty():
            following = self._inbox.get_nowait()
            if not isinstance(following, Message):
                self._end(following)
                break
            self._count(-len(following.body))
            found.append(following)
        return found

    def allow(self, limit: int) -> None:
        """Change the length that a message may have."""
        self._framer.limit = limit

    async def send(self, *messages: Message) -> None:
        """Raises `Gone` if the other side does not take them."""
        await self.send_all(messages)

    async def send_all(self, messages: Iterable[Message]) -> None:
        """The same for many."""
        try:
            self._writer.write(encode_all(messages))
            async with asyncio.timeout(SEND_SECONDS):
                await self._writer.drain()
        except OSError as error:  # a TimeoutError is one
            self.gone.set()
            raise Gone from error

    async def close(self) -> None:
        """Close the connection; what was sent still goes out if the other side takes it soon."""
        self._reading.cancel()
        self._end(None)
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(2.0):
                await self._writer.wait_closed()
        self._writer.transport.abort()

    def _count(self, change: int) -> None:
        self._ahead_bytes += change
        if self._ahead_bytes < AHEAD_BYTES:
            self._room.set()
        else:
            self._room.clear()

    def _end(self, reason: ProtocolViolation | None) -> None:
        """Wake a reader. With a full inbox there is none, and the end follows its messages."""
        self.gone.set()
        with contextlib.suppress(asyncio.QueueFull):
            self._inbox.put_nowait(reason)
            return
        self._ended = True

    async def _read_ahead(self) -> None:
        end: ProtocolViolation | None = None
        try:
            while data := await self._reader.read(_CHUNK_BYTES):
                for message in self._framer.feed(data):
                    self._count(len(message.body))
                    await self._inbox.put(message)
                await self._room.wait()
        except ProtocolViolation as violation:
            end = violation
        except OSError:
            end = None  # a connection that breaks has ended
        if end is None:
            self.gone.set()
        await self._inbox.put(end)
