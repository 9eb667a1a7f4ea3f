"""Stores for tests: a real one, one that is scripted, and a proxy that fails between a client and a real one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hawser.clock import Entropy, SystemClock
from mooring.demo.blast import Dataset
from mooring_blast.databases.manifest import Catalogue, FileEntry, Generation, Manifest, digest, encode
from mooring_blast.databases.upload import Uploader, read_shards
from mooring_blast.demo.object_store import LocalStore
from mooring_blast.store.client import ObjectStore, Opened, open_store
from mooring_blast.store.errors import ObjectMissing, StoreError
from mooring_blast.store.patience import Patience
from mooring_blast.store.settings import STORE, read_settings

NAMED = Generation("synthetic-nt", "g1")


@dataclass(frozen=True, slots=True)
class Shore:
    """A running server, and a client of it."""

    server: LocalStore
    store: ObjectStore

    async def upload(self, dataset: Dataset, named: Generation = NAMED) -> Catalogue:
        shards = await asyncio.to_thread(read_shards, named, dataset.source)
        return await Uploader(self.store, patience(), silent).upload(named, shards)


@asynccontextmanager
async def client(environment: dict[str, str], silence: float = 30.0) -> AsyncIterator[ObjectStore]:
    async with open_store(read_settings(environment), SystemClock(), silence) as store:
        yield store


def silent(_: str) -> None:
    return None


def patience(seconds: float = 60.0) -> Patience:
    return Patience(SystemClock(), Entropy(), seconds)


def generation_of(files: Mapping[str, bytes], named: Generation = NAMED) -> dict[str, bytes]:
    """The objects of a generation with one shard."""
    entries = tuple(FileEntry(name, len(content), digest(content)) for name, content in files.items())
    manifest = encode(Manifest(named.dataset, named.generation, 0, "db", entries))
    catalogue = encode(Catalogue(named.dataset, named.generation, (digest(manifest),), 1, 1))
    return {
        named.catalogue_key: catalogue,
        named.key(0): manifest,
        **{named.key(0, name): content for name, content in files.items()},
    }


Fault = Callable[[str, int], StoreError | int | None]


@dataclass(slots=True)
class ScriptedStore:
    """Objects in memory. Before each read `fault` is asked: an error, after how many bytes the answer ends, or None."""

    objects: dict[str, bytes]
    fault: Fault = field(default=lambda key, start: None)
    chunk: int = 10
    ranges: bool = True
    reads: list[tuple[str, int]] = field(default_factory=list)

    async def get(self, key: str) -> bytes:
        async with self.read(key) as opened:
            return b"".join([chunk async for chunk in opened.chunks])

    @asynccontextmanager
    async def read(self, key: str, start: int = 0) -> AsyncIterator[Opened]:
        self.reads.append((key, start))
        happens = self.fault(key, start)
        if isinstance(happens, StoreError):
            raise happens
        if key not in self.objects:
            raise ObjectMissing(key)
        begins = start if self.ranges else 0
        content = self.objects[key][begins:]
        yield Opened(begins, self._chunks(content if happens is None else content[:happens]))

    async def _chunks(self, content: bytes) -> AsyncIterator[bytes]:
        for at in range(0, len(content), self.chunk):
            yield content[at : at + self.chunk]


class Proxy:
    """Between a client and the server: refuses, goes silent or cuts answers, as long as it is told to."""

    def __init__(self, server: LocalStore) -> None:
        self._target = server.url.split("/")[2]
        self._server = server
        self.silent = False
        self.down = False
        self.refuse = False
        self.cut_after: int | None = None
        self.connections = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[dict[str, str]]:
        """Yields the settings of a client that goes through it. The name of the host is signed, so it is kept."""
        listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        async with listener:
            yield {**self._server.environment, STORE: f"http://127.0.0.1:{port}/blast"}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._answer(reader, writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.down:
            return
        head = await reader.readuntil(b"\r\n\r\n")
        if self.silent:
            await reader.read()  # until the client gives up
            return
        if self.refuse:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        host, port = self._target.split(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        far_writer.write(head)
        pump = asyncio.create_task(self._pump(reader, far_writer))
        try:
            sent = 0
            while piece := await far_reader.read(4096):
                if self.cut_after is not None and sent + len(piece) > self.cut_after:
                    writer.write(piece[: self.cut_after - sent])
                    await writer.drain()
                    return
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
        finally:
            pump.cancel()
            far_writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()


def names_in(folder: Path) -> set[str]:
    """The files that a reader of a shard sees."""
    return {path.name for path in folder.iterdir() if path.is_file()}
