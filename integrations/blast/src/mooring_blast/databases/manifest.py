"""What a generation of a database consists of: a catalogue with all shards, and for each shard a manifest of its files.

Objects are `databases/DATASET/GENERATION/catalogue.json`, `…/NN/manifest.json` and `…/NN/FILE`. The catalogue has the
checksum of every manifest, a manifest that of every file. The catalogue is written last, so a generation is there as
a whole or not at all.
"""

import hashlib
import re
from typing import TypeVar

import msgspec

from mooring.model.errors import InvalidInput
from mooring_blast.store.errors import ObjectDamaged

CATALOGUE = "catalogue.json"
MANIFEST = "manifest.json"
_FORMAT = 1
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_PART_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class _Record(msgspec.Struct, frozen=True, rename="camel"):
    """A JSON object. Fields of later formats are ignored."""


class FileEntry(_Record, frozen=True):
    """A file of a shard."""

    name: str
    size: int
    sha256: str


class Manifest(_Record, frozen=True):
    """The files of a shard, and the name of the database that they are."""

    dataset: str
    generation: str
    shard: int
    database: str
    files: tuple[FileEntry, ...]
    format: int = _FORMAT

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


class Catalogue(_Record, frozen=True):
    """A generation of a database: the checksums of its manifests, and the size of the whole."""

    dataset: str
    generation: str
    manifests: tuple[str, ...]
    letters: int
    sequences: int
    format: int = _FORMAT

    @property
    def shards(self) -> int:
        """The number of shards."""
        return len(self.manifests)


class Generation(msgspec.Struct, frozen=True):
    """Names a generation of a database, and its objects."""

    dataset: str
    generation: str

    @property
    def prefix(self) -> str:
        """What the keys of all objects begin with."""
        return f"databases/{self.dataset}/{self.generation}"

    @property
    def catalogue_key(self) -> str:
        """The key of the catalogue."""
        return f"{self.prefix}/{CATALOGUE}"

    def key(self, shard: int, name: str = MANIFEST) -> str:
        """The key of a file of a shard."""
        return f"{self.prefix}/{shard:02}/{name}"


T = TypeVar("T", Manifest, Catalogue)


def check_generation(named: Generation) -> Generation:
    """The names themselves; raises `InvalidInput` if they cannot be parts of keys."""
    for field, value in (("dataset", named.dataset), ("generation", named.generation)):
        if not _PART_NAME.fullmatch(value) or ".." in value:
            raise InvalidInput(field, value, "1 to 63 lower-case letters, digits, '-', '_' and '.'")
    return named


def encode(record: Manifest | Catalogue) -> bytes:
    """The same record gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1)


def digest(content: bytes) -> str:
    """SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def read_catalogue(content: bytes, named: Generation) -> Catalogue:
    """The catalogue of a generation; `ObjectDamaged` if it is another one, or none."""
    found = _decode(content, Catalogue, named.catalogue_key)
    if (found.dataset, found.generation) != (named.dataset, named.generation):
        raise ObjectDamaged(f"{named.catalogue_key} is that of {found.dataset} {found.generation}")
    if not found.manifests:
        raise ObjectDamaged(f"{named.catalogue_key} has no shards")
    return found


def read_manifest(content: bytes, where: str) -> Manifest:
    """A manifest; names that would leave the folder of the shard are refused."""
    found = _decode(content, Manifest, where)
    for file in found.files:
        if not _FILE_NAME.fullmatch(file.name) or file.name == MANIFEST:
            raise ObjectDamaged(f"{where}: {file.name[:80]!r} is not the name of a file of a shard")
        if file.size < 0 or not _DIGEST.fullmatch(file.sha256):
            raise ObjectDamaged(f"{where}: size or checksum of {file.name} cannot be right")
    if len({file.name for file in found.files}) != len(found.files) or not found.files:
        raise ObjectDamaged(f"{where}: no files, or one twice")
    return found


def check_manifest(content: bytes, catalogue: Catalogue, shard: int) -> Manifest:
    """The manifest of a shard that the catalogue means."""
    key = Generation(catalogue.dataset, catalogue.generation).key(shard)
    if not 0 <= shard < catalogue.shards:
        raise InvalidInput("shard", shard, f"0 to {catalogue.shards - 1}: the shards of {catalogue.dataset}")
    if digest(content) != catalogue.manifests[shard]:
        raise ObjectDamaged(f"{key} is not the manifest of the catalogue: its checksum differs", fix="upload it again")
    found = read_manifest(content, key)
    if (found.dataset, found.generation, found.shard) != (catalogue.dataset, catalogue.generation, shard):
        raise ObjectDamaged(f"{key} is that of shard {found.shard} of {found.dataset} {found.generation}")
    return found


def _decode(content: bytes, kind: type[T], where: str) -> T:
    try:
        found = msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise ObjectDamaged(f"{where} cannot be read: {error}") from error
    if found.format != _FORMAT:
        raise ObjectDamaged(f"{where} has format {found.format}, this release reads {_FORMAT}", fix="update the image")
    return found
