"""A kind as the API serves it: its names, its shape, its subresources, its own rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from drydock.api.answers.status import Cause
from drydock.api.schema.shape import Schema

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What a strategy may know of the request: never a clock or a socket."""

    now: datetime
    new_uid: Callable[[], str]
    lookup: Callable[[str, str, str, str], Object | None]  # group, plural, namespace, name -> stored object
    user: str = ""


class Strategy(Protocol):
    """A kind's own rules, called by the verbs in this order: prepare (fills in defaults, clears what clients may
    not set), then validate (returns what is wrong). `subresource` is "" or "status", "scale", "binding"..."""

    def prepare_create(self, new: Object, context: Context) -> None: ...

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]: ...

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None: ...

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]: ...


class PlainStrategy:
    """A kind with no rules beyond its shape."""

    def prepare_create(self, new: Object, context: Context) -> None:
        return None

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return ()

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        return None

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        return ()


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column: `json_path` as in a CRD, or a function for built-in kinds."""

    name: str
    type: str = "string"
    json_path: str = ""
    priority: int = 0
    description: str = ""
    compute: Callable[[Object, datetime], Any] | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """Everything the server needs to serve a kind."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    schema: Schema
    strategy: Strategy = field(default_factory=PlainStrategy)
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()  # status, scale, log, eviction, binding, token
    verbs: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    columns: tuple[Column, ...] = ()
    spec_has_generation: bool = False  # metadata.generation rises when spec changes
    scale_paths: tuple[str, str, str] | None = None  # spec replicas, status replicas, label selector
    selectable_fields: tuple[str, ...] = ()  # beyond metadata.name and metadata.namespace
    field_value: Callable[[Object, str], str] | None = None  # reads a selectable field
    use_instead: str = ""  # set when no controller runs such objects: none can be created
    custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version
