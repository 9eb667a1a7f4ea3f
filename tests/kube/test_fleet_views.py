"""Mooring's own kinds have the same fields and defaults in their CRDs and in their views."""

import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from mooring.kube.crds import load_crds
from mooring.kube.resources import MANAGEDSERVICES, SUBMISSIONS, WARMUPS, WORKERPOOLS, Resource

CRDS = {crd["spec"]["names"]["plural"]: crd for crd in load_crds()}
OPEN = "x-kubernetes-preserve-unknown-fields"
STANDARD = {"apiVersion", "kind", "metadata", "(defects)"}


def view_in(annotation: Any) -> type[msgspec.Struct] | None:
    """The view that a field holds, be it alone, optional or in a tuple."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    return next((view for part in typing.get_args(annotation) if (view := view_in(part))), None)


def differences(place: str, schema: dict[str, Any], view: type[msgspec.Struct]) -> Iterator[str]:
    properties = {**schema.get("properties", {}), **schema.get("items", {}).get("properties", {})}
    fields = {field.encode_name: field for field in msgspec.structs.fields(view)}
    takes_more = schema.get(OPEN) or schema.get("items", {}).get(OPEN)  # what it does not name it keeps all the same
    for name in (properties.keys() ^ fields.keys()) - STANDARD - (fields.keys() if takes_more else set()):
        yield f"{place}.{name} is only in the {'CRD' if name in properties else 'view'}"
    for name in (properties.keys() & fields.keys()) - STANDARD:
        default, inner = properties[name].get("default", {}), view_in(fields[name].type)
        if default != {} and default != fields[name].default:
            yield f"{place}.{name} is {default!r} by default in the CRD and {fields[name].default!r} in the view"
        if inner is not None:
            yield from differences(f"{place}.{name}", properties[name], inner)


@pytest.mark.parametrize("resource", [WORKERPOOLS, WARMUPS, SUBMISSIONS, MANAGEDSERVICES], ids=lambda each: each.kind)
def test_the_view_is_the_crd(resource: Resource[Any]) -> None:
    spec = CRDS[resource.plural]["spec"]
    (version,) = spec["versions"]
    assert (spec["group"], version["name"], spec["names"]["kind"]) == (resource.group, resource.version, resource.kind)
    assert list(differences(resource.kind, version["schema"]["openAPIV3Schema"], resource.view)) == []
