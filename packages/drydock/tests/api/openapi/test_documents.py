"""The OpenAPI documents: complete enough for kubectl explain and apply, and stable while the kinds are the same."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from drydock.api.kinds.builtin import BUILTIN_KINDS
from drydock.api.openapi.documents import OpenApi
from packages.drydock.tests.api.shapes.cases import gadget_definition
from packages.drydock.tests.api.shapes.strategies import kind_of

_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_OPENAPI = OpenApi([*BUILTIN_KINDS, kind_of(gadget_definition())])


def _read(path: str) -> dict[str, Any]:
    document = _OPENAPI.find(path)
    assert document is not None
    decoded: dict[str, Any] = msgspec.json.decode(document.body)
    return decoded


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def test_the_index_leads_to_every_group_version() -> None:
    paths = _read("/openapi/v3")["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/shapes.example.com/v1"} <= set(paths)
    for name, entry in paths.items():
        path, _, tag = entry["serverRelativeURL"].partition("?hash=")
        assert path == f"/openapi/v3/{name}"
        document = _OPENAPI.find(path, "", {"hash": tag})
        assert document is not None
        assert document.status == 200
        assert document.headers["etag"] == f'"{tag}"'


def test_an_outdated_hash_is_sent_to_the_current_one() -> None:
    document = _OPENAPI.find("/openapi/v3/apis/apps/v1", "", {"hash": "0"})
    assert document is not None
    assert document.status == 301
    assert document.headers["location"].startswith("/openapi/v3/apis/apps/v1?hash=")


def test_a_group_version_that_is_not_served_has_no_document() -> None:
    assert _OPENAPI.find("/openapi/v3/apis/apps/v9") is None
    assert _OPENAPI.find("/elsewhere") is None


@pytest.mark.parametrize(
    "name", ["api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1", "apis/shapes.example.com/v1"]
)
def test_every_reference_of_a_version_leads_somewhere(name: str) -> None:
    document = _read(f"/openapi/v3/{name}")
    known = {f"#/components/schemas/{each}" for each in document["components"]["schemas"]}
    assert set(_references(document)) <= known


def test_every_reference_of_the_whole_leads_somewhere() -> None:
    document = _read("/openapi/v2")
    assert set(_references(document)) <= {f"#/definitions/{each}" for each in document["definitions"]}


def test_kubectl_explain_finds_a_kind_by_its_path_and_its_schema_by_its_kind() -> None:
    document = _read("/openapi/v3/apis/apps/v1")
    wanted = {"group": "apps", "kind": "Deployment", "version": "v1"}
    item = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    assert item["get"]["x-kubernetes-group-version-kind"] == wanted
    (found,) = [
        schema
        for schema in document["components"]["schemas"].values()
        if wanted in schema.get("x-kubernetes-group-version-kind", [])
    ]
    assert found["description"]
    assert found["properties"]["spec"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec"}]


@pytest.mark.parametrize("method", ["post", "put", "patch"])
def test_writes_announce_field_validation_so_that_kubectl_leaves_it_to_the_server(method: str) -> None:
    collection = "/api/v1/namespaces/{namespace}/pods"
    path = collection if method == "post" else f"{collection}/{{name}}"
    for document in (_read("/openapi/v3/api/v1"), _read("/openapi/v2")):
        parameters = document["paths"][path][method]["parameters"]
        assert "fieldValidation" in {each["name"] for each in parameters}


def test_lists_say_how_they_merge() -> None:
    spec = _read("/openapi/v3/api/v1")["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert spec["containers"]["x-kubernetes-patch-merge-key"] == "name"
    assert spec["containers"]["x-kubernetes-patch-strategy"] == "merge"
    assert spec["containers"]["x-kubernetes-list-map-keys"] == ["name"]
    assert spec["volumes"]["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    assert spec["tolerations"]["x-kubernetes-list-type"] == "atomic"
    assert spec["nodeSelector"]["x-kubernetes-map-type"] == "atomic"


def test_operation_ids_are_unique() -> None:
    found = [
        operation["operationId"]
        for item in _read("/openapi/v2")["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
    ]
    assert len(found) == len(set(found))


def test_a_custom_kind_shows_its_constraints() -> None:
    schemas = _read("/openapi/v3/apis/shapes.example.com/v1")["components"]["schemas"]
    spec = schemas["com.example.shapes.v1.Gadget"]["properties"]["spec"]
    assert spec["required"] == ["replicas", "mode"]
    assert spec["properties"]["mode"] == {"type": "string", "enum": ["A", "B"], "default": "A"}
    assert spec["properties"]["ios"] == {"x-kubernetes-int-or-string": True}
    assert spec["properties"]["nul"]["nullable"] is True
    assert spec["properties"]["one"]["oneOf"] == [{"required": ["a"]}, {"required": ["b"]}]
    metadata = schemas["com.example.shapes.v1.Gadget"]["properties"]["metadata"]
    assert metadata["allOf"][0]["$ref"].endswith(".ObjectMeta")


def test_documents_are_written_once() -> None:
    assert _OPENAPI.find("/openapi/v2") is _OPENAPI.find("/openapi/v2")
    assert _OPENAPI.find("/openapi/v3/api/v1") is _OPENAPI.find("/openapi/v3/api/v1")


@pytest.mark.parametrize("accept", ["", "*/*", f"{_PROTOBUF},application/json"])
def test_version_2_is_served_in_json(accept: str) -> None:
    document = _OPENAPI.find("/openapi/v2", accept)
    assert document is not None
    assert (document.status, document.content_type) == (200, "application/json")


def test_a_client_that_takes_only_protobuf_gets_a_document_without_definitions() -> None:
    """kubectl asks for it before it applies a `kind: List`, and leaves the check to the server then."""
    document = _OPENAPI.find("/openapi/v2", _PROTOBUF)
    assert document is not None
    assert (document.status, document.body) == (200, b"")
    assert document.content_type == _PROTOBUF.replace("@", ".")


def test_where_unknown_fields_are_kept_kubectl_is_told_of_no_properties() -> None:
    """Else it refuses them itself, before the server is asked: `valueFrom` of a variable, for one."""
    kept = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"name": {"type": "string"}}}
    definition = gadget_definition()
    root = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    root["properties"]["spec"]["properties"]["env"] = {"type": "array", "items": kept}
    openapi = OpenApi([kind_of(definition)])

    def env_of(path: str, *way: str) -> dict[str, Any]:
        document = openapi.find(path)
        assert document is not None
        found = msgspec.json.decode(document.body)
        for step in way:
            found = found[step]
        shape = next(one for name, one in found.items() if name.endswith("Gadget"))
        items: dict[str, Any] = shape["properties"]["spec"]["properties"]["env"]["items"]
        return items

    assert "properties" not in env_of("/openapi/v2", "definitions")
    assert "properties" in env_of("/openapi/v3/apis/shapes.example.com/v1", "components", "schemas")
