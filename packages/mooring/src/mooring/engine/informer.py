"""A few kinds watched together: their caches, whether these can be believed, and who is called when one changes."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hawser.cache import Index
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.follower import Follower, MergedReflector
from hawser.reflector import Pace, Reflector, Scope
from hawser.resources import Resource
from mooring.model.timeouts import Timeouts

T = TypeVar("T")
OnChange = Callable[[str, str], None]  # kind ("pool", "worker", "node", "warmup", "service", …) and key


class Informer:
    """Runs on every replica: what is watched does not depend on which replica watches (control-plane-failover)."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy, pace: Pace = Pace()) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._pace = pace
        self._reflectors: dict[str, Follower[Any]] = {}
        self._listeners: list[OnChange] = []

    def reflect(
        self, name: str, resource: Resource[T], *, label_selector: str = "", indexes: Mapping[str, Index[T]] = {}
    ) -> Follower[T]:
        """Add a cache, under this name on health pages and in metrics. Call it before `run`.

        It follows the namespaces that the client may list: all of them, or each one by a watch of its own.
        """

        def reflector(namespace: str | None) -> Reflector[T]:
            return Reflector(
                self._client,
                resource,
                clock=self._clock,
                entropy=self._entropy,
                pace=self._pace,
                scope=Scope(namespace, label_selector=label_selector),
                indexes=indexes,
            )

        named = self._client.namespaces if resource.namespaced else ()
        follower: Follower[T] = MergedReflector({one: reflector(one) for one in named}) if named else reflector(None)
        self._reflectors[name] = follower
        return follower

    @property
    def reflectors(self) -> Mapping[str, Follower[Any]]:
        """Its caches by name, for health pages and metrics."""
        return self._reflectors

    def subscribe(self, listener: OnChange) -> None:
        """Call `listener` for every change; it must not wait."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors.values():
                group.create_task(reflector.run())

    async def wait_synced(self) -> None:
        """Until every cache has read its last page."""
        for reflector in self._reflectors.values():
            await reflector.wait_synced()

    @property
    def synced(self) -> bool:
        """Whether every cache has been read."""
        return all(reflector.synced for reflector in self._reflectors.values())

    @property
    def fresh(self) -> bool:
        """Whether nothing destructive needs to fear an old view: synced, and no watch is silent or failing."""
        return self.synced and all(reflector.health.fresh for reflector in self._reflectors.values())

    def _notify(self, kind: str, key: str) -> None:
        for listener in self._listeners:
            listener(kind, key)


def watch_pace(timeouts: Timeouts) -> Pace:
    """How patient the watches of a control plane are."""
    return Pace(silence_seconds=timeouts.watch_silence, watch_seconds=(timeouts.watch_life, 2 * timeouts.watch_life))
