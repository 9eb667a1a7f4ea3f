"""A request to create or change a service, read from the fields of a spec or from a whole manifest."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mooring.model import command_checks, names
from mooring.model.errors import InvalidInput
from mooring.model.pod_template import check_keys
from mooring.model.service import Service, ServiceSpec, check_service
from mooring.model.unreadable import explain_unreadable

KIND = "ManagedService"
_ENVELOPE = ("apiVersion", "kind", "metadata", "spec", "status")
_MOST_PROBLEMS = 20
# Written by kubectl; it describes what kubectl applied, not what is sent here.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Json = dict[str, Any]


class OrderMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of a manifest that is used; other metadata is set by the API server."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    uid: str = ""  # if it is given, only the object with this uid is changed
    resource_version: str = ""  # if it is given, only this version of the object is changed


class ServiceOrder(msgspec.Struct, frozen=True):
    """A valid order. `body` is the spec as it was sent: a field that is left out gets its default."""

    namespace: str
    name: str
    spec: ServiceSpec
    body: Json
    metadata: OrderMetadata = OrderMetadata()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def read_order(namespace: str, name: str, sent: object) -> ServiceOrder:
    """The order, or `InvalidInput` for its first problem; `detail.problems` has all of them."""
    metadata, body = _open(sent)
    problems = [
        *command_checks.check_name("namespace", namespace),
        *_check_metadata(namespace, name, metadata),
        *_find_unknown(body, ServiceSpec, "spec"),
    ]
    spec = ServiceSpec()
    try:
        spec = msgspec.convert(body, ServiceSpec)
    except msgspec.ValidationError as error:
        problems.append(explain_unreadable("spec", error, ServiceSpec))
    else:
        problems += check_service(Service(namespace, name, "", 0, spec))
    if problems:
        first = problems[0]
        first.detail["problems"] = [str(problem) for problem in problems[:_MOST_PROBLEMS]]
        raise first
    return ServiceOrder(namespace, name, spec, body, metadata)


def _open(sent: object) -> tuple[OrderMetadata, Json]:
    """Metadata and spec of a manifest; a body without any part of a manifest is a spec."""
    if not isinstance(sent, dict):
        raise InvalidInput("body", sent, f"an object: the spec of a {KIND}, or a whole manifest")
    if not any(field in sent for field in _ENVELOPE):
        return OrderMetadata(), sent
    for field, value in sent.items():
        if field not in _ENVELOPE:
            raise InvalidInput(field, value, f"given as spec.{field}: a whole manifest has it there")
    for field, expected in (("apiVersion", names.API_VERSION), ("kind", KIND)):
        if sent.get(field, expected) != expected:
            raise InvalidInput(field, sent[field], expected)
    body = sent.get("spec")
    if not isinstance(body, dict):
        raise InvalidInput("spec", body, f"an object: the spec of a {KIND}")
    try:
        return msgspec.convert(sent.get("metadata") or {}, OrderMetadata), body
    except msgspec.ValidationError as error:
        raise explain_unreadable("metadata", error, OrderMetadata) from error


def _check_metadata(namespace: str, name: str, metadata: OrderMetadata) -> Iterator[InvalidInput]:
    for field, inside, outside in (("namespace", metadata.namespace, namespace), ("name", metadata.name, name)):
        if inside not in ("", outside):
            yield InvalidInput(f"metadata.{field}", inside, f"{outside!r}, as the address says, or left out")
    yield from check_keys("metadata.labels", metadata.labels)
    yield from check_keys("metadata.annotations", metadata.annotations)


def _find_unknown(body: Mapping[str, Any], kind: type[msgspec.Struct], place: str) -> Iterator[InvalidInput]:
    """Fields that the kind does not have: the API server would drop them silently."""
    known = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in body.items():
        if name not in known:
            yield InvalidInput(f"{place}.{name}", value, f"one of the fields {', '.join(known)}")
            continue
        inner = known[name]
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct) and isinstance(value, dict):
            yield from _find_unknown(value, inner, f"{place}.{name}")


def annotations_to_write(metadata: OrderMetadata) -> dict[str, str]:
    """The annotations of the order without that of kubectl."""
    return {key: value for key, value in metadata.annotations.items() if key != _LAST_APPLIED}
