"""The shapes of built-in kinds, and what is told of objects that do not fit them."""

from typing import Any

import pytest

from drydock.api.kinds.builtin import BUILTIN_KINDS
from drydock.api.schema.pruning import drop_empty, prune
from drydock.api.schema.shape import Schema
from drydock.api.schema.validation import decoding_error, unknown_fields
from drydock.api.types import LIBRARY
from drydock.api.types.notation import Library, NotationError, parse

_POD = LIBRARY["core.Pod"]
_DEPLOYMENT = LIBRARY["apps.Deployment"]


def _pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "x", "image": "i", **(container or {})}]
    return {"metadata": {"name": "a"}, "spec": {"containers": containers, **spec}}


# What a real kube-apiserver 1.36 answers after "Pod in version "v1" cannot be handled as a Pod: ".
@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            _pod({"image": 5}),
            "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string",
        ),
        (
            {"spec": {"containers": {"name": "x"}}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            _pod({"ports": [{"containerPort": "80"}]}),
            "json: cannot unmarshal string into Go struct field"
            " ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            {"metadata": {"labels": {"a": True}}},
            "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            _pod(hostNetwork="yes"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
        ),
        (
            _pod(priority=1.5),
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            _pod(priority=5000000000),
            "json: cannot unmarshal number 5000000000 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            _pod({"resources": {"limits": {"cpu": "abc"}}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            {"metadata": {"creationTimestamp": "yesterday"}},
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
        (
            {"metadata": {"creationTimestamp": 5}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        ({"spec": "x"}, "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec"),
        (
            _pod(tolerations=["x"]),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.tolerations of type v1.Toleration",
        ),
        (
            _pod(nodeSelector=[]),
            "json: cannot unmarshal array into Go struct field PodSpec.spec.nodeSelector of type map[string]string",
        ),
    ],
)
def test_a_pod_that_cannot_be_decoded_is_told_as_go_tells_it(body: dict[str, Any], told: str) -> None:
    assert decoding_error(_POD, body) == told


def test_text_that_is_no_base64_is_told_with_its_place() -> None:
    assert (
        decoding_error(LIBRARY["core.Secret"], {"data": {"a": "notbase64!"}}) == "illegal base64 data at input byte 9"
    )


@pytest.mark.parametrize(
    "body",
    [
        _pod({"resources": {"limits": {"cpu": 2, "memory": "1.5Gi"}, "requests": {"cpu": "1e3"}}}),
        _pod({"livenessProbe": {"httpGet": {"port": "web"}}, "readinessProbe": {"tcpSocket": {"port": 80}}}),
        _pod(priority=None, nodeSelector=None, tolerations=None),
        {"metadata": {"creationTimestamp": None, "deletionTimestamp": "2026-03-01T12:00:00.5+01:00"}},
    ],
)
def test_what_go_can_decode_is_let_through(body: dict[str, Any]) -> None:
    assert decoding_error(_POD, body) == ""


def test_unknown_fields_are_named_in_the_order_of_the_object() -> None:
    body = {
        "metadata": {"name": "a", "x": 1},
        "spec": {"foo": 1, "containers": [{"name": "x", "bar": 2, "env": [{"name": "q", "b": 1}]}]},
        "zip": 1,
    }
    assert unknown_fields(_POD, body) == [
        "metadata.x",
        "spec.foo",
        "spec.containers[0].bar",
        "spec.containers[0].env[0].b",
        "zip",
    ]
    prune(_POD, body)
    assert body == {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "x", "env": [{"name": "q"}]}]}}


def test_fields_that_may_hold_anything_are_left_alone() -> None:
    revision = {"data": {"spec": {"whatever": [1, {"a": None}]}}, "revision": 1}
    assert unknown_fields(LIBRARY["apps.ControllerRevision"], revision) == []
    prune(LIBRARY["apps.ControllerRevision"], revision)
    assert revision["data"] == {"spec": {"whatever": [1, {"a": None}]}}


def test_what_a_go_struct_would_not_write_back_is_dropped() -> None:
    body: dict[str, Any] = {
        "metadata": {"labels": {}, "annotations": None, "finalizers": []},
        "spec": {
            "containers": [{"name": "x", "command": [], "resources": {}}],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "hostNetwork": False,
            "nodeSelector": {},
        },
    }
    drop_empty(_POD, body)
    assert body == {
        "metadata": {},
        "spec": {
            "containers": [{"name": "x", "resources": {}}],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "hostNetwork": False,
        },
    }


def test_a_list_that_must_be_there_may_be_empty() -> None:
    body: dict[str, Any] = {"spec": {"containers": []}}
    drop_empty(_POD, body)
    assert body == {"spec": {"containers": []}}


