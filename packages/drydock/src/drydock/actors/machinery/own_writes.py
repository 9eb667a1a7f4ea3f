"""An actor's own writes that its cache has not shown yet, laid over what the cache shows.

Without it a lagging watch makes a controller create twice, or count a pod again that it has already counted.
"""

from collections.abc import Iterable

from drydock.actors.machinery.objects import Object, is_terminating, uid_of, version_of
from hawser.clock import Clock
from hawser.views.base import format_time

_PATIENCE_SECONDS = 300.0


class OwnWrites:
    """Remembers, by owner, the latest answers to own creates, patches and deletes of the owned objects."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._written: dict[str, dict[str, tuple[Object, float]]] = {}  # owner uid -> uid -> object, until when

    def wrote(self, owner_uid: str, item: Object) -> None:
        """A create or a patch was answered with this object."""
        self._remember(owner_uid, item)

    def deleted(self, owner_uid: str, item: Object) -> None:
        """A delete of this object was accepted: it is on its way out, whatever the cache says."""
        if not is_terminating(item):
            stamp = format_time(self._clock.now())
            item = {**item, "metadata": {**item["metadata"], "deletionTimestamp": stamp}}
        self._remember(owner_uid, item)

    def gone(self, owner_uid: str, uid: str) -> None:
        """The cache saw the object disappear."""
        written = self._written.get(owner_uid)
        if written is not None and written.pop(uid, None) is not None and not written:
            del self._written[owner_uid]

    def forget_owner(self, owner_uid: str) -> None:
        self._written.pop(owner_uid, None)

    def over(self, owner_uid: str, cached: Iterable[Object]) -> list[Object]:
        """The owner's objects: the cache's, brought up to date with own writes it has not shown."""
        written = self._written.get(owner_uid)
        if not written:
            return list(cached)
        objects = {uid_of(item): item for item in cached}
        for uid, (item, until) in list(written.items()):
            if self._is_shown(objects.get(uid), item) or self._clock.monotonic() > until:
                self.gone(owner_uid, uid)
            else:
                objects[uid] = item
        return list(objects.values())

    def _remember(self, owner_uid: str, item: Object) -> None:
        until = self._clock.monotonic() + _PATIENCE_SECONDS
        self._written.setdefault(owner_uid, {})[uid_of(item)] = (item, until)

    @staticmethod
    def _is_shown(cached: Object | None, written: Object) -> bool:
        if cached is None:
            return False
        if is_terminating(written) and not is_terminating(cached):
            return False
        return version_of(cached) >= version_of(written)
