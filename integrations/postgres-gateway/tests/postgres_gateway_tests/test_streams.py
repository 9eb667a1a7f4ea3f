"""Reading ahead: enough to notice the end of the other side, never as much as it likes to send."""

import asyncio
from typing import Any

from mooring_postgres_gateway.streams import AHEAD_BYTES, Gone, MessageStream
from mooring_postgres_gateway.wire.frames import Message

_MESSAGE = Message(b"d", bytes(1024 * 1024))
_COUNT = 100


class Endless(asyncio.StreamReader):
    """A client that always has the next piece at hand."""

    def __init__(self, messages: int) -> None:
        super().__init__()
        self._left = _MESSAGE.encode() * messages
        self.taken = 0

    async def read(self, n: int = -1) -> bytes:
        await asyncio.sleep(0)
        piece = self._left[self.taken : self.taken + n]
        self.taken += len(piece)
        return piece


async def test_messages_that_nobody_reads_are_not_stored_beyond_a_limit():
    reader, nowhere = Endless(_COUNT), Any
    stream = MessageStream(reader, nowhere)  # type: ignore[arg-type]
    await asyncio.sleep(1.0)
    assert AHEAD_BYTES < reader.taken < AHEAD_BYTES + 2 * len(_MESSAGE.encode())
    for _ in range(_COUNT):
        assert await stream.read() == _MESSAGE
    try:
        await stream.read()
    except Gone:
        return
    raise AssertionError("the end was not reported")


async def test_one_message_may_be_longer_than_what_is_read_ahead():
    reader = Endless(0)
    long = Message(b"d", bytes(3 * AHEAD_BYTES))
    reader._left = long.encode()
    stream = MessageStream(reader, Any)  # type: ignore[arg-type]
    assert await stream.read() == long
