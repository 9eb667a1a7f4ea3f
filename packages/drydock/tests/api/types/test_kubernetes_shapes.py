"""The shapes of built-in kinds are those of a real kube-apiserver: every field, its type, and how it merges."""

import json
import ssl
from typing import Any
from urllib.request import Request, urlopen

import msgspec
import pytest

from drydock.api.discovery import Discovery
from drydock.api.kinds.builtin import BUILTIN_KINDS
from drydock.api.openapi.documents import OpenApi
from drydock.kubernetes.launcher import ControlPlane

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

_GROUP_VERSIONS = sorted({f"{kind.group}/{kind.version}" if kind.group else kind.version for kind in BUILTIN_KINDS})
_MERGING = (
    "x-kubernetes-list-map-keys",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-map-type",
)
# Told in other words on purpose: free-form values, and schemas that are a schema or something else.
_FREE = (
    "RawExtension",
    "FieldsV1",
    "JSON",
    "JSONSchemaPropsOrArray",
    "JSONSchemaPropsOrBool",
    "JSONSchemaPropsOrStringArray",
)
_ELSEWHERE = ("APIResource", "APIResourceList", "APIGroup", "APIGroupList", "WatchEvent")
# Subresources that are streams to a container, of which only exec and portforward are served.
_NOT_SERVED = {"attach", "proxy"}
_NOT_RUN = {kind.plural for kind in BUILTIN_KINDS if kind.use_instead}


def _get(plane: ControlPlane, path: str) -> dict[str, Any]:
    context = ssl.create_default_context(cafile=str(plane.authority))
    request = Request(f"{plane.url}{path}", headers={"Authorization": f"Bearer {plane.token}"})
    with urlopen(request, context=context) as answer:
        decoded: dict[str, Any] = json.loads(answer.read())
        return decoded


def _ours(path: str) -> dict[str, Any]:
    document = OpenApi(BUILTIN_KINDS).find(path)
    assert document is not None
    decoded: dict[str, Any] = msgspec.json.decode(document.body)
    return decoded


def _path(group_version: str) -> str:
    return f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"


def _essence(node: dict[str, Any]) -> Any:
    """A field without what is said in other words: its type, what it refers to, and how it merges."""
    references = [node] if "$ref" in node else node.get("allOf", [])
    if references:
        name = references[0]["$ref"].rpartition(".")[2]
        kind = "anything" if name in _FREE else name
    elif "additionalProperties" in node and node["additionalProperties"] is not True:
        kind = {"values": _essence(node["additionalProperties"])}
    elif node.get("type") == "array":
        kind = {"items": _essence(node["items"])}
    elif node.get("x-kubernetes-preserve-unknown-fields") or not node.get("type"):
        kind = "anything"
    else:
        kind = node["type"]
    merging = {key: node[key] for key in _MERGING if key in node and node[key] != "granular"}
    return (kind, merging) if merging else kind


@pytest.mark.parametrize("group_version", _GROUP_VERSIONS)
def test_every_field_is_known_with_its_type_and_how_it_merges(group_version: str, control_plane: ControlPlane) -> None:
    path = f"/openapi/v3/{_path(group_version)}"
    ours = _ours(path)["components"]["schemas"]
    theirs = _get(control_plane, path)["components"]["schemas"]
    compared = [name for name in ours if name in theirs and name.rpartition(".")[2] not in _ELSEWHERE]
    assert len(compared) > 3
    for name in compared:
        mine = {key: _essence(node) for key, node in ours[name].get("properties", {}).items()}
        real = {key: _essence(node) for key, node in theirs[name].get("properties", {}).items()}
        if name.endswith(".JSONSchemaProps"):
            mine.pop("items")
            real.pop("items")
        assert mine == real, name


@pytest.mark.parametrize("group_version", _GROUP_VERSIONS)
def test_resources_have_the_same_names_and_verbs(group_version: str, control_plane: ControlPlane) -> None:
    document = Discovery(BUILTIN_KINDS).find(f"/{_path(group_version)}")
    assert document is not None
    ours = {each["name"]: each for each in msgspec.json.decode(document.body)["resources"]}
    real = {each["name"]: each for each in _get(control_plane, f"/{_path(group_version)}")["resources"]}
    for name, resource in ours.items():
        expected = {key: value for key, value in real[name].items() if key != "storageVersionHash"}
        if name in _NOT_RUN:
            expected["verbs"] = [verb for verb in expected["verbs"] if verb != "create"]
        assert resource == expected, name
    left_out = {name for name in real if name.partition("/")[0] in ours} - set(ours)
    assert {name.partition("/")[2] for name in left_out} <= _NOT_SERVED
