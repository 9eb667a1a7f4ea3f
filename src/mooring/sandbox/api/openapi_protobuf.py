"""OpenAPI v2 in the protobuf form that older kubectl insist on (gnostic's openapi.v2.Document).

Each table below is one message: a JSON key and how its value is written, with the field's number inside.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Encode = Callable[[Any], bytes]
Message = Mapping[str, Encode]


def encode_document(document: Mapping[str, Any]) -> bytes:
    """A whole swagger document."""
    return _message(_DOCUMENT, document)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _block(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _text(field: int) -> Encode:
    return lambda value: _block(field, str(value).encode())


def _texts(field: int) -> Encode:
    return lambda values: b"".join(_block(field, str(value).encode()) for value in values)


def _whole(field: int) -> Encode:
    return lambda value: _varint(field << 3) + _varint(int(value))


def _double(field: int) -> Encode:
    return lambda value: _varint(field << 3 | 1) + struct.pack("<d", value)


def _inner(field: int, encode: Encode) -> Encode:
    return lambda value: _block(field, encode(value))


def _each(field: int, encode: Encode) -> Encode:
    return lambda values: b"".join(_block(field, encode(value)) for value in values)


def _named(field: int, encode: Encode) -> Encode:
    """A JSON object as gnostic keeps it: a list of names with their values."""

    def write(entries: Mapping[str, Any]) -> bytes:
        pairs = (_block(1, name.encode()) + _block(2, encode(value)) for name, value in entries.items())
        return b"".join(_block(field, pair) for pair in pairs)

    return write


def _any(value: Any) -> bytes:
    return _block(2, msgspec.json.encode(value))  # as YAML, of which JSON is a part


def _message(fields: Message, value: Mapping[str, Any]) -> bytes:
    written = [fields[key](item) for key, item in value.items() if key in fields]
    extensions = {key: item for key, item in value.items() if key.startswith("x-")}
    if extensions and "x-" in fields:
        written.append(fields["x-"](extensions))
    return b"".join(written)


def _schema(value: Any) -> bytes:
    return _message(_SCHEMA, value)


def _type(value: Any) -> bytes:
    return _block(1, str(value).encode())


def _items(value: Any) -> bytes:
    return _block(1, _schema(value))


def _additional(value: Any) -> bytes:
    return _block(1, _schema(value))


def _operation(value: Any) -> bytes:
    return _message(_OPERATION, value)


def _parameter(value: Any) -> bytes:
    """Three layers of choices: a parameter, with or without a body, in the path or in the query."""
    match value["in"]:
        case "body":
            return _block(1, _block(1, _message(_BODY_PARAMETER, value)))
        case "path":
            return _block(1, _block(2, _block(4, _message(_PATH_PARAMETER, value))))
        case _:
            return _block(1, _block(2, _block(3, _message(_QUERY_PARAMETER, value))))


def _response(value: Any) -> bytes:
    return _block(1, _message(_RESPONSE, value))


def _response_schema(value: Any) -> bytes:
    return _block(1, _schema(value))


_SCHEMA: Message = {
    "$ref": _text(1),
    "format": _text(2),
    "title": _text(3),
    "description": _text(4),
    "default": _inner(5, _any),
    "multipleOf": _double(6),
    "maximum": _double(7),
    "exclusiveMaximum": _whole(8),
    "minimum": _double(9),
    "exclusiveMinimum": _whole(10),
    "maxLength": _whole(11),
    "minLength": _whole(12),
    "pattern": _text(13),
    "maxItems": _whole(14),
    "minItems": _whole(15),
    "uniqueItems": _whole(16),
    "maxProperties": _whole(17),
    "minProperties": _whole(18),
    "required": _texts(19),
    "enum": _each(20, _any),
    "additionalProperties": _inner(21, _additional),
    "type": _inner(22, _type),
    "items": _inner(23, _items),
    "allOf": _each(24, _schema),
    "properties": _inner(25, _named(1, _schema)),
    "x-": _named(31, _any),
}
_BODY_PARAMETER: Message = {
    "description": _text(1),
    "name": _text(2),
    "in": _text(3),
    "required": _whole(4),
    "schema": _inner(5, _schema),
}
_QUERY_PARAMETER: Message = {
    "required": _whole(1),
    "in": _text(2),
    "description": _text(3),
    "name": _text(4),
    "type": _text(6),
    "uniqueItems": _whole(20),
}
_PATH_PARAMETER: Message = {
    "required": _whole(1),
    "in": _text(2),
    "description": _text(3),
    "name": _text(4),
    "type": _text(5),
    "uniqueItems": _whole(19),
}
_RESPONSE: Message = {"description": _text(1), "schema": _inner(2, _response_schema)}
_OPERATION: Message = {
    "tags": _texts(1),
    "description": _text(3),
    "operationId": _text(5),
    "consumes": _texts(7),
    "parameters": _each(8, _parameter),
    "responses": _inner(9, _named(1, _response)),
    "x-": _named(13, _any),
}
_PATH_ITEM: Message = {
    "get": _inner(2, _operation),
    "put": _inner(3, _operation),
    "post": _inner(4, _operation),
    "delete": _inner(5, _operation),
    "patch": _inner(8, _operation),
    "parameters": _each(9, _parameter),
}
_INFO: Message = {"title": _text(1), "version": _text(2)}
_DOCUMENT: Message = {
    "swagger": _text(1),
    "info": _inner(2, lambda value: _message(_INFO, value)),
    "paths": _inner(8, _named(2, lambda value: _message(_PATH_ITEM, value))),
    "definitions": _inner(9, _named(1, _schema)),
}
