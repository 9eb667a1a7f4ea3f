"""What the cluster holds of one resource, as last read: objects by name, indexes, and which news is old.

Versions compare as numbers, within one resource only; what is older than what is held is ignored.
Reading never waits and never copies an object.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

import msgspec

from hawser.views.base import Object

T = TypeVar("T")
Key = tuple[str, str]  # namespace ("" when there is none) and name
Index = Callable[[T], Iterable[str]]

_TOMBSTONES_KEPT: Final = 20_000


class Change(msgspec.Struct, Generic[T], frozen=True):
    """What happened to one object. `old` of a deleted one is its last known state."""

    kind: Literal["added", "modified", "deleted"]
    old: T | None
    new: T | None

    @property
    def latest(self) -> T:
        """The object as it is now, or as it was when it was deleted."""
        latest = self.new if self.new is not None else self.old
        assert latest is not None
        return latest


class Identity(NamedTuple):
    """Which object, which incarnation of it, which version."""

    key: Key
    uid: str
    version: int


def identify(item: Any) -> Identity | None:
    """Who a view or a raw object is; None when it has no name."""
    if isinstance(item, Object):
        meta = item.metadata
        namespace, name, uid, version = meta.namespace, meta.name, meta.uid, meta.resource_version
    else:
        raw = item.get("metadata", {})
        namespace, name, uid = raw.get("namespace", ""), raw.get("name", ""), raw.get("uid", "")
        version = raw.get("resourceVersion", "")
    if not name or not version.isdecimal():
        return None
    return Identity((namespace, name), uid, int(version))


class Cache(Generic[T]):
    """Read by everyone, written only by its reflector."""

    def __init__(self, indexes: Mapping[str, Index[T]]) -> None:
        self._objects: dict[Key, T] = {}
        self._indexes = dict(indexes)
        self._buckets: dict[str, dict[str, dict[Key, T]]] = {name: {} for name in indexes}
        self._snapshot: tuple[T, ...] | None = ()
        # News of an object that is not here is old when it is no newer than the object's deletion, or than
        # the floor: the last list, or the last deletion that was forgotten for want of room.
        self._deleted_at: dict[Key, int] = {}
        self._floor = 0

    # -- reading

    def get(self, namespace: str, name: str) -> T | None:
        """The object, or None. None is no proof of absence: only a live 404 is."""
        return self._objects.get((namespace, name))

    def values(self) -> tuple[T, ...]:
        """All objects as of now; the tuple never changes, and is made once between two changes."""
        if self._snapshot is None:
            self._snapshot = tuple(self._objects.values())
        return self._snapshot

    def by_index(self, index: str, key: str) -> tuple[T, ...]:
        """The objects that the index files under this key."""
        bucket = self._buckets[index].get(key)
        return tuple(bucket.values()) if bucket else ()

    def index_keys(self, index: str) -> tuple[str, ...]:
        """The keys under which the index files anything."""
        return tuple(self._buckets[index])

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    # -- writing

    def put(self, item: T, identity: Identity) -> tuple[Change[T], ...]:
        """Take in an object that was added or modified, unless that is old news."""
        key = identity.key
        held = self._objects.get(key)
        if held is None:
            if identity.version <= self._floor or identity.version <= self._deleted_at.get(key, 0):
                return ()
            self._deleted_at.pop(key, None)
            self._store(key, None, item)
            return (Change("added", None, item),)
        if identity.version <= max(_known(held).version, self._floor):
            return ()
        return self._exchange(key, held, item, identity)

    def remove(self, item: T, identity: Identity) -> tuple[Change[T], ...]:
        """Take out an object that was deleted, unless that is old news."""
        held = self._objects.get(identity.key)
        if held is None:
            self._remember_deletion(identity.key, identity.version)
            return ()
        holding = _known(held)
        if identity.version < holding.version:
            return ()
        self._remember_deletion(identity.key, identity.version)
        self._discard(identity.key, held)
        return (Change("deleted", item if identity.uid == holding.uid else held, None),)

    def replace(self, listed: Mapping[Key, tuple[Identity, T]], version: int, *, whole: bool) -> list[Change[T]]:
        """Become what a list of that version says; what it lacks was deleted, if it is a `whole` list.

        The list is newer than all that is held, also where the version of an object is lower: such a cluster was
        restored from a backup.
        """
        self._deleted_at.clear()
        changes: list[Change[T]] = []
        for identity, item in listed.values():
            held = self._objects.get(identity.key)
            if held is None:
                self._store(identity.key, None, item)
                changes.append(Change("added", None, item))
            elif identity.version != _known(held).version:
                changes += self._exchange(identity.key, held, item, identity)
        if whole:
            for key in [key for key in self._objects if key not in listed]:
                gone = self._objects[key]
                self._discard(key, gone)
                changes.append(Change("deleted", gone, None))
        self._floor = version
        return changes

    def _exchange(self, key: Key, held: T, item: T, identity: Identity) -> tuple[Change[T], ...]:
        self._store(key, held, item)
        if identity.uid != _known(held).uid:
            return (Change("deleted", held, None), Change("added", None, item))
        return (Change("modified", held, item),)

    def _store(self, key: Key, held: T | None, item: T) -> None:
        self._objects[key] = item
        self._snapshot = None
        for name, index in self._indexes.items():
            buckets = self._buckets[name]
            filed = set(index(item))
            if held is not None:
                self._unfile(buckets, key, set(index(held)) - filed)
            for bucket in filed:
                buckets.setdefault(bucket, {})[key] = item

    def _discard(self, key: Key, held: T) -> None:
        del self._objects[key]
        self._snapshot = None
        for name, index in self._indexes.items():
            self._unfile(self._buckets[name], key, set(index(held)))

    def _unfile(self, buckets: dict[str, dict[Key, T]], key: Key, filed: set[str]) -> None:
        for bucket in filed:
            del buckets[bucket][key]
            if not buckets[bucket]:
                del buckets[bucket]

    def _remember_deletion(self, key: Key, version: int) -> None:
        self._deleted_at[key] = max(version, self._deleted_at.pop(key, 0))
        if len(self._deleted_at) > _TOMBSTONES_KEPT:
            oldest = next(iter(self._deleted_at))
            self._floor = max(self._floor, self._deleted_at.pop(oldest))


def _known(held: Any) -> Identity:
    identity = identify(held)
    assert identity is not None, "only identified objects are stored"
    return identity
