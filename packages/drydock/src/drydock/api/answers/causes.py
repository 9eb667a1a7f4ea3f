"""What is wrong with a field, in kube-apiserver's own sentences: one constructor a kind of mistake."""

from collections.abc import Iterable

import msgspec

from drydock.api.answers.status import Cause

IMMUTABLE = "field is immutable"


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", _sentence("Required value", detail), field)


def invalid(field: str, value: object, detail: str) -> Cause:
    return Cause("FieldValueInvalid", _sentence(f"Invalid value: {show(value)}", detail), field)


def immutable(field: str, value: object) -> Cause:
    return invalid(field, value, IMMUTABLE)


def forbidden(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", _sentence("Forbidden", detail), field)


def duplicate(field: str, value: object) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {show(value)}", field)


def not_found(field: str, value: object) -> Cause:
    return Cause("FieldValueNotFound", f"Not found: {show(value)}", field)


def not_supported(field: str, value: object, supported: Iterable[str]) -> Cause:
    listed = ", ".join(show(choice) for choice in supported)
    detail = f"supported values: {listed}" if listed else ""
    return Cause("FieldValueNotSupported", _sentence(f"Unsupported value: {show(value)}", detail), field)


def too_long(field: str, limit: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def too_many(field: str, count: int, limit: int) -> Cause:
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} items", field)


def show(value: object) -> str:
    """A value as the server prints it: JSON with HTML characters escaped, except in plain strings."""
    text = msgspec.json.encode(value).decode()
    if isinstance(value, str):
        return text
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _sentence(start: str, detail: str) -> str:
    return f"{start}: {detail}" if detail else start
