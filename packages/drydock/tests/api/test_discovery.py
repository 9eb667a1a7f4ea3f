"""What the server says it serves."""

from typing import Any

import msgspec
import pytest

from drydock.api.discovery import SUBRESOURCES, Discovery, version_rank
from drydock.api.kinds.builtin import BUILTIN_KINDS
from drydock.api.kinds.kind import Kind
from drydock.api.schema.shape import Schema

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_KUBECTL = f"{_AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"


def _custom(version: str) -> Kind:
    return Kind(
        "example.com",
        version,
        "Thing",
        "things",
        True,
        Schema("object"),
        singular="thing",
        short_names=("th",),
        categories=("all",),
        subresources=frozenset({"status", "scale"}),
        custom=True,
    )


_DISCOVERY = Discovery([*BUILTIN_KINDS, _custom("v1beta1"), _custom("v1"), _custom("v1alpha1")])


def _read(path: str, accept: str = "") -> dict[str, Any]:
    document = _DISCOVERY.find(path, accept)
    assert document is not None
    decoded: dict[str, Any] = msgspec.json.decode(document.body)
    return decoded


def test_the_core_group_lists_its_resources_and_subresources() -> None:
    listed = _read("/api/v1")
    assert (listed["kind"], listed["groupVersion"]) == ("APIResourceList", "v1")
    resources = {each["name"]: each for each in listed["resources"]}
    assert resources["pods"]["shortNames"] == ["po"]
    assert resources["pods"]["categories"] == ["all"]
    assert resources["pods/eviction"]["kind"] == "Eviction"
    assert resources["pods/eviction"]["group"] == "policy"
    assert resources["pods/log"]["verbs"] == ["get"]
    assert resources["namespaces"]["namespaced"] is False
    assert "deletecollection" not in resources["namespaces"]["verbs"]
    assert resources["serviceaccounts/token"]["kind"] == "TokenRequest"


def test_a_group_prefers_its_most_stable_version() -> None:
    group = _read("/apis/example.com")
    assert [each["version"] for each in group["versions"]] == ["v1", "v1beta1", "v1alpha1"]
    assert group["preferredVersion"] == {"groupVersion": "example.com/v1", "version": "v1"}


def test_custom_groups_come_after_the_built_in_ones() -> None:
    names = [group["name"] for group in _read("/apis")["groups"]]
    assert names[-1] == "example.com"
    assert "apps" in names
    assert "" not in names


def test_the_scale_of_a_custom_kind_is_a_scale_of_autoscaling() -> None:
    resources = {each["name"]: each for each in _read("/apis/example.com/v1")["resources"]}
    assert (resources["things/scale"]["group"], resources["things/scale"]["kind"]) == ("autoscaling", "Scale")
    assert resources["things/status"]["kind"] == "Thing"


def test_kubectl_gets_everything_in_two_requests() -> None:
    document = _DISCOVERY.find("/apis", _KUBECTL)
    assert document is not None
    assert document.content_type == _AGGREGATED
    assert document.headers["content-type"] == _AGGREGATED
    found = _read("/apis", _KUBECTL)
    assert (found["kind"], found["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    custom = next(item for item in found["items"] if item["metadata"]["name"] == "example.com")
    (things,) = custom["versions"][0]["resources"]
    assert things["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Thing"}
    assert things["scope"] == "Namespaced"
    assert [each["subresource"] for each in things["subresources"]] == ["scale", "status"]
    core = _read("/api", _KUBECTL)
    assert [version["version"] for version in core["items"][0]["versions"]] == ["v1"]


def test_who_lists_plain_json_first_gets_plain_json() -> None:
    assert _read("/apis", f"application/json,{_AGGREGATED}")["kind"] == "APIGroupList"
    assert _read("/apis", "*/*")["kind"] == "APIGroupList"


def test_the_root_lists_the_paths() -> None:
    paths = _read("/")["paths"]
    assert {"/api/v1", "/apis/apps/v1", "/openapi/v3", "/version", "/readyz"} <= set(paths)


def test_what_is_not_served_has_no_document() -> None:
    assert _DISCOVERY.find("/apis/nobody.example.com") is None
    assert _DISCOVERY.find("/api/v2") is None


def test_every_subresource_is_known_to_discovery() -> None:
    assert {name for kind in BUILTIN_KINDS for name in kind.subresources} <= set(SUBRESOURCES)


@pytest.mark.parametrize(
    ("better", "worse"),
    [("v2", "v1"), ("v1", "v2beta1"), ("v1beta2", "v1beta1"), ("v1beta1", "v2alpha1"), ("v1alpha1", "foo")],
)
def test_versions_are_ranked_as_clients_prefer_them(better: str, worse: str) -> None:
    assert version_rank(better) < version_rank(worse)
