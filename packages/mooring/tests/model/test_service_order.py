"""An order of a service is read field by field: nothing wrong gets through, and every problem names its field."""

from typing import Any

import pytest

from mooring.model.errors import InvalidInput
from mooring.model.service_order import read_order

SPEC = {"image": "api:1", "port": 8080}


def manifest(**changes: Any) -> dict[str, Any]:
    metadata = {"name": "api", "namespace": "ns", "labels": {"team": "a"}, "uid": "u-1", "managedFields": []}
    whole = {"apiVersion": "mooring.dev/v1alpha1", "kind": "ManagedService", "metadata": metadata, "spec": SPEC}
    return {**whole, **changes}


def test_a_spec_and_a_manifest_are_the_same_order():
    flat, whole = read_order("ns", "api", SPEC), read_order("ns", "api", manifest(status={"phase": "Serving"}))
    assert flat.spec == whole.spec and flat.body == whole.body == SPEC
    assert (whole.metadata.labels, whole.metadata.uid) == ({"team": "a"}, "u-1")


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ([], "body"),
        ({}, "spec.image"),
        ({**SPEC, "port": "8080"}, "spec.port"),
        ({**SPEC, "port": 0}, "spec.port"),
        ({**SPEC, "imgae": "x"}, "spec.imgae"),
        ({**SPEC, "placement": {"nodePol": "x"}}, "spec.placement.nodePol"),
        ({**SPEC, "podTemplate": {"labels": {"mooring.dev/x": "y"}}}, "spec.podTemplate.labels[mooring.dev/x]"),
        ({**SPEC, "podTemplate": {"hostNetwork": True}}, "spec.podTemplate.hostNetwork"),
        ({**SPEC, "env": [{"name": "A"}, {"name": "A"}]}, "spec.env[1].name"),
        ({**SPEC, "expose": "Ingress"}, "spec.expose"),
        (manifest(kind="Deployment"), "kind"),
        (manifest(apiVersion="v1"), "apiVersion"),
        (manifest(spec=None), "spec"),
        (manifest(image="api:1"), "image"),
        (manifest(metadata={"name": "other"}), "metadata.name"),
        (manifest(metadata={"namespace": "other"}), "metadata.namespace"),
        (manifest(metadata={"labels": {"mooring.dev/service": "x"}}), "metadata.labels[mooring.dev/service]"),
        (manifest(metadata={"labels": {"a": 1}}), "metadata.labels[...]"),
    ],
)
def test_what_is_wrong_is_refused_by_its_field(sent: object, field: str):
    with pytest.raises(InvalidInput) as refused:
        read_order("ns", "api", sent)
    assert refused.value.field == field


def test_all_problems_are_listed_at_once():
    with pytest.raises(InvalidInput) as refused:
        read_order("Not A Namespace", "9api", {"port": 0, "surprise": 1})
    said = " ".join(refused.value.detail["problems"])
    assert all(field in said for field in ("namespace", "spec.surprise", "metadata.name", "spec.image", "spec.port"))
