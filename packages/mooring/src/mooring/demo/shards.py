"""A dataset in shards: folders with checksums, fetched with resume and verified by content."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

CHECKSUMS = "checksums.json"
_PART = ".part"
_CHUNK_BYTES = 1024 * 1024


class DatasetDamaged(Exception):
    """The content of a shard does not match its checksums."""


def shard_folder(root: Path, shard: int) -> Path:
    """The folder of a shard."""
    return root / f"shard-{shard:02}"


def seal(folder: Path) -> None:
    """Write the checksums of all files of a shard. They are written last and mark the shard as complete."""
    sums = {path.name: checksum(path) for path in sorted(folder.iterdir()) if path.name != CHECKSUMS}
    (folder / CHECKSUMS).write_text(json.dumps(sums, indent=1))


def read_checksums(folder: Path) -> Mapping[str, str]:
    """The checksums by file name; a folder without them is damaged."""
    try:
        sums = json.loads((folder / CHECKSUMS).read_text())
    except (OSError, ValueError) as error:
        raise DatasetDamaged(f"{folder}: no readable {CHECKSUMS} ({error})") from error
    return {str(name): str(value) for name, value in sums.items()}


def fetch(source: Path, target: Path) -> int:
    """Copy a shard. Correct files are kept, partial ones are continued. Returns the number of copied bytes."""
    sums = read_checksums(source)
    target.mkdir(parents=True, exist_ok=True)
    copied = 0
    for name, expected in sums.items():
        done = target / name
        if done.is_file() and checksum(done) == expected:
            continue
        part = target / f"{name}{_PART}"
        copied += _resume(source / name, part)
        if checksum(part) != expected:
            part.unlink()
            raise DatasetDamaged(f"{name} arrived damaged and was thrown away: fetch it again")
        part.replace(done)
    (target / CHECKSUMS).write_text((source / CHECKSUMS).read_text())
    return copied


def verify(folder: Path) -> int:
    """Compare every file with its checksum; returns the number of files."""
    sums = read_checksums(folder)
    for name, expected in sums.items():
        path = folder / name
        if not path.is_file():
            raise DatasetDamaged(f"{path} is missing")
        if checksum(path) != expected:
            raise DatasetDamaged(f"{path} is damaged: its checksum is not {expected[:12]}…")
    return len(sums)


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _resume(source: Path, part: Path) -> int:
    with source.open("rb") as reader, part.open("ab") as writer:
        have = writer.tell()
        if have > source.stat().st_size:
            writer.truncate(0)
            have = 0
        reader.seek(have)
        copied = 0
        while chunk := reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            copied += len(chunk)
    return copied
