"""A request to create or change an object: a whole manifest, or only the fields of its spec."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, get_args

import msgspec

from mooring.model import command_checks, names
from mooring.model.errors import InvalidInput
from mooring.model.unreadable import explain_unreadable

_ENVELOPE = ("apiVersion", "kind", "metadata", "spec", "status")
_MOST_PROBLEMS = 20

Json = dict[str, Any]
S = TypeVar("S", bound=msgspec.Struct)


class OrderMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of a manifest that is used; other metadata is set by the API server."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    uid: str = ""  # if it is given, only the object with this uid is changed
    resource_version: str = ""  # if it is given, only this version of the object is changed


def open_manifest(sent: object, kind: str) -> tuple[OrderMetadata, Json]:
    """Metadata and spec of a manifest; a body without any part of a manifest is a spec."""
    if not isinstance(sent, dict):
        raise InvalidInput("body", sent, f"an object: the spec of a {kind}, or a whole manifest")
    if not any(field in sent for field in _ENVELOPE):
        return OrderMetadata(), sent
    for field, value in sent.items():
        if field not in _ENVELOPE:
            raise InvalidInput(field, value, f"given as spec.{field}: a whole manifest has it there")
    for field, expected in (("apiVersion", names.API_VERSION), ("kind", kind)):
        if sent.get(field, expected) != expected:
            raise InvalidInput(field, sent[field], expected)
    body = sent.get("spec")
    if not isinstance(body, dict):
        raise InvalidInput("spec", body, f"an object: the spec of a {kind}")
    try:
        return msgspec.convert(sent.get("metadata") or {}, OrderMetadata), body
    except msgspec.ValidationError as error:
        raise explain_unreadable("metadata", error, OrderMetadata) from error


def check_place(namespace: str, name: str, metadata: OrderMetadata) -> Iterator[InvalidInput]:
    """Where the order is sent to, and that its metadata says the same."""
    yield from command_checks.check_name("namespace", namespace)
    for field, inside, outside in (("namespace", metadata.namespace, namespace), ("name", metadata.name, name)):
        if inside not in ("", outside):
            yield InvalidInput(f"metadata.{field}", inside, f"{outside!r}, as the address says, or left out")


def read_spec(body: Json, kind: type[S], check: Callable[[S], Iterable[InvalidInput]]) -> tuple[S, list[InvalidInput]]:
    """The spec and what is wrong with it; it is checked only if it can be decoded."""
    problems = list(_find_unknown(body, kind, "spec"))
    try:
        spec = msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        return kind(), [*problems, explain_unreadable("spec", error, kind)]
    return spec, [*problems, *check(spec)]


def require_none(problems: Sequence[InvalidInput]) -> None:
    """Raise the first problem; its `detail.problems` has all of them."""
    if problems:
        problems[0].detail["problems"] = [str(problem) for problem in problems[:_MOST_PROBLEMS]]
        raise problems[0]


def _find_unknown(body: Json, kind: type[msgspec.Struct], place: str) -> Iterator[InvalidInput]:
    """Fields that the kind does not have: the API server would drop them silently."""
    known = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in body.items():
        if name not in known:
            yield InvalidInput(f"{place}.{name}", value, f"one of the fields {', '.join(known)}")
            continue
        inner = next((one for one in (known[name], *get_args(known[name])) if _is_struct(one)), None)
        if inner is not None:
            for where, item in _items(f"{place}.{name}", value):
                yield from _find_unknown(item, inner, where)


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _items(place: str, value: object) -> Iterator[tuple[str, Json]]:
    """The objects that stand in a field: itself, or those of its list."""
    if isinstance(value, dict):
        yield place, value
    elif isinstance(value, list):
        yield from ((f"{place}[{index}]", item) for index, item in enumerate(value) if isinstance(item, dict))
