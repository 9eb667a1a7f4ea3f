"""Defaults of custom kinds, as their CRD declares them."""

from copy import deepcopy
from typing import Any

from drydock.api.schema.shape import Schema


def apply_defaults(schema: Schema, value: Any) -> None:
    """Fill in, in place, the defaults of fields that are absent.

    A null counts as absent where the shape is not nullable: it goes, and the default, if any, takes its place.
    """
    if isinstance(value, list):
        if schema.items is not None:
            for index, item in enumerate(value):
                if item is None and not schema.items.nullable and schema.items.default is not None:
                    value[index] = deepcopy(schema.items.default)
                apply_defaults(schema.items, value[index])
    elif isinstance(value, dict):
        _drop_nulls(schema, value)
        for key, field in schema.properties.items():
            if key not in value and field.default is not None:
                value[key] = deepcopy(field.default)
        for key, item in value.items():
            if known := schema.properties.get(key) or schema.additional:
                apply_defaults(known, item)


def _drop_nulls(schema: Schema, value: dict[str, Any]) -> None:
    for key in [key for key, item in value.items() if item is None]:
        known = schema.properties.get(key) or schema.additional
        if known is None or known.nullable:
            continue
        if key not in schema.properties and known.default is not None:
            value[key] = deepcopy(known.default)
        else:
            del value[key]
