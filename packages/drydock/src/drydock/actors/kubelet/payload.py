"""Writing the files of a volume so that a reader sees all of the old or all of the new, as a kubelet does.

The files are in a hidden folder, `..data` points at it, and the names in the volume point through `..data`.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_DATA = "..data"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a volume."""

    content: bytes
    mode: int = 0o644


def write_payload(folder: Path, payload: Mapping[str, File]) -> bool:
    """Make the volume hold exactly these files; False when it did already."""
    folder.mkdir(parents=True, exist_ok=True)
    current = folder / _DATA
    if current.is_symlink() and _read_payload(current) == dict(payload):
        return False
    old = os.readlink(current) if current.is_symlink() else ""
    fresh = folder / _next_name(old)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    for path, file in payload.items():
        target = fresh / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(file.mode)
    _point(current, fresh.name)
    wanted = {path.split("/", 1)[0] for path in payload}
    for entry in folder.iterdir():
        if not entry.name.startswith("..") and entry.name not in wanted:
            entry.unlink()
    for name in wanted:
        if not (folder / name).is_symlink():
            _point(folder / name, f"{_DATA}/{name}")
    if old:
        shutil.rmtree(folder / old, ignore_errors=True)
    return True


def _next_name(old: str) -> str:
    number = int(old.removeprefix("..version-")) if old.startswith("..version-") else 0
    return f"..version-{number + 1}"


def _point(link: Path, target: str) -> None:
    partial = link.with_name(f"..partial-{link.name.lstrip('.')}")
    partial.unlink(missing_ok=True)
    partial.symlink_to(target)
    partial.replace(link)


def _read_payload(folder: Path) -> dict[str, File]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            found[str(path.relative_to(folder))] = File(path.read_bytes(), path.stat().st_mode & 0o777)
    return found
