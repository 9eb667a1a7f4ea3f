"""From bytes to views: strict and fast first, forgiving only for the object that needs it.

An API server may send `null` for an empty list, and a custom resource may have been stored under an older schema.
Neither may cost the rest of a list. What stays unreadable is named in the object's `defects`.
"""

import re
from typing import Any, Generic, TypeVar, cast

import msgspec

from hawser.views.base import Object
from hawser.views.pod import Pod
from hawser.views.sharing import share_pod_parts

T = TypeVar("T")

_MOST_DEFECTS = 100
_ERROR = re.compile(r"^(?P<what>.*?)(?: - at `(?:key` in `)?\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]")


class ListMeta(msgspec.Struct, rename="camel"):
    """The metadata of a list; `continue` is where its next page begins."""

    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")


class ListBody(msgspec.Struct, Generic[T]):
    """A list on the wire; no items may come as null."""

    metadata: ListMeta
    items: list[T] | None = None


class EventBody(msgspec.Struct, Generic[T]):
    """A watch event on the wire."""

    type: str
    object: T


class ViewDecoder(Generic[T]):
    """Reads objects, lists and watch events of one view. Raises `msgspec.DecodeError` when the bytes are no JSON or
    not even a list or an event; never because of what an object holds. Pods of lists and watches, which are kept in
    caches, share their parts."""

    def __init__(self, view: type[T]) -> None:
        self._view = view
        self._object = msgspec.json.Decoder(view)
        self._list = msgspec.json.Decoder(ListBody[view])  # type: ignore[valid-type]
        self._event = msgspec.json.Decoder(EventBody[view])  # type: ignore[valid-type]

    def object(self, body: bytes | msgspec.Raw) -> T:
        try:
            return self._object.decode(body)
        except msgspec.ValidationError:
            return read_forgivingly(body, self._view)

    def list(self, body: bytes) -> ListBody[T]:
        try:
            found: ListBody[T] = self._list.decode(body)
        except msgspec.ValidationError:
            outer = _RAW_LIST.decode(body)
            found = ListBody(outer.metadata, [self.object(item) for item in outer.items or ()])
        if self._view is Pod:
            for pod in cast(ListBody[Pod], found).items or ():
                share_pod_parts(pod)
        return found

    def event(self, line: bytes) -> EventBody[T]:
        try:
            found: EventBody[T] = self._event.decode(line)
        except msgspec.ValidationError:
            outer = _RAW_EVENT.decode(line)
            found = EventBody(outer.type, self.object(outer.object))
        if isinstance(found.object, Pod):
            share_pod_parts(found.object)
        return found


_RAW_LIST = msgspec.json.Decoder(ListBody[msgspec.Raw])
_RAW_EVENT = msgspec.json.Decoder(EventBody[msgspec.Raw])


_DECODERS: dict[type, ViewDecoder[Any]] = {}


def decoder_for(view: type[T]) -> ViewDecoder[T]:
    """The decoder of a view; made once."""
    if view not in _DECODERS:
        _DECODERS[view] = ViewDecoder(view)
    return _DECODERS[view]


def read_forgivingly(body: bytes | msgspec.Raw, view: type[T]) -> T:
    """Reads nulls as absent, and leaves out, one by one, the fields that do not fit the view."""
    value = _without_nulls(msgspec.json.decode(body))
    defects: list[str] = []
    while True:
        try:
            found = msgspec.convert(value, view)
            break
        except msgspec.ValidationError as error:
            match = cast(re.Match[str], _ERROR.match(str(error)))
            path = match["path"] or ""
            defects.append(f"{path.removeprefix('.') or 'object'}: {match['what']}")
            if not path or len(defects) == _MOST_DEFECTS or not _drop(value, path):
                value = {}
    if defects and isinstance(found, Object):
        return msgspec.structs.replace(found, defects=tuple(defects))
    return found


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [_without_nulls(item) for item in value if item is not None]
        case _:
            return value


def _drop(value: Any, path: str) -> bool:
    """Takes out what is at the path of a msgspec error; a map's value has no key there, so the map goes as a whole."""
    steps: list[str | int] = [match["key"] or int(match["index"]) for match in _STEP.finditer(path.split("[...]")[0])]
    for step in steps[:-1]:
        value = value[step]
    if steps:
        del value[steps[-1]]
    return bool(steps)
