"""The garbage collector: deletes what has lost its last owner, in the background, the foreground, or not at all.

An owner counts as gone only when a live GET answers 404, or answers with another uid under its name.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from drydock.actors.garbage.kinds_known import BUILT_IN, KnownKinds, resource_of
from drydock.actors.garbage.ownership import (
    FOREGROUND,
    ORPHAN,
    Item,
    Owner,
    OwnerGraph,
    read_object,
    read_view,
)
from drydock.actors.machinery.informers import Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import (
    Object,
    finalizers_of,
    is_terminating,
    name_of,
    owners_of,
    uid_of,
)
from hawser.cache import Change
from hawser.client import KubeClient, Propagation
from hawser.clock import Clock, Entropy
from hawser.errors import NotFound, NotServed, ObjectNotFound
from hawser.reflector import Reflector
from hawser.resources import EVENTS, Resource
from hawser.views import PartialObject

_LOOK_AGAIN_SECONDS = 30.0
_SOON_SECONDS = 0.1


class GarbageCollector:
    """Follows every kind there is, also those that definitions add while it runs."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock, entropy: Entropy) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._kinds = KnownKinds(informers)
        self._graph = OwnerGraph()
        self._followed: dict[str, asyncio.Task[None]] = {}  # custom kinds, by the name of their definition
        self._definitions_changed = asyncio.Event()
        self._definitions = informers.definitions
        self.loop: ReconcileLoop[str] = ReconcileLoop("garbage", self._reconcile, clock)
        shared = {one.resource: one for one in informers.shared()}
        self._reflectors: list[Reflector[PartialObject]] = []
        for resource in BUILT_IN:
            if resource.plural == EVENTS.plural:
                continue  # events own nothing and are owned by nobody, and there are many
            if (one := shared.get(resource.raw())) is not None:
                one.reflector.subscribe(self._object_listener(resource.raw()))
            else:
                self._reflectors.append(self._follow(resource.raw()))
        informers.definitions.subscribe(self._on_definition)

    async def run(self) -> None:
        """Follow what no other actor follows, and collect, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run())
            for reflector in self._reflectors:
                await reflector.wait_synced()
            group.create_task(self._follow_definitions(group))
            group.create_task(self.loop.run())

    # -- what happened

    def _object_listener(self, resource: Resource[Object]) -> Callable[[Change[Object]], None]:
        def listen(change: Change[Object]) -> None:
            if change.new is None:
                assert change.old is not None
                self._look_at(self._graph.remove(uid_of(change.old)))
            elif change.old is None or _ties(change.old) != _ties(change.new):
                self._look_at(self._graph.put(read_object(resource, change.new)))

        return listen

    def _view_listener(self, resource: Resource[Object]) -> Callable[[Change[PartialObject]], None]:
        def listen(change: Change[PartialObject]) -> None:
            if change.new is None:
                assert change.old is not None
                self._look_at(self._graph.remove(change.old.metadata.uid))
            else:
                self._look_at(self._graph.put(read_view(resource, change.new)))

        return listen

    def _look_at(self, uids: Sequence[str]) -> None:
        for uid in uids:
            self.loop.add(uid)

    def _follow(self, resource: Resource[Object]) -> Reflector[PartialObject]:
        narrow: Resource[PartialObject] = Resource(
            resource.group, resource.version, resource.plural, resource.kind, resource.namespaced, PartialObject
        )
        reflector = Reflector(self._client, narrow, clock=self._clock, entropy=self._entropy)
        reflector.subscribe(self._view_listener(resource))
        return reflector

    def _on_definition(self, change: Change[Object]) -> None:
        self._definitions_changed.set()

    async def _follow_definitions(self, group: asyncio.TaskGroup) -> None:
        """Follow each custom kind while its definition stands."""
        while True:
            self._definitions_changed.clear()
            served = {name_of(one): one for one in self._definitions.cache.values() if resource_of(one) is not None}
            for name in [name for name in self._followed if name not in served]:
                self._followed.pop(name).cancel()
            for name, definition in served.items():
                resource = resource_of(definition)
                if name not in self._followed and resource is not None:
                    task = group.create_task(self._follow(resource).run(), name=f"garbage-{name}")
                    self._followed[name] = task
            await self._definitions_changed.wait()

    # -- what to do

    async def _reconcile(self, uid: str) -> float | None:
        item = self._graph.get(uid)
        if item is None:
            return None
        if item.orphaning:
            return await self._orphan_dependents(item)
        if item.foreground:
            return await self._finish_foreground(item)
        if item.terminating:
            return None  # its deletion will be seen, and its dependents looked at then
        return await self._collect(item)

    async def _collect(self, item: Item) -> float | None:
        """Delete the item if no owner is left; drop references to owners that are gone."""
        latest = await self._live(item)
        if latest is None:
            self._look_at(self._graph.remove(item.uid))
            return None
        current = read_object(item.resource, latest)
        if not current.owners or is_terminating(latest):
            return None
        solid, waiting, dangling = await self._classify(current)
        if solid:
            if waiting or dangling:
                await self._drop_references(current, latest, [owner.uid for owner in (*waiting, *dangling)])
            return None
        propagation: Propagation = "Background"
        if waiting and self._graph.dependents(item.uid):
            if await self._broke_cycle(current, latest):
                return _SOON_SECONDS
            propagation = "Foreground"
        elif ORPHAN in finalizers_of(latest):
            propagation = "Orphan"
        elif FOREGROUND in finalizers_of(latest):
            propagation = "Foreground"
        await self._delete(current, latest, propagation)
        return None

    async def _classify(self, item: Item) -> tuple[list[Owner], list[Owner], list[Owner]]:
        """Owners that are there, owners that wait for their dependents, and owners that are gone."""
        solid: list[Owner] = []
        waiting: list[Owner] = []
        dangling: list[Owner] = []
        for owner in item.owners:
            known = self._graph.get(owner.uid)
            if known is not None:
                (waiting if known.foreground else solid).append(owner)
            elif self._graph.is_absent(item.key[0], owner.uid):
                dangling.append(owner)
            else:
                found = await self._live_owner(item, owner)
                if found is None:
                    self._graph.note_absent(item.key[0], owner.uid)
                    dangling.append(owner)
                elif is_terminating(found) and FOREGROUND in finalizers_of(found):
                    waiting.append(owner)
                else:
                    solid.append(owner)
        return solid, waiting, dangling

    async def _live_owner(self, item: Item, owner: Owner) -> Object | None:
        """The owner, live. None is proof that it is gone; an unknown kind proves nothing."""
        resource = self._kinds.find(owner.api_version, owner.kind)
        if resource is None:
            raise NotFound(f'no matches for kind "{owner.kind}" in version "{owner.api_version}"')
        if resource.namespaced and not item.key[0]:
            raise NotFound(f"{item.key[1]} is cluster-scoped and cannot have a namespaced owner")
        try:
            found = await self._client.get(resource, owner.name, item.key[0] if resource.namespaced else None)
        except ObjectNotFound:
            return None
        return found if uid_of(found) == owner.uid else None

    async def _finish_foreground(self, item: Item) -> float | None:
        """Look at the dependents that hold the item up; when there are none, let it go."""
        blocking = self._graph.blocking(item.uid)
        if not blocking:
            await self._remove_finalizer(item, FOREGROUND)
            return None
        for dependent in blocking:
            if not dependent.foreground:
                self.loop.add(dependent.uid)
        return _LOOK_AGAIN_SECONDS

    async def _orphan_dependents(self, item: Item) -> float | None:
        for dependent in self._graph.dependents(item.uid):
            latest = await self._live(dependent)
            if latest is not None:
                await self._drop_references(dependent, latest, [item.uid])
        await self._remove_finalizer(item, ORPHAN)
        return None

    # -- how

    async def _live(self, item: Item) -> Object | None:
        """The item as it is now, or None when it is gone or another has its name."""
        try:
            latest = await self._client.get(item.resource, item.key[1], item.key[0] or None)
        except (ObjectNotFound, NotServed):
            return None
        return latest if uid_of(latest) == item.uid else None

    async def _delete(self, item: Item, latest: Object, propagation: Propagation) -> None:
        try:
            await self._client.delete(
                item.resource,
                item.key[1],
                item.key[0] or None,
                uid=item.uid,
                resource_version=latest["metadata"]["resourceVersion"],
                propagation=propagation,
            )
        except ObjectNotFound:
            self._look_at(self._graph.remove(item.uid))

    async def _drop_references(self, item: Item, latest: Object, uids: Sequence[str]) -> None:
        left = [one for one in owners_of(latest) if one.get("uid") not in uids]
        await self._patch_metadata(item, latest, {"ownerReferences": left or None})

    async def _broke_cycle(self, item: Item, latest: Object) -> bool:
        """Two objects in foreground deletion that own each other would wait for ever: one stops blocking."""
        waits = any(dependent.foreground for dependent in self._graph.dependents(item.uid))
        if not waits or not any(one.get("blockOwnerDeletion") for one in owners_of(latest)):
            return False
        freed = [{**one, "blockOwnerDeletion": False} for one in owners_of(latest)]
        await self._patch_metadata(item, latest, {"ownerReferences": freed})
        return True

    async def _remove_finalizer(self, item: Item, finalizer: str) -> None:
        latest = await self._live(item)
        if latest is not None and finalizer in finalizers_of(latest):
            left = [one for one in finalizers_of(latest) if one != finalizer]
            await self._patch_metadata(item, latest, {"finalizers": left or None})

    async def _patch_metadata(self, item: Item, latest: Object, changes: Object) -> None:
        fenced = {**changes, "uid": item.uid, "resourceVersion": latest["metadata"]["resourceVersion"]}
        try:
            await self._client.merge_patch(item.resource, item.key[1], {"metadata": fenced}, item.key[0] or None)
        except ObjectNotFound:
            self._look_at(self._graph.remove(item.uid))


def _ties(item: Object) -> tuple[Any, ...]:
    """What of an object matters here; most changes change nothing of it."""
    metadata = item["metadata"]
    return metadata.get("ownerReferences"), metadata.get("deletionTimestamp"), metadata.get("finalizers")
