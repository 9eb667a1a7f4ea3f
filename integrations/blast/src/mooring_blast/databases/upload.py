"""Uploading a generation: files, then manifests, then the catalogue. An interrupted upload goes on where it was."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mooring.model.errors import Conflict, InvalidInput
from mooring_blast.databases.local import describe
from mooring_blast.databases.manifest import (
    MANIFEST,
    Catalogue,
    FileEntry,
    Generation,
    Manifest,
    check_generation,
    digest,
    encode,
    read_catalogue,
    read_manifest,
)
from mooring_blast.store.client import PART_BYTES, ObjectStore
from mooring_blast.store.errors import ObjectMissing
from mooring_blast.store.patience import Patience

_INFO = re.compile(r"([\d,]+) sequences?; ([\d,]+) total (?:bases|letters)")
_ALIAS, _INDEX = ".nal", ".nin"


@dataclass(frozen=True, slots=True)
class Shard:
    """A database on this machine that becomes a shard."""

    manifest: Manifest
    folder: Path
    sequences: int
    letters: int


def read_shards(named: Generation, folder: Path) -> list[Shard]:
    """The folders in `folder`, in the order of their names; each has one database."""
    check_generation(named)
    folders = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    if not folders:
        raise InvalidInput("folder", str(folder), "a folder with a folder for each shard")
    return [_read_shard(named, number, path) for number, path in enumerate(folders)]


@dataclass(slots=True)
class Uploader:
    """Uploads generations."""

    store: ObjectStore
    patience: Patience
    report: Callable[[str], None]
    part_bytes: int = PART_BYTES

    async def upload(self, named: Generation, shards: list[Shard]) -> Catalogue:
        """A generation that exists does not change: other content under its name is refused."""
        described = [encode(shard.manifest) for shard in shards]
        sums = tuple(digest(content) for content in described)
        letters, sequences = sum(shard.letters for shard in shards), sum(shard.sequences for shard in shards)
        catalogue = Catalogue(named.dataset, named.generation, sums, letters, sequences)
        existing = await self.find(named)
        if existing is not None and existing != catalogue:
            raise Conflict(
                f"generation {named.generation} of {named.dataset} is in the store, with other content",
                fix="choose another generation: Mooring then replaces the shards one by one",
            )
        for shard, content in zip(shards, described, strict=True):
            await self._upload_shard(named, shard, content)
        content = encode(catalogue)
        await self.patience.keep(lambda: self.store.put(named.catalogue_key, content, "application/json"))
        return catalogue

    async def find(self, named: Generation) -> Catalogue | None:
        """The catalogue of a generation in the store."""
        try:
            content = await self.patience.keep(lambda: self.store.get(named.catalogue_key))
        except ObjectMissing:
            return None
        return read_catalogue(content, named)

    async def _upload_shard(self, named: Generation, shard: Shard, content: bytes) -> None:
        number = shard.manifest.shard
        for file in shard.manifest.files:
            key, path = named.key(number, file.name), shard.folder / file.name
            if await self._has(key, file):
                self.report(f"{key} is there")
                continue
            await self.patience.keep(lambda k=key, p=path, f=file: self._put(k, p, f))  # type: ignore[misc]
            self.report(f"{key} uploaded, {file.size} bytes")
        await self.patience.keep(lambda: self.store.put(named.key(number), content, "application/json"))

    async def _put(self, key: str, path: Path, file: FileEntry) -> None:
        await self.store.put_file(key, path, file.sha256, self.part_bytes)

    async def _has(self, key: str, file: FileEntry) -> bool:
        try:
            stored = await self.patience.keep(lambda: self.store.head(key))
        except ObjectMissing:
            return False
        return (stored.size, stored.sha256) == (file.size, file.sha256)


def _read_shard(named: Generation, number: int, folder: Path) -> Shard:
    files = tuple(describe(path) for path in sorted(folder.iterdir()) if path.is_file() and path.name != MANIFEST)
    database = _database(folder)
    command = ["blastdbcmd", "-info", "-db", str(folder / database)]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    found = _INFO.search(asked.stdout)
    if asked.returncode or found is None:
        raise InvalidInput(f"shard {number}", str(folder), f"a nucleotide database of BLAST: {asked.stderr.strip()}")
    manifest = Manifest(named.dataset, named.generation, number, database, files)
    read_manifest(encode(manifest), str(folder))  # as every fetch will read it
    sequences, letters = (int(figure.replace(",", "")) for figure in found.groups())
    return Shard(manifest, folder, sequences, letters)


def _database(folder: Path) -> str:
    """The name of the database: of its alias if it has several volumes, else of its index."""
    aliases = [path.stem for path in folder.glob(f"*{_ALIAS}")]
    names = aliases or [path.stem for path in folder.glob(f"*{_INDEX}")]
    if len(names) != 1:
        raise InvalidInput("shard", str(folder), f"a folder with one database, not {len(names)}")
    return names[0]
