"""Cables between replicas and servers, which can be pulled: bytes stop, connections stay, as in a partition.

They are a process of their own: in that of a thousand clients they would be slow whenever the clients are busy, and
every replica would seem to have lost its database.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_CHUNK_BYTES = 65536


class Cable:
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
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(OSError, asyncio.CancelledError):  # the other side is gone, or the run ends
            try:
                first = await reader.read(_CHUNK_BYTES)
                await self._whole.wait()
                if not reader.at_eof():  # a client that gave up during the cut never reaches the server
                    await self._join(first, reader, writer)
            finally:
                writer.close()

    def close(self) -> None:
        """End all connections."""
        for task in self._tasks:
            task.cancel()

    async def _join(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await self._connect()
        try:
            ours.write(first)
            await asyncio.gather(self._pass_on(reader, ours), self._pass_on(theirs, writer))
        finally:
            ours.close()

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while chunk := await source.read(_CHUNK_BYTES):
            await self._whole.wait()
            target.write(chunk)
            await target.drain()
        raise ConnectionResetError  # ends the other direction too


@dataclass(frozen=True, slots=True)
class Link:
    """A cable of the process of cables, by its name."""

    name: str
    commands: asyncio.StreamWriter

    def cut(self) -> None:
        """From now on nothing passes, and nobody is notified."""
        self.commands.write(f"cut {self.name}\n".encode())

    def mend(self) -> None:
        """What was held back arrives."""
        self.commands.write(f"mend {self.name}\n".encode())


@contextlib.asynccontextmanager
async def open_links(ways: Mapping[str, tuple[str, str]]) -> AsyncIterator[dict[str, Link]]:
    """A link for each name, between two Unix sockets or ports of this machine: where it listens, where it leads."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, json.dumps(dict(ways))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C ends it last
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        if await process.stdout.readline() != b"open\n":
            raise RuntimeError("the process of links ended while it started")
        yield {name: Link(name, process.stdin) for name in ways}
    finally:
        process.stdin.close()  # it ends with its input
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()


async def _serve(ways: dict[str, tuple[str, str]]) -> None:
    cables = {name: Cable(_way_to(end)) for name, (_, end) in ways.items()}
    for name, (beginning, _) in ways.items():
        await _listen(beginning, cables[name])
    print("open", flush=True)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := (await commands.readline()).decode().strip():
        verb, _, name = line.partition(" ")
        (cables[name].cut if verb == "cut" else cables[name].mend)()


def _way_to(end: str) -> Callable[[], Awaitable[Streams]]:
    if end.isdigit():
        return lambda: asyncio.open_connection("127.0.0.1", int(end))
    return lambda: asyncio.open_unix_connection(end)


async def _listen(beginning: str, cable: Cable) -> None:
    if beginning.isdigit():
        await asyncio.start_server(cable.accept, "127.0.0.1", int(beginning))
        return
    Path(beginning).parent.mkdir(parents=True, exist_ok=True)
    await asyncio.start_unix_server(cable.accept, beginning)


if __name__ == "__main__":
    asyncio.run(_serve(json.loads(sys.argv[1])))
