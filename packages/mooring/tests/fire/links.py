"""A cable between a replica and a server, which can be pulled: bytes stop, connections stay, as in a partition."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_CHUNK_BYTES = 65536


class Link:
    """Passes bytes on in both directions while it is not cut."""

    def __init__(self, connect: Callable[[], Awaitable[Streams]]) -> None:
        self._connect = connect
        self._whole = asyncio.Event()
        self._whole.set()
        self._tasks: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """From now on nothing passes, and nobody is notified."""
        self._whole.clear()

    def mend(self) -> None:
        """What was held back arrives."""
        self._whole.set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until one side ends it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._whole.wait()
            theirs, ours = await self._connect()
            try:
                await asyncio.gather(self._pass_on(reader, ours), self._pass_on(theirs, writer))
            finally:
                ours.close()
        except (OSError, asyncio.CancelledError):
            pass  # the other side is gone, or the run ends
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while chunk := await source.read(_CHUNK_BYTES):
            await self._whole.wait()
            target.write(chunk)
            await target.drain()
        raise ConnectionResetError  # ends the other direction too

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


@contextlib.asynccontextmanager
async def tcp_link(port: int) -> AsyncIterator[tuple[Link, int]]:
    """A link to that port of this machine, and the port at which it listens."""
    link = Link(lambda: asyncio.open_connection("127.0.0.1", port))
    server = await asyncio.start_server(link.accept, "127.0.0.1", 0)
    try:
        yield link, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        link.close()


@contextlib.asynccontextmanager
async def socket_link(target: Path, path: Path) -> AsyncIterator[Link]:
    """A link to a Unix socket, at another path."""
    link = Link(lambda: asyncio.open_unix_connection(str(target)))
    path.parent.mkdir(parents=True, exist_ok=True)
    server = await asyncio.start_unix_server(link.accept, str(path))
    try:
        yield link
    finally:
        server.close()
        link.close()