@pytest.mark.parametrize(
    ("path", "keys", "patch_key"),
    [
        ("spec.containers", ("name",), "name"),
        ("spec.containers.ports", ("containerPort", "protocol"), "containerPort"),
        ("spec.topologySpreadConstraints", ("topologyKey", "whenUnsatisfiable"), "topologyKey"),
        ("status.conditions", ("type",), "type"),
        ("metadata.ownerReferences", ("uid",), "uid"),
        ("spec.containers.resources.claims", ("name",), ""),
        ("spec.tolerations", (), ""),
    ],
)
def test_lists_know_the_keys_of_their_items(path: str, keys: tuple[str, ...], patch_key: str) -> None:
    shape = _POD
    for part in path.split("."):
        shape = (shape.items or shape).properties[part]
    assert (shape.list_keys, shape.patch_key) == (keys, patch_key)
    assert shape.list_type == ("map" if keys else "atomic")


def test_the_union_of_a_volume_keeps_only_the_source_that_is_named() -> None:
    assert _POD.properties["spec"].properties["volumes"].patch_retain_keys
    assert _DEPLOYMENT.properties["spec"].properties["strategy"].patch_retain_keys


def test_a_port_without_a_protocol_is_a_tcp_port() -> None:
    ports = _POD.properties["spec"].properties["containers"].items
    assert ports is not None
    items = ports.properties["ports"].items
    assert items is not None
    assert items.properties["protocol"].default == "TCP"


def test_a_schema_of_schemas_contains_itself() -> None:
    properties = LIBRARY["apiextensions.JSONSchemaProps"].properties["properties"].additional
    assert properties is not None
    assert properties.properties is LIBRARY["apiextensions.JSONSchemaProps"].properties


@pytest.mark.parametrize("kind", [pytest.param(kind, id=f"{kind.group}/{kind.kind}") for kind in BUILTIN_KINDS])
def test_every_built_in_kind_is_an_object_with_metadata_and_a_description(kind: Any) -> None:
    assert {"apiVersion", "kind", "metadata"} <= set(kind.schema.properties)
    assert kind.schema.description
    assert kind.schema.name.endswith(f".{kind.kind}")


def test_selectable_fields_read_as_selectors_compare_them() -> None:
    kinds = {(kind.group, kind.kind): kind for kind in BUILTIN_KINDS}

    def value(group: str, kind: str, body: dict[str, Any], path: str) -> str:
        read = kinds[group, kind].field_value
        assert read is not None
        assert path in kinds[group, kind].selectable_fields
        return read(body, path)

    assert value("", "Pod", {"spec": {"nodeName": "n"}}, "spec.nodeName") == "n"
    assert value("", "Pod", {}, "spec.hostNetwork") == "false"
    assert value("", "Pod", {}, "status.phase") == ""
    assert value("", "Node", {"spec": {"unschedulable": True}}, "spec.unschedulable") == "true"
    assert value("", "Node", {}, "spec.unschedulable") == "false"
    assert value("batch", "Job", {"status": {"succeeded": 2}}, "status.successful") == "2"
    assert value("batch", "Job", {}, "status.successful") == "0"
    assert value("apps", "ReplicaSet", {}, "status.replicas") == "0"
    assert value("", "Event", {"reportingComponent": "c"}, "source") == "c"


def test_the_notation_reads_types_names_options_and_descriptions() -> None:
    text = """
Meta
  string: name

Thing (atomic) -- what it is
  string: a! b -- not a name
  [Part]: parts (map name; patch key; retain) -- the parts
  {int32}: numbers x-dashed (atomic)

Part
  string: name! key
"""
    library = Library(parse("io.example.things.v1", text))
    thing = library["things.Thing"]
    assert thing.atomic_map
    assert thing.required == ("a",)
    assert thing.description == "what it is"
    assert list(thing.properties) == ["a", "b", "parts", "numbers", "x-dashed"]
    assert thing.properties["b"].description == "not a name"
    parts = thing.properties["parts"]
    assert (parts.list_keys, parts.patch_key, parts.patch_retain_keys) == (("name",), "key", True)
    numbers = thing.properties["x-dashed"]
    assert numbers.additional is not None
    assert (numbers.additional.format, numbers.atomic_map) == ("int32", True)


@pytest.mark.parametrize("text", ["  string: a", "Thing\n  string a", "Thing\n  string: a (odd)", "Thing\n\nThing"])
def test_what_the_notation_does_not_know_is_refused(text: str) -> None:
    with pytest.raises(NotationError):
        Library(parse("io.example.things.v1", text))


def test_shapes_are_compared_by_identity() -> None:
    assert Schema() != Schema()
