"""What storing removes from an object: fields its shape does not know, and what a Go struct would not write back."""

from typing import Any

from drydock.api.schema.shape import Schema


def prune(schema: Schema, value: Any) -> None:
    """Remove, in place, the fields that the shape does not know."""
    if isinstance(value, list):
        if schema.items is not None:
            for item in value:
                prune(schema.items, item)
    elif isinstance(value, dict):
        for key in list(value):
            known = schema.properties.get(key) or schema.additional
            if known is not None:
                prune(known, value[key])
            elif not schema.preserve_unknown:
                del value[key]


def drop_empty(schema: Schema, value: Any) -> None:
    """Remove, in place, the nulls and the empty lists and maps that a built-in kind does not keep.

    Only lists and free maps: an empty struct such as `emptyDir: {}` says something.
    """
    if isinstance(value, list):
        if schema.items is not None:
            for item in value:
                drop_empty(schema.items, item)
    elif isinstance(value, dict):
        for key, item in list(value.items()):
            field = schema.properties.get(key)
            if field is None:
                if schema.additional is not None:
                    drop_empty(schema.additional, item)
            elif item:
                if isinstance(item, dict | list):
                    drop_empty(field, item)
            elif item is None or (key not in schema.required and _is_empty(field, item)):
                del value[key]


def _is_empty(schema: Schema, value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and schema.additional is not None)
