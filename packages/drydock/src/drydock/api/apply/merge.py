"""How an applied configuration joins the live object along its shape: merging, removing fields, checking."""

from typing import Any

from drydock.api.apply.comparison import is_keyed, item_step
from drydock.api.apply.field_sets import FieldSet, is_member, readable
from drydock.api.schema.shape import ANY, Schema


class Malformed(ValueError):
    """An applied configuration that does not fit its shape."""


def merge(schema: Schema, live: Any, applied: Any) -> Any:
    """`applied` over `live`: maps and keyed lists join, everything else is replaced."""
    if isinstance(live, dict) and isinstance(applied, dict) and not schema.atomic_map:
        merged = dict(live)
        for key, value in applied.items():
            merged[key] = merge(schema.child(key), live[key], value) if key in live else value
        return merged
    if isinstance(live, list) and isinstance(applied, list) and is_keyed(schema):
        return _merge_lists(schema, live, applied)
    return applied


def remove_fields(schema: Schema, value: Any, gone: FieldSet) -> Any:
    """The value without the members of `gone`; None when nothing is left of a map or a list."""
    if isinstance(value, dict) and not schema.atomic_map:
        kept = {
            key: rest
            for key, item in value.items()
            if (rest := _removed(schema.child(key), item, gone.get(f"f:{key}"))) is not None or item is None
        }
        return kept or None
    if isinstance(value, list) and is_keyed(schema):
        shape = schema.items or ANY
        rests = [_removed(shape, item, gone.get(item_step(schema, item))) for item in value]
        return [rest for rest in rests if rest is not None] or None
    return value


def with_named_fields(schema: Schema, fields: FieldSet) -> FieldSet:
    """The set with each known field as a member where something below it is one."""
    widened: FieldSet = {}
    for step, node in fields.items():
        if step == "." or not node:
            widened[step] = node
            continue
        kind, _, name = step.partition(":")
        below = with_named_fields(schema.child(name) if kind == "f" else schema.items or ANY, node)
        widened[step] = {".": {}, **below} if kind == "f" and name in schema.properties else below
    return widened


def check_applied(schema: Schema, value: Any, path: str = "") -> None:
    """Raises `Malformed` at the first field that is unknown, has the wrong type, or repeats a key."""
    if value is None:
        return
    if isinstance(value, dict) and schema.type in ("object", "any"):
        for key, item in value.items():
            if key not in schema.properties and schema.additional is None and not schema.preserve_unknown:
                raise Malformed(f"{path}.{key}: field not declared in schema")
            check_applied(schema.child(key), item, f"{path}.{key}")
    elif isinstance(value, list) and schema.type in ("array", "any"):
        _check_items(schema, value, path)
    else:
        _check_type(schema, value, path)


def _merge_lists(schema: Schema, live: list[Any], applied: list[Any]) -> list[Any]:
    """Applied items in their order; live items keep their places among them."""
    shape = schema.items or ANY
    wanted = {item_step(schema, item): item for item in applied}
    present = {item_step(schema, item): item for item in live}
    shared = [step for step in wanted if step in present]
    merged: list[Any] = []
    done: set[str] = set()

    def take(step: str) -> None:
        done.add(step)
        merged.append(merge(shape, present[step], wanted[step]) if step in present else wanted[step])

    queue = list(wanted)
    for step, item in ((item_step(schema, item), item) for item in live):
        if step not in wanted:
            merged.append(item)
            continue
        next_shared = next((other for other in shared if other not in done), None)
        if step != next_shared:
            continue  # out of the applied order: it is taken where the applied list has it
        while queue:
            head = queue.pop(0)
            take(head)
            if head == step:
                break
    for step in queue:
        take(step)
    return merged


def _removed(schema: Schema, value: Any, gone: FieldSet | None) -> Any:
    if gone is None:
        return value
    return None if is_member(gone) else remove_fields(schema, value, gone)


def _check_items(schema: Schema, items: list[Any], path: str) -> None:
    shape = schema.items or ANY
    seen: set[str] = set()
    for index, item in enumerate(items):
        if not is_keyed(schema):
            check_applied(shape, item, f"{path}[{index}]")
            continue
        if schema.list_type == "map" and not isinstance(item, dict):
            raise Malformed(f"{path}: element {index}: associative list with keys may not have non-map elements")
        step = item_step(schema, item)
        if step == "k:{}":
            keys = " ".join(f'"{key}"' for key in schema.list_keys)
            told = f"an element that omits all key fields [{keys}] (and doesn't have default values for any key fields)"
            raise Malformed(f"{path}: element {index}: associative list with keys has {told}")
        if step in seen:
            raise Malformed(f"{path}: duplicate entries for key {readable(step)}")
        seen.add(step)
        check_applied(shape, item, path + readable(step))


def _check_type(schema: Schema, value: Any, path: str) -> None:
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    match schema.type:
        case "object":
            raise Malformed(f"{path}: expected map, got &{{{value}}}")
        case "array":
            raise Malformed(f"{path}: expected list, got &{{{value}}}")
        case "string" if not schema.format and not isinstance(value, str):
            raise Malformed(f"{path}: expected string, got &value.valueUnstructured{{Value:{shown}}}")
        case "boolean" if not isinstance(value, bool):
            raise Malformed(f"{path}: expected boolean, got &{{{value}}}")
        case "integer" | "number" if isinstance(value, bool) or not isinstance(value, (int, float)):
            kind = "bool" if isinstance(value, bool) else "string" if isinstance(value, str) else type(value).__name__
            raise Malformed(f"{path}: expected numeric (int or float), got {kind}")
