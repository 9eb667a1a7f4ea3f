"""The merge patch between two objects."""

from collections.abc import Mapping
from typing import Any


def compute_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that turns one object into the other: what is left out is removed."""
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            if inner := compute_patch(old, value):
                patch[name] = inner
        elif old != value or name not in before:
            patch[name] = value
    return patch
