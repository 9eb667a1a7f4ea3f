"""Errors for objects from outside that cannot be decoded: an unknown field is named with the one that was meant."""

import re
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import inspect

from mooring.model.errors import InvalidInput, MooringError

_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.*)`")
_STEP = re.compile(r"\.(\w+)|\[")


class InvalidField(InvalidInput):
    """A field is wrong, in the words of the decoder or of the API server."""

    def __init__(self, field: str, message: str, fix: str) -> None:
        MooringError.__init__(self, message, fix=fix, detail={"field": field})
        self.field = field


def explain_unreadable(part: str, error: msgspec.ValidationError, kind: type) -> InvalidField:
    """The error for `part` of an object, which was to be decoded as `kind`."""
    what, _, path = str(error).partition(" - at `$")
    path = path.rstrip("`")
    field = f"{part}{path}"
    if not (unknown := _UNKNOWN_FIELD.fullmatch(what)):
        return InvalidField(field, f"{field}: {what[:1].lower()}{what[1:]}", f"correct {field}")
    known = _fields_at(inspect.type_info(kind), path)
    close = get_close_matches(unknown[1], known, n=1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    return InvalidField(field, f"unknown field {field}.{unknown[1]}{meant}", f"fields of {field}: {', '.join(known)}")


def _fields_at(info: Any, path: str) -> list[str]:
    """The fields of the struct at a path such as `.batches[0]`."""
    for step in _STEP.finditer(path):
        struct = _plain(info)
        if step[1] is None:
            info = struct.item_type
        else:
            info = next(field.type for field in struct.fields if field.encode_name == step[1])
    return sorted(field.encode_name for field in _plain(info).fields)


def _plain(info: Any) -> Any:
    """The type itself of one that may also be null."""
    return info.types[0] if isinstance(info, inspect.UnionType) else info
