"""The store on disk: an append-only log of changes and, now and then, a snapshot that replaces it.

A change is one line, written with one call before anyone hears of it, so a killed process loses nothing it
has answered for. A line torn by the kill is dropped on the next start: it was never answered.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from drydock.api.storage.store import Store, TableKey
from hawser.errors import Misconfigured

_SNAPSHOT = "objects.jsonl"
_LOG = "changes.jsonl"
_MIN_CHANGES = 20_000


class _Line(msgspec.Struct, frozen=True):
    """One change; an object of null is a deletion, a line without a key only carries the version."""

    version: int
    group: str = ""
    plural: str = ""
    key: str = ""
    object: msgspec.Raw = msgspec.Raw(b"null")


_decoder = msgspec.json.Decoder(_Line)


class Journal:
    """Records a store's changes in a folder that one process at a time may use."""

    def __init__(self, folder: Path, *, min_changes: int = _MIN_CHANGES) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._min_changes = min_changes
        self._changes = 0
        self._version = 0
        self._store: Store | None = None
        self._log = os.open(folder / _LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._lock()

    def restore(self, store: Store) -> None:
        """Fill an empty store with what was recorded; its version goes on rising from there."""
        objects: dict[tuple[TableKey, str], _Line] = {}
        for line in self._read():
            self._version = max(self._version, line.version)
            place = TableKey(line.group, line.plural), line.key
            if bytes(line.object) != b"null":
                objects[place] = line
            else:
                objects.pop(place, None)
        for (table, key), line in objects.items():
            store.restore(table, key, line.version, bytes(line.object))
        store.resume(self._version)
        self._store = store

    def record(self, table: TableKey, key: str, version: int, encoded: bytes | None) -> None:
        """Append one change; when the log has grown long, a snapshot of all before it takes its place."""
        if self._changes >= self._min_changes:
            self.snapshot()
        _write(self._log, _encode(version, table, key, encoded or b"null"))
        self._version = version
        self._changes += 1

    def snapshot(self) -> None:
        """Write all objects to a new file, put it in place of the old one, and empty the log."""
        assert self._store is not None, "a journal records only after it has restored"
        fresh = self._folder / f"{_SNAPSHOT}.new"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write(descriptor, msgspec.json.encode({"version": self._version}) + b"\n")
            for table in self._store.tables():
                lines = [_encode(held.version, table.key, held.key, held.encoded) for held in table.objects.values()]
                _write(descriptor, b"".join(lines))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(fresh, self._folder / _SNAPSHOT)
        # Killed right here, the log repeats what the snapshot holds: versions show that on the next start.
        os.ftruncate(self._log, 0)
        self._changes = 0
        # A store of many objects would otherwise be written out again for every handful of changes to it.
        self._min_changes = max(self._min_changes, 2 * sum(len(table.objects) for table in self._store.tables()))

    def close(self) -> None:
        os.close(self._log)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._log)
            raise Misconfigured(
                f"the state in {self._folder} is in use by another process",
                fix="stop that process or choose another folder",
            ) from None

    def _read(self) -> Iterator[_Line]:
        known = 0
        snapshot = self._folder / _SNAPSHOT
        if snapshot.exists():
            for line in _lines(snapshot):
                known = max(known, line.version)
                if line.key:
                    yield line
        self._version = known
        for line in _lines(self._folder / _LOG, repair=self._log):
            self._changes += 1
            if line.version > known:
                yield line


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _encode(version: int, table: TableKey, key: str, encoded: bytes) -> bytes:
    head = msgspec.json.encode({"version": version, "group": table.group, "plural": table.plural, "key": key})
    return head[:-1] + b',"object":' + encoded + b"}\n"


def _lines(path: Path, repair: int | None = None) -> Iterator[_Line]:
    """All lines of a file; with `repair`, a torn last one is cut off through that descriptor."""
    whole = 0
    with path.open("rb") as source:
        for number, raw in enumerate(source, start=1):
            try:
                if not raw.endswith(b"\n"):
                    raise msgspec.DecodeError("the line has no end")
                line = _decoder.decode(raw)
            except msgspec.DecodeError as error:
                if repair is None or source.read(1):
                    raise Misconfigured(
                        f"line {number} of {path} cannot be read: {error}",
                        fix="restore the folder from a copy, or remove it to start empty",
                    ) from error
                os.ftruncate(repair, whole)
                return
            whole += len(raw)
            yield line
