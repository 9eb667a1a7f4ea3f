"""A shard on the local disk: files that arrive in parts, and a manifest that is written last."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring.model.errors import MooringError
from mooring_blast.databases.manifest import MANIFEST, FileEntry, Manifest, encode, read_manifest
from mooring_blast.store.errors import ObjectDamaged

_PARTS = ".parts"
_READ_BYTES = 1024 * 1024


class DiskFull(MooringError):
    """The node has no room for the shard."""

    code = "disk_full"


class ShardFolder:
    """The folder of a shard. Files that are not complete are in a folder of their own, which readers do not open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parts = path / _PARTS
        self._parts.mkdir(parents=True, exist_ok=True)

    def has(self, file: FileEntry) -> bool:
        """Whether a complete file is there, by its content."""
        return matches(self.path / file.name, file)

    def part(self, file: FileEntry) -> "Part":
        """The file as far as it has arrived."""
        return Part(self._parts / file.name, file)

    def check_room(self, needed: int) -> None:
        """Raises `DiskFull` if the rest does not fit."""
        free = shutil.disk_usage(self.path).free
        if free < needed:
            raise DiskFull(
                f"{self.path}: {needed} bytes are missing, and the disk has {free} left",
                fix="use nodes with larger disks, more shards, or remove old data",
            )

    def publish(self, manifest: Manifest) -> None:
        """Move complete files to their places, the manifest last."""
        for file in manifest.files:
            arrived = self._parts / file.name
            if arrived.exists():
                arrived.replace(self.path / file.name)
        described = self._parts / MANIFEST
        described.write_bytes(encode(manifest))
        _sync(described)
        described.replace(self.path / MANIFEST)
        shutil.rmtree(self._parts)
        _sync(self.path)


class Part:
    """A file that arrives: what is there is hashed once, then every piece as it comes."""

    def __init__(self, path: Path, file: FileEntry) -> None:
        self._path = path
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0
        self.written = 0
        if path.exists() and path.stat().st_size > file.size:
            path.unlink()
        if path.exists():
            for piece in _pieces(path):
                self._hash.update(piece)
                self.size += len(piece)

    @property
    def complete(self) -> bool:
        """Whether as many bytes are there as the file has."""
        return self.size >= self._file.size

    def write(self, piece: bytes) -> None:
        """Append; raises `ObjectDamaged` if the object is longer than its manifest says."""
        if self.size + len(piece) > self._file.size:
            self.discard()
            raise ObjectDamaged(f"{self._file.name} is longer than the {self._file.size} bytes of its manifest")
        with explain_full(self._path), self._path.open("ab") as writer:
            writer.write(piece)
        self._hash.update(piece)
        self.size += len(piece)
        self.written += len(piece)

    def discard(self) -> None:
        """Begin again."""
        self._path.unlink(missing_ok=True)
        self._hash, self.size = hashlib.sha256(), 0

    def finish(self) -> None:
        """Prove the content, and make it outlive a crash of the machine."""
        self._path.touch()
        if self._hash.hexdigest() != self._file.sha256:
            self.discard()
            raise ObjectDamaged(f"{self._file.name} arrived with a wrong checksum and was thrown away")
        with explain_full(self._path):
            _sync(self._path)


@contextmanager
def explain_full(path: Path) -> Iterator[None]:
    """A full disk, in words that help."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(f"{path}: the disk is full; what has arrived stays", fix="make room on the node") from error


def read_local(folder: Path) -> Manifest:
    """The manifest of a shard that was published."""
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise ObjectDamaged(f"{folder}: no readable {MANIFEST} ({error.strerror})") from error
    return read_manifest(content, str(folder / MANIFEST))


def verify(folder: Path) -> Manifest:
    """Compare every file of a shard with its manifest."""
    manifest = read_local(folder)
    for file in manifest.files:
        if not matches(folder / file.name, file):
            raise ObjectDamaged(f"{folder / file.name} is missing or damaged")
    return manifest


def describe(path: Path) -> FileEntry:
    """A file as it is."""
    return FileEntry(path.name, path.stat().st_size, _checksum(path))


def matches(path: Path, file: FileEntry) -> bool:
    """Whether a file has the content of its entry; only files of the right size are read."""
    return path.is_file() and path.stat().st_size == file.size and _checksum(path) == file.sha256


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            yield piece


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
