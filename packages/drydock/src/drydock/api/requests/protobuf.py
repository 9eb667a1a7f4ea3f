"""Request bodies in Kubernetes' protobuf, which kubectl insists on for some of its commands; only for those.

`kubectl drain`, `auth`, `create token|configmap|deployment|job...` speak it and know no other way; `apply` and
`create -f` send JSON. Of a pod only what those commands write is known; anything more is refused, never dropped.
"""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from drydock.api.answers.status import Refusal
from drydock.api.requests.protobuf_messages import NOTATION, OBJECT, WHOLE

MAGIC = b"k8s\x00"


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    type: str


def _parse(notation: str) -> dict[int, _Field]:
    words = notation.split()
    fields = {}
    for number, named in zip(words[::2], words[1::2], strict=True):
        name, _, type_ = named.partition(":")
        fields[int(number)] = _Field(name, type_)
    return fields


_MESSAGES = {name: _parse(notation) for name, notation in NOTATION.items()}
_KINDS = {name for name, notation in NOTATION.items() if notation.startswith(OBJECT)} | {"DeleteOptions"}


def decode_protobuf(body: bytes) -> dict[str, Any]:
    """The object in a body, as JSON has it; 400 when it is broken, 415 when its kind is not among those known."""
    if not body.startswith(MAGIC):
        raise Refusal(400, "BadRequest", "provided data does not appear to be a protobuf message")
    try:
        parts = dict(_split(body[len(MAGIC) :]))
        kind = _message("TypeMeta", parts.get(1, b""))
        name = kind.get("kind", "")
        if name not in _KINDS:
            told = (
                f"the body of the request was in an unknown format: {name or 'this'} can only be read as JSON or YAML"
            )
            raise Refusal(415, "UnsupportedMediaType", told)
        return {**kind, **_message(name, parts.get(2, b""))}
    except (IndexError, UnicodeDecodeError, AttributeError, TypeError) as error:
        raise Refusal(400, "BadRequest", f"the protobuf message cannot be read: {error}") from error


def _split(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: their numbers and raw values."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        match key & 7:
            case 0:
                value, position = _varint(data, position)
                yield key >> 3, value
            case 2:
                length, position = _varint(data, position)
                if position + length > len(data):
                    raise IndexError("a field is longer than its message")
                yield key >> 3, data[position : position + length]
                position += length
            case wire_type:
                raise TypeError(f"wire type {wire_type} is not used here")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _message(name: str, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, raw in _split(data):
        field = _MESSAGES[name].get(number)
        if field is not None:
            _take(found, field, raw)
        elif raw and name in WHOLE:
            told = f"field {number} of {name} can only be read as JSON or YAML"
            raise Refusal(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {told}")
    return found


def _take(found: dict[str, Any], field: _Field, raw: Any) -> None:
    """Add one raw value to what has been found so far."""
    type_ = field.type
    if type_.startswith("["):
        found.setdefault(field.name, []).append(_value(type_.strip("[]"), raw))
    elif type_.startswith("{"):
        entry = dict(_split(raw))
        found.setdefault(field.name, {})[entry.get(1, b"").decode()] = _value(type_.strip("{}"), entry.get(2, b""))
    else:
        value = _value(type_.removesuffix("?"), raw)
        if value or type_.endswith("?") or type_ in _MESSAGES:
            found[field.name] = value


def _value(type_: str, raw: Any) -> Any:
    read = _READERS.get(type_)
    return read(raw) if read else _message(type_, raw)


def _integer(raw: int) -> int:
    return raw - (1 << 64) if raw >= 1 << 63 else raw


def _int_or_string(raw: bytes) -> int | str:
    parts = _message("IntOrString", raw)
    chosen: int | str = parts.get("strVal", "") if parts.get("type") else parts.get("intVal", 0)
    return chosen


_READERS: dict[str, Callable[[Any], Any]] = {
    "": lambda raw: raw.decode(),
    "int": _integer,
    "bool": bool,
    "bytes": lambda raw: base64.b64encode(raw).decode(),
    "Quantity": lambda raw: _message("Quantity", raw).get("string", "0"),
    "IntOrString": _int_or_string,
}
