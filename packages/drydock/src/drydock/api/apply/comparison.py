"""Which fields an object has, and which ones differ between two objects, along their shape."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from drydock.api.apply.field_sets import FieldSet, union
from drydock.api.schema.shape import ANY, Schema

_SELF: FieldSet = {".": {}}
_LEAF: FieldSet = {}

# Built-in kinds are Go structs, and these fields hold structs, not pointers: they are always there, though empty,
# and so nobody owns their presence.
_ALWAYS_THERE = frozenset(
    {
        "acceptedNames",
        "daemonEndpoints",
        "jobTemplate",
        "kubeletEndpoint",
        "loadBalancer",
        "metadata",
        "names",
        "nodeInfo",
        "resources",
        "source",
        "spec",
        "status",
        "strategy",
        "template",
        "updateStrategy",
    }
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The fields in which a second object differs from a first."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def taken(self) -> FieldSet:
        """What the writer of the second object has set."""
        return union(self.added, self.modified)


def is_built_in(schema: Schema) -> bool:
    """Custom kinds have no OpenAPI definition of their own."""
    return schema.name.startswith("io.k8s.")


def item_step(schema: Schema, item: Any) -> str:
    """The step from a list to one of its items; `schema` is the list's."""
    if schema.list_type == "set":
        return f"v:{_json(item)}"
    shape = schema.items or ANY
    keys: dict[str, Any] = {}
    for name in sorted(schema.list_keys):
        value = item.get(name) if isinstance(item, dict) else None
        if value is None:
            value = _key_default(shape, name)
        if value is not None:
            keys[name] = value
    return f"k:{_json(keys)}"


def _key_default(shape: Schema, name: str) -> Any:
    field = shape.child(name)
    if field.default is None and is_built_in(shape) and name in shape.required:
        return "" if field.type == "string" else 0  # what a Go struct has where nothing was said
    return field.default


def is_keyed(schema: Schema) -> bool:
    return schema.list_type != "atomic"


def field_set(schema: Schema, value: dict[str, Any]) -> FieldSet:
    """The fields that someone who applies `value` owns: leaves, list items and entries of free maps."""
    found: FieldSet = {}
    for key, item in value.items():
        child = schema.child(key)
        below = _owned_below(child, item)
        if below and key not in schema.properties:
            below = {**_SELF, **below}
        if below is not None:
            found[f"f:{key}"] = below
    return found


def compare(schema: Schema, old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """Equal parts cost one comparison; only what differs is walked."""
    found = Comparison({}, {}, {})
    _compare_maps(schema, old, new, found, is_built_in(schema))
    return found


def _owned_below(schema: Schema, value: Any) -> FieldSet | None:
    """What is owned of a value: `{}` for the value as a whole, None for nothing (an empty keyed list)."""
    if isinstance(value, dict):
        return _LEAF if schema.atomic_map or not value else field_set(schema, value)
    if isinstance(value, list) and is_keyed(schema):
        found: FieldSet = {}
        for step, item in _steps(schema, value):
            below = _owned_below(schema.items or ANY, item)
            found[step] = {**_SELF, **below} if below else _LEAF
        return found or None
    return _LEAF


def _whole(schema: Schema, value: Any) -> FieldSet:
    """All of a subtree that was not there before, with the presence of each of its levels."""
    if not value:
        return _LEAF
    if isinstance(value, dict) and not schema.atomic_map:
        return {**_SELF, **{f"f:{key}": _whole(schema.child(key), item) for key, item in value.items()}}
    if isinstance(value, list) and is_keyed(schema):
        shape = schema.items or ANY
        return {**_SELF, **{step: _whole(shape, item) for step, item in _steps(schema, value)}}
    return _LEAF


def _compare_maps(schema: Schema, old: dict[str, Any], new: dict[str, Any], found: Comparison, struct: bool) -> None:
    for key, value in new.items():
        before = old.get(key)
        if before is None and key not in old:
            before = _empty_struct(schema, key, value) if struct else None
            if before is None:
                found.added[f"f:{key}"] = _whole(schema.child(key), value)
                continue
        if before is not value and before != value:
            _compare_values(schema.child(key), before, value, f"f:{key}", found, struct)
    for key, before in old.items():
        if key not in new:
            found.removed[f"f:{key}"] = _whole(schema.child(key), before)


def _empty_struct(schema: Schema, key: str, value: Any) -> Any:
    if key in _ALWAYS_THERE and isinstance(value, dict):
        return {}
    if key in schema.required and isinstance(value, list):
        return []
    return None


def _compare_values(schema: Schema, old: Any, new: Any, step: str, found: Comparison, struct: bool) -> None:
    if isinstance(old, dict) and isinstance(new, dict) and not schema.atomic_map and (old or new):
        _descend(found, step, lambda inner: _compare_maps(schema, old, new, inner, struct))
    elif isinstance(old, list) and isinstance(new, list) and is_keyed(schema) and (old or new):
        _descend(found, step, lambda inner: _compare_lists(schema, old, new, inner, struct))
    else:
        found.modified[step] = _LEAF


def _compare_lists(schema: Schema, old: list[Any], new: list[Any], found: Comparison, struct: bool) -> None:
    shape = schema.items or ANY
    before = dict(_steps(schema, old))
    after = dict(_steps(schema, new))
    for step, item in after.items():
        if step not in before:
            found.added[step] = _whole(shape, item)
        elif before[step] != item:
            _compare_values(shape, before[step], item, step, found, struct)
    for step, item in before.items():
        if step not in after:
            found.removed[step] = _whole(shape, item)


def _descend(found: Comparison, step: str, walk: Callable[[Comparison], None]) -> None:
    inner = Comparison({}, {}, {})
    walk(inner)
    for outer, part in ((found.added, inner.added), (found.modified, inner.modified), (found.removed, inner.removed)):
        if part:
            outer[step] = part


def _steps(schema: Schema, items: list[Any]) -> Iterable[tuple[str, Any]]:
    """Each item with its step. Items that only differ outside their keys share one, and so one owner."""
    return [(item_step(schema, item), item) for item in items]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
