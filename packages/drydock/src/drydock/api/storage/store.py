"""Everything the API holds: tables of objects, one rising version for all, a history for each table.

Objects are never changed in place: a write replaces them, so old states stay true for watches and pages.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from drydock.api.answers.status import Refusal
from drydock.api.kinds.kind import Object

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

HISTORY_CAPACITY = 10_000
BUMPED_REVISIONS = 1_000_000
DECODED_CAPACITY = 1_024  # states kept decoded: those that are written and watched right now


class TableKey(NamedTuple):
    """A table is named by what it holds, whatever the version it is served in."""

    group: str
    plural: str


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """One state of one object, as JSON: a store of thousands would otherwise be millions of dicts to walk for the
    garbage collector, most of them of states long past."""

    key: str
    encoded: bytes
    version: int

    @property
    def object(self) -> Object:
        """The state to read only: it is shared by all who ask."""
        return _decoded(self)

    def copy(self) -> Object:
        """The state to work on: decoding is the fastest deep copy there is."""
        copied: Object = msgspec.json.decode(self.encoded)
        return copied


@lru_cache(maxsize=DECODED_CAPACITY)
def _decoded(stored: Stored) -> Object:
    return stored.copy()


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a table's history. `stored` is the new state, for a deletion the last one."""

    type: ChangeType
    stored: Stored
    previous: Stored | None
    lines: dict[object, bytes] = field(default_factory=dict)  # watch events, encoded once for all watchers

    @property
    def version(self) -> int:
        return self.stored.version


class Recorder(Protocol):
    """Keeps changes beyond the life of the process."""

    def record(self, table: TableKey, key: str, version: int, encoded: bytes | None) -> None: ...


class Forgetful:
    """A recorder for a store that ends with its process."""

    def record(self, table: TableKey, key: str, version: int, encoded: bytes | None) -> None:
        return None


