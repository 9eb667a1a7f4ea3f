"""Pipes and terminals read and written without blocking, and without asking the event loop for more than readiness."""

import asyncio
import errno
import os
from collections.abc import Callable
from typing import Any

_PIECE_BYTES = 1 << 16


class Descriptor:
    """Owns one end of a pipe, or the master of a terminal. One task may read while another writes."""

    def __init__(self, number: int) -> None:
        os.set_blocking(number, False)
        self._number = number
        self._closed = False
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def number(self) -> int:
        return self._number

    async def read(self) -> bytes:
        """What is there; empty when nobody can write to the other end any more."""
        loop = asyncio.get_running_loop()
        while not self._closed:
            try:
                return os.read(self._number, _PIECE_BYTES)
            except BlockingIOError:
                await self._until(loop.add_reader, loop.remove_reader)
            except OSError as error:
                if error.errno == errno.EIO:  # the last process has left the terminal
                    return b""
                raise
        return b""

    async def write(self, data: bytes) -> None:
        """Returns when all of it is written. Raises `BrokenPipeError` when nobody reads the other end any more."""
        loop = asyncio.get_running_loop()
        rest = memoryview(data)
        while rest:
            if self._closed:
                raise BrokenPipeError("closed by us")
            try:
                rest = rest[os.write(self._number, rest) :]
            except BlockingIOError:
                await self._until(loop.add_writer, loop.remove_writer)
            except OSError as error:
                if error.errno == errno.EIO:
                    raise BrokenPipeError("the terminal has been left") from error
                raise

    def close(self) -> None:
        """A waiting task is woken: a read finds nothing more, a write fails."""
        if self._closed:
            return
        self._closed = True
        if self._waiting:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._number)
            loop.remove_writer(self._number)
        for ready in self._waiting:
            _set(ready)
        os.close(self._number)

    async def _until(self, add: Callable[..., Any], remove: Callable[[int], Any]) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(ready)
        add(self._number, _set, ready)
        try:
            await ready
        finally:
            self._waiting.discard(ready)
            if not self._closed:
                remove(self._number)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
