"""Request bodies: decoded, held to the shape of their kind, with unknown fields reported or refused."""

from collections.abc import Callable
from typing import Any

import msgspec
import yaml
from msgspec.json import encode

from drydock.api.answers.status import Refusal
from drydock.api.kinds.kind import Kind, Object
from drydock.api.requests.options import FieldValidation
from drydock.api.requests.protobuf import decode_protobuf
from drydock.api.schema.pruning import drop_empty, prune
from drydock.api.schema.shape import Schema
from drydock.api.schema.validation import decoding_error, unknown_fields
from hawser.transport import Request

MAX_BYTES = 3 * 1024 * 1024
_YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml", "application/apply-patch+yaml")
_PROTOBUF = "application/vnd.kubernetes.protobuf"


class Misshapen(Exception):
    """The object does not fit its kind; the verb decides how to say so."""


def media_type(request: Request) -> str:
    """The body's type, without parameters."""
    return request.headers.get("content-type", "application/json").split(";")[0].strip().lower()


def decode_any(request: Request, *, prefix: str = "") -> Any:
    """The body as plain data; 400 when it cannot be read, 413 when it is too much."""
    body = request.body or b""
    if len(body) > MAX_BYTES:
        raise Refusal(413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BYTES}")
    if media_type(request) == _PROTOBUF:
        return decode_protobuf(body)
    try:
        if media_type(request) in _YAML_TYPES and not body.lstrip().startswith(b"{"):
            return _from_yaml(body)
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        raise Refusal(400, "BadRequest", f"{prefix}{error}") from error


def decode_object(request: Request, kind: Kind) -> Object:
    """The body as an object that claims to be of the kind, or claims nothing."""
    unrecognized = f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get version/kind;"
    unrecognized += " json parse error: "
    body = decode_any(request, prefix=unrecognized)
    if not isinstance(body, dict):
        raise Refusal(400, "BadRequest", f"{unrecognized}it is not an object")
    claimed, version = body.get("kind") or kind.kind, body.get("apiVersion") or kind.api_version
    if not isinstance(claimed, str) or not isinstance(version, str):
        raise Refusal(400, "BadRequest", f"{unrecognized}kind and apiVersion are strings")
    if claimed != kind.kind or version != kind.api_version:
        told = f'{claimed} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind.kind}'
        raise Refusal(400, "BadRequest", f"{told}: it is no {kind.kind} of {kind.api_version}")
    body["kind"], body["apiVersion"] = kind.kind, kind.api_version
    if body.get("metadata") is None:
        body["metadata"] = {}
    if not isinstance(body["metadata"], dict):
        raise _unfit(kind, "metadata is not an object")
    return body


def decode_part(request: Request, kind: Kind) -> Object:
    """The body of a subresource: an object of its kind, whose fields have the types they should."""
    body = decode_object(request, kind)
    if misfit := decoding_error(kind.schema, body):
        raise _unfit(kind, misfit)
    return body


def _unfit(kind: Kind, why: str) -> Refusal:
    told = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
    return Refusal(400, "BadRequest", f"{told}: {why}")


def shape(kind: Kind, body: Object, how: FieldValidation, warnings: list[str], old: Object | None = None) -> None:
    """Make the object fit its kind, in place: unknown fields go with a warning or a complaint.

    What is the same in the stored object `old` has been through this before and is passed over.
    """
    if old is None:
        _shape(kind, body, how, warnings)
        return
    part = _changed(body, old)
    if "metadata" in part:
        part["metadata"] = _changed(body["metadata"], old["metadata"])
    sent = {**part, "metadata": dict(part.get("metadata", {}))}
    _shape(kind, part, how, warnings)
    _forget(body, sent, part)
    _forget(body["metadata"], sent["metadata"], part.get("metadata", {}))


def _forget(body: Object, sent: Object, kept: Object) -> None:
    """Remove what shaping has removed from a part of the object."""
    for key in sent:
        if key not in kept and key != "metadata":
            del body[key]


def _shape(kind: Kind, body: Object, how: FieldValidation, warnings: list[str]) -> None:
    schema = kind.schema
    if how != "Ignore" and (unknown := unknown_fields(schema, body)):
        told = [f'unknown field "{path}"' for path in unknown]
        if how == "Strict":
            raise Misshapen(f"strict decoding error: {', '.join(told)}")
        warnings.extend(told)
    # A custom object is decoded as it comes, but for its metadata; its defaults are its strategy's business, so that
    # the manager that applies it does not own fields it never set.
    decoded, shape_of = (body.get("metadata", {}), schema.child("metadata")) if kind.custom else (body, schema)
    if misfit := decoding_error(shape_of, decoded):
        raise Misshapen(misfit)
    if b"null" in encode(decoded):
        _empty_nulls(shape_of, decoded)
    prune(schema, body)
    if not kind.custom:
        drop_empty(schema, body)


def _empty_nulls(schema: Schema, value: Any) -> None:
    """Nulls among the members of a list or a map are what Go makes of them: empty ones."""
    if isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            value[index] = _EMPTY.get(schema.items.type, str)() if item is None else item
            _empty_nulls(schema.items, value[index])
    elif isinstance(value, dict):
        for key, item in value.items():
            if known := schema.properties.get(key):
                _empty_nulls(known, item)
            elif schema.additional is not None:
                value[key] = _EMPTY.get(schema.additional.type, str)() if item is None else item
                _empty_nulls(schema.additional, value[key])


_EMPTY: dict[str, Callable[[], Any]] = {
    "object": dict,
    "array": list,
    "integer": int,
    "number": int,
    "boolean": bool,
    "any": dict,
}


def _changed(body: Object, old: Object) -> Object:
    """The fields of the object that are not exactly as they were; equal JSON, for 1 and true are equal in Python."""
    return {key: value for key, value in body.items() if key not in old or encode(value) != encode(old[key])}


def read_object(
    request: Request, kind: Kind, how: FieldValidation, warnings: list[str], old: Object | None = None
) -> Object:
    """The object that a create, or an update of `old`, sends."""
    body = decode_object(request, kind)
    try:
        shape(kind, body, how, warnings, old)
    except Misshapen as misfit:
        raise _unfit(kind, str(misfit)) from misfit
    return body


class _JsonLoader(yaml.SafeLoader):
    """YAML as JSON has it: dates stay text."""


_JsonLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _from_yaml(body: bytes) -> Any:
    return yaml.load(body, Loader=_JsonLoader)
