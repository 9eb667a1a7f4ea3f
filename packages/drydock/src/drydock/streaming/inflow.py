"""What has arrived for a stream and was not read yet; a full one makes the sender wait."""

import asyncio
from collections import deque

_LIMIT_BYTES = 1 << 20


class Inflow:
    """One delivers with `put` and `end`, one reads with `get`."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._unwanted = False
        self._changed = asyncio.Event()

    async def put(self, data: bytes) -> None:
        """Deliver; returns when there is room for more."""
        if data and not self._unwanted and not self._ended:
            self._pieces.append(data)
            self._size += len(data)
            self._change()
        while self._size >= _LIMIT_BYTES and not self._unwanted:
            await self._changed.wait()

    def end(self) -> None:
        """Nothing more will come."""
        self._ended = True
        self._change()

    def stop(self) -> None:
        """Nobody reads any more: what is there and what still comes is dropped."""
        self._unwanted = self._ended = True
        self._pieces.clear()
        self._size = 0
        self._change()

    async def get(self) -> bytes:
        """The next piece; empty when nothing more will come."""
        while not self._pieces:
            if self._ended:
                return b""
            await self._changed.wait()
        piece = self._pieces.popleft()
        self._size -= len(piece)
        self._change()
        return piece

    def _change(self) -> None:
        """Wake everybody who waits now; who waits later waits for the next change."""
        self._changed.set()
        self._changed = asyncio.Event()
