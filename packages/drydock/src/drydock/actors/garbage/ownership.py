"""Who owns whom: the graph behind garbage collection, kept from changes. No API, no clock."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from drydock.actors.machinery.objects import Key, Object, finalizers_of, is_terminating, key_of, owners_of, uid_of
from hawser.resources import Resource
from hawser.views.base import Object as View

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_ABSENT_REMEMBERED = 500


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner reference."""

    uid: str
    api_version: str
    kind: str
    name: str
    blocks: bool  # blockOwnerDeletion


@dataclass(frozen=True, slots=True)
class Item:
    """An object, as far as its ownership goes."""

    resource: Resource[Object]
    key: Key
    uid: str
    owners: tuple[Owner, ...]
    terminating: bool
    foreground: bool  # waits for its dependents
    orphaning: bool  # is to let its dependents go first


def read_object(resource: Resource[Object], item: Object) -> Item:
    """The item of a whole object."""
    owners = tuple(
        Owner(
            one.get("uid", ""),
            one.get("apiVersion", ""),
            one.get("kind", ""),
            one.get("name", ""),
            bool(one.get("blockOwnerDeletion")),
        )
        for one in owners_of(item)
    )
    return _item(resource, key_of(item), uid_of(item), owners, is_terminating(item), finalizers_of(item))


def read_view(resource: Resource[Object], view: View) -> Item:
    """The item of a narrow view."""
    meta = view.metadata
    owners = tuple(
        Owner(one.uid, one.api_version, one.kind, one.name, one.block_owner_deletion) for one in meta.owner_references
    )
    return _item(resource, (meta.namespace, meta.name), meta.uid, owners, view.terminating, meta.finalizers)


def _item(
    resource: Resource[Object],
    key: Key,
    uid: str,
    owners: tuple[Owner, ...],
    terminating: bool,
    finalizers: Iterable[str],
) -> Item:
    held = tuple(finalizers) if terminating else ()
    return Item(resource, key, uid, owners, terminating, FOREGROUND in held, ORPHAN in held)


class OwnerGraph:
    """Items by uid, and the dependents of each uid, seen or unseen."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._absent: OrderedDict[tuple[str, str], None] = OrderedDict()  # namespace, uid of owners proven absent

    def get(self, uid: str) -> Item | None:
        return self._items.get(uid)

    def dependents(self, uid: str) -> list[Item]:
        return [self._items[one] for one in self._dependents.get(uid, ())]

    def blocking(self, uid: str) -> list[Item]:
        """The dependents an owner in foreground deletion waits for."""
        return [
            item for item in self.dependents(uid) if any(owner.uid == uid and owner.blocks for owner in item.owners)
        ]

    def note_absent(self, namespace: str, uid: str) -> None:
        self._absent[namespace, uid] = None
        if len(self._absent) > _ABSENT_REMEMBERED:
            self._absent.popitem(last=False)

    def is_absent(self, namespace: str, uid: str) -> bool:
        return (namespace, uid) in self._absent

    def put(self, item: Item) -> list[str]:
        """Take in an object; returns the uids that have to be looked at because of it."""
        old = self._items.get(item.uid)
        if old == item:
            return []
        self._items[item.uid] = item
        before = {owner.uid: owner for owner in old.owners} if old is not None else {}
        after = {owner.uid: owner for owner in item.owners}
        look: list[str] = []
        for uid in before:
            if uid not in after:
                self._unlink(uid, item.uid)
            if after.get(uid) != before[uid] and self._is_foreground(uid):
                look.append(uid)  # it may wait for one dependent less
        for uid, owner in after.items():
            self._dependents.setdefault(uid, {})[item.uid] = None
            known = self._items.get(uid)
            if before.get(uid) != owner and (known is None or known.foreground):
                look.append(item.uid)
        if item.orphaning or item.foreground:
            look.append(item.uid)
        if item.foreground and not (old is not None and old.foreground):
            look += self._dependents.get(item.uid, ())
        return list(dict.fromkeys(look))

    def remove(self, uid: str) -> list[str]:
        """An object is gone; returns the uids that have to be looked at because of it."""
        item = self._items.pop(uid, None)
        if item is None:
            return []
        look = list(self._dependents.get(uid, ()))
        for owner in item.owners:
            self._unlink(owner.uid, uid)
            if self._is_foreground(owner.uid):
                look.append(owner.uid)
        if look:
            self.note_absent(item.key[0], uid)
        return look

    def _is_foreground(self, uid: str) -> bool:
        item = self._items.get(uid)
        return item is not None and item.foreground

    def _unlink(self, owner: str, uid: str) -> None:
        dependents = self._dependents.get(owner)
        if dependents is not None:
            dependents.pop(uid, None)
            if not dependents:
                del self._dependents[owner]
