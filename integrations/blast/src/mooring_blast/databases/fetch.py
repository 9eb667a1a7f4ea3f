"""Fetching a shard into its folder: resumes what was interrupted, and ends when nothing arrives any more."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mooring_blast.databases.local import Part, ShardFolder
from mooring_blast.databases.manifest import FileEntry, Generation, Manifest, check_manifest, read_catalogue
from mooring_blast.store.client import Opened
from mooring_blast.store.errors import ObjectDamaged, StoreError, StoreUnavailable
from mooring_blast.store.patience import Patience


class Objects(Protocol):
    """Where shards come from."""

    async def get(self, key: str) -> bytes:
        """A small object as a whole."""
        ...

    def read(self, key: str, start: int = 0) -> AbstractAsyncContextManager[Opened]:
        """A stream from `start` on."""
        ...


@dataclass(frozen=True, slots=True)
class Fetched:
    """How a fetch ended."""

    manifest: Manifest
    copied: int


class Progress:
    """Says how far a shard is, one line for each percent."""

    def __init__(self, manifest: Manifest, parts: list[tuple[FileEntry, Part]], report: Callable[[str], None]) -> None:
        self._total = manifest.size
        self._parts = parts
        self._report = report
        self._said = -1

    def show(self) -> None:
        """One line, if the percentage has changed."""
        percent = 100 * (self._total - self.missing) // max(1, self._total)
        if percent != self._said:
            self._said = percent
            self._report(f"{percent} % of {self._total} bytes")

    @property
    def missing(self) -> int:
        """Bytes that have not arrived."""
        return sum(file.size - part.size for file, part in self._parts)


@dataclass(slots=True)
class Fetcher:
    """Fetches shards of one generation."""

    objects: Objects
    named: Generation
    patience: Patience
    report: Callable[[str], None]

    async def fetch(self, shard: int, folder: Path) -> Fetched:
        """All files of a shard; those that are there and right stay. Publishes them together."""
        manifest = await self._manifest(shard)
        target = ShardFolder(folder)
        missing = [file for file in manifest.files if not target.has(file)]
        parts = [(file, target.part(file)) for file in missing]
        progress = Progress(manifest, parts, self.report)
        target.check_room(progress.missing)
        progress.show()
        for file, part in parts:
            await self._file(shard, file, part, progress)
        target.publish(manifest)
        return Fetched(manifest, sum(part.written for _, part in parts))

    async def _manifest(self, shard: int) -> Manifest:
        catalogue_key = self.named.catalogue_key
        content = await self.patience.keep(lambda: self.objects.get(catalogue_key))
        catalogue = read_catalogue(content, self.named)
        described = await self.patience.keep(lambda: self.objects.get(self.named.key(shard)))
        return check_manifest(described, catalogue, shard)

    async def _file(self, shard: int, file: FileEntry, part: Part, progress: Progress) -> None:
        """A file that arrives damaged is fetched once more: the damage may have happened on the way."""
        key = self.named.key(shard, file.name)
        for last in (False, True):
            try:
                await self._rest(key, part, progress)
                part.finish()
                return
            except ObjectDamaged as error:
                if last:
                    raise ObjectDamaged(f"{key}: {error.message}, twice", fix="upload it again") from error
                self.report(f"{error}; it is fetched again")

    async def _rest(self, key: str, part: Part, progress: Progress) -> None:
        while not part.complete:
            try:
                await self._stream(key, part, progress)
            except ObjectDamaged:
                raise
            except StoreError as error:
                self.report(str(error))
                await self.patience.wait(error)

    async def _stream(self, key: str, part: Part, progress: Progress) -> None:
        async with self.objects.read(key, part.size) as opened:
            if opened.start != part.size:
                if opened.start != 0:
                    raise StoreUnavailable(f"{key}: asked for the rest from {part.size}, got it from {opened.start}")
                part.discard()
            async for chunk in opened.chunks:
                part.write(chunk)
                progress.show()
                self.patience.progressed()
        if not part.complete:
            raise StoreUnavailable(f"{key}: the store ended the answer after {part.size} bytes")