class Table:
    """The objects of one resource, in key order, and the changes that led to them."""

    def __init__(self, key: TableKey, version: int, history_capacity: int) -> None:
        self.key = key
        self.objects: dict[str, Stored] = {}
        self.history: list[Change] = []
        self.first_position = 0  # of history[0], counted from the beginning of time
        self.oldest_version = version  # states before this one are forgotten
        self.last_version = version
        self._keys: list[str] = []
        self._capacity = history_capacity
        self._listeners: list[Callable[[Change], None]] = []
        self.wakers: set[Callable[[], None]] = set()

    @property
    def next_position(self) -> int:
        return self.first_position + len(self.history)

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Call on every change from now on, before the writer goes on."""
        self._listeners.append(listener)

    def range(self, prefix: str, after: str = "") -> Iterator[Stored]:
        """Current objects whose key starts with the prefix and lies behind `after`, in order."""
        start = bisect_right(self._keys, prefix + after) if after else bisect_left(self._keys, prefix)
        for position in range(start, len(self._keys)):
            key = self._keys[position]
            if not key.startswith(prefix):
                return
            yield self.objects[key]

    def range_at(self, version: int, prefix: str, after: str = "") -> Iterator[Stored]:
        """The same range as it was at a version; 410 when that is forgotten."""
        if version < self.oldest_version:
            raise expired("The resourceVersion for the provided list is too old.")
        then: dict[str, Stored | None] = {}
        for change in reversed(self.history):
            if change.version <= version:
                break
            then[change.stored.key] = change.previous
        if not then:
            yield from self.range(prefix, after)
            return
        kept = {stored.key: stored for stored in self.range(prefix, after)}
        for key, stored in then.items():
            if stored is None:
                kept.pop(key, None)
            elif key.startswith(prefix) and key > prefix + after:
                kept[key] = stored
        for key in sorted(kept):
            yield kept[key]

    def position_after(self, version: int) -> int:
        """Where a watch from this version starts reading; 410 when changes since then are forgotten."""
        if version < self.oldest_version:
            raise expired(f"too old resource version: {version} ({self.oldest_version})")
        return self.first_position + bisect_right(self.history, version, key=lambda change: change.version)

    def load(self, stored: Stored) -> None:
        """Take in an object from a former life: no history, no event."""
        self.objects[stored.key] = stored
        insort(self._keys, stored.key)

    def apply(self, change: Change) -> None:
        """Take in a change and notify all watches."""
        key = change.stored.key
        match change.type:
            case "ADDED":
                self.objects[key] = change.stored
                insort(self._keys, key)
            case "MODIFIED":
                self.objects[key] = change.stored
            case "DELETED":
                del self.objects[key]
                del self._keys[bisect_left(self._keys, key)]
        self.last_version = change.version
        self.history.append(change)
        if len(self.history) > self._capacity:
            self.forget(len(self.history) // 4)
        for listener in self._listeners:
            listener(change)
        for wake in tuple(self.wakers):
            wake()

    def replace(self, objects: dict[str, Stored], version: int) -> None:
        """Hold these objects instead, without a history: every watch gets 410."""
        self.objects = dict(objects)
        self._keys = sorted(objects)
        self.first_position = self.next_position + 1
        self.history = []
        self.oldest_version = self.last_version = version
        for wake in tuple(self.wakers):
            wake()

    def forget(self, count: int) -> None:
        """Drop the oldest changes."""
        if count:
            self.oldest_version = self.history[count - 1].version
            del self.history[:count]
            self.first_position += count


class Store:
    """All tables and the version they share."""

    def __init__(self, recorder: Recorder | None = None, *, history_capacity: int = HISTORY_CAPACITY) -> None:
        self.version = 1
        self._recorder = recorder or Forgetful()
        self._capacity = history_capacity
        self._tables: dict[TableKey, Table] = {}

    def table(self, key: TableKey) -> Table:
        """The table of a resource; an empty one when nothing was ever written to it."""
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = Table(key, self.version if self.version > 1 else 0, self._capacity)
        return found

    def tables(self) -> list[Table]:
        return list(self._tables.values())

    def lookup(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        """One object, to read only."""
        stored = self.table(TableKey(group, plural)).objects.get(object_key(namespace, name))
        return stored.object if stored else None

    def put(self, table: Table, key: str, new: Object) -> Stored:
        """Write an object, new or changed; it gets the next version."""
        previous = table.objects.get(key)
        stored = self._stamp(key, new)
        self._recorder.record(table.key, key, stored.version, stored.encoded)
        table.apply(Change("MODIFIED" if previous else "ADDED", stored, previous))
        return stored

    def remove(self, table: Table, key: str) -> Stored:
        """Delete an object; watchers get its last state under the version of its end."""
        previous = table.objects[key]
        stored = self._stamp(key, previous.copy())
        self._recorder.record(table.key, key, stored.version, None)
        table.apply(Change("DELETED", stored, previous))
        return stored

    def restore(self, table_key: TableKey, key: str, version: int, encoded: bytes) -> None:
        """Take in an object from the journal."""
        self.table(table_key).load(Stored(key, encoded, version))

    def resume(self, version: int) -> None:
        """Go on from the version of a former life, whose history is forgotten."""
        self.version = max(self.version, version)
        for table in self._tables.values():
            table.oldest_version = table.last_version = self.version

    def compact(self) -> None:
        """Forget all history: older watches and pages get 410 from now on."""
        for table in self._tables.values():
            table.forget(len(table.history))
            table.oldest_version = self.version
            for wake in tuple(table.wakers):
                wake()

    def snapshot(self) -> Callable[[], None]:
        """A function that brings back the objects as they are now.

        As after `etcdutl snapshot restore --bump-revision --mark-compacted`: versions rise on, all history is gone.
        """
        saved = {table.key: dict(table.objects) for table in self._tables.values()}

        def restore() -> None:
            self.version += BUMPED_REVISIONS
            for table in self._tables.values():
                table.replace(saved.get(table.key, {}), self.version)

        return restore

    def _stamp(self, key: str, new: Object) -> Stored:
        self.version += 1
        new["metadata"]["resourceVersion"] = str(self.version)
        return Stored(key, encode_object(new), self.version)


def object_key(namespace: str, name: str) -> str:
    """Keys sort as etcd's do: byte by byte over namespace/name."""
    return f"{namespace}/{name}" if namespace else name


def encode_object(whole: Object) -> bytes:
    """An object as JSON, with what it is in front."""
    head = {"kind": whole["kind"], "apiVersion": whole["apiVersion"], "metadata": whole["metadata"]}
    return msgspec.json.encode({**head, **whole})


def without_type(encoded: bytes) -> bytes:
    """An object as an item of a list of a built-in kind: without kind and apiVersion."""
    return b"{" + encoded[encoded.index(b'"metadata"') :]


def with_version(stored: Stored, version: int) -> bytes:
    """A former state under the version of the change that ended it."""
    metadata: dict[str, Any] = {**stored.object["metadata"], "resourceVersion": str(version)}
    return msgspec.json.encode({**stored.object, "metadata": metadata})


def expired(message: str) -> Refusal:
    return Refusal(410, "Expired", message)
