"""What readers see of a followed resource: a cache, its health and its changes, from one reflector or from several.

`MergedReflector` follows a resource in several namespaces, for an account that may not list all of them.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from hawser.cache import Change, Key
from hawser.reflector import Reflector
from hawser.reflector_health import ReflectorHealth

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class CacheReader(Protocol[T_co]):
    """The reading side of a cache."""

    def get(self, namespace: str, name: str) -> T_co | None:
        """The object, or None. None is no proof of absence: only a live 404 is."""
        ...

    def values(self) -> tuple[T_co, ...]:
        """All objects as of now."""
        ...

    def by_index(self, index: str, key: str) -> tuple[T_co, ...]:
        """The objects that the index files under this key."""
        ...

    def index_keys(self, index: str) -> tuple[str, ...]:
        """The keys under which the index files anything."""
        ...

    def __len__(self) -> int: ...

    def __contains__(self, key: Key) -> bool: ...


class Follower(Protocol[T]):
    """A resource that is listed and watched. `Reflector` and `MergedReflector` are followers."""

    @property
    def cache(self) -> CacheReader[T]: ...

    @property
    def synced(self) -> bool:
        """Whether a whole list has ever been taken in."""
        ...

    @property
    def version(self) -> int:
        """How far the cache has come: every change up to this version is in it."""
        ...

    @property
    def health(self) -> ReflectorHealth: ...

    @property
    def stale_seconds(self) -> float:
        """For how long the cache has not followed its watch: 0 while it does, infinite before the first list."""
        ...

    def subscribe(self, callback: Callable[[Change[T]], None]) -> None:
        """Call it with each change, as soon as the cache shows it."""
        ...

    async def wait_synced(self) -> None:
        """Until a whole list has been taken in."""
        ...

    async def run(self) -> None:
        """List and watch until cancelled."""
        ...


class MergedCache(Generic[T]):
    """The caches of several namespaces, read as one."""

    def __init__(self, parts: Mapping[str, CacheReader[T]]) -> None:
        self._parts = dict(parts)

    def get(self, namespace: str, name: str) -> T | None:
        """The object, or None; None also in a namespace that is not followed."""
        part = self._parts.get(namespace)
        return part.get(namespace, name) if part is not None else None

    def values(self) -> tuple[T, ...]:
        """All objects as of now."""
        return tuple(item for part in self._parts.values() for item in part.values())

    def by_index(self, index: str, key: str) -> tuple[T, ...]:
        """The objects that the index files under this key."""
        return tuple(item for part in self._parts.values() for item in part.by_index(index, key))

    def index_keys(self, index: str) -> tuple[str, ...]:
        """The keys under which the index files anything, each once."""
        return tuple(dict.fromkeys(key for part in self._parts.values() for key in part.index_keys(index)))

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts.values())

    def __contains__(self, key: Key) -> bool:
        part = self._parts.get(key[0])
        return part is not None and key in part


class MergedReflector(Generic[T]):
    """One reflector for each namespace, seen as one."""

    def __init__(self, parts: Mapping[str, Reflector[T]]) -> None:
        self._parts: Sequence[Reflector[T]] = tuple(parts.values())
        self.cache: MergedCache[T] = MergedCache({namespace: part.cache for namespace, part in parts.items()})

    @property
    def synced(self) -> bool:
        """Whether a whole list of each namespace has been taken in."""
        return all(part.synced for part in self._parts)

    async def wait_synced(self) -> None:
        """Until a whole list of each namespace has been taken in."""
        for part in self._parts:
            await part.wait_synced()

    @property
    def version(self) -> int:
        """How far the namespace that is furthest behind has come."""
        return min(part.version for part in self._parts)

    @property
    def stale_seconds(self) -> float:
        """Of the namespace that has been stale for longest."""
        return max(part.stale_seconds for part in self._parts)

    def subscribe(self, callback: Callable[[Change[T]], None]) -> None:
        """Call it with each change of every namespace."""
        for part in self._parts:
            part.subscribe(callback)

    @property
    def health(self) -> ReflectorHealth:
        """As bad as the worst namespace; counts are sums."""
        found = [part.health for part in self._parts]
        ages = [one.last_event_age_seconds for one in found]
        known = [age for age in ages if age is not None]
        return ReflectorHealth(
            synced=all(one.synced for one in found),
            watching=all(one.watching for one in found),
            silent=any(one.silent for one in found),
            last_event_age_seconds=max(known) if len(known) == len(ages) else None,
            last_error=next((one.last_error for one in found if one.last_error), ""),
            relists=sum(one.relists for one in found),
            reconnects=sum(one.reconnects for one in found),
            silences=sum(one.silences for one in found),
            stale_lists=sum(one.stale_lists for one in found),
            skipped=sum(one.skipped for one in found),
            defective={name: fields for one in found for name, fields in one.defective.items()},
            subscriber_failures=sum(one.subscriber_failures for one in found),
        )

    async def run(self) -> None:
        """List and watch all namespaces until cancelled."""
        async with asyncio.TaskGroup() as group:
            for part in self._parts:
                group.create_task(part.run())
