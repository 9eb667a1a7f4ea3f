"""Metadata that only the core's own calls can meet; `facts/metadata` holds the rest to recorded answers."""

from typing import Any

import pytest

from drydock.api.kinds.builtin import BUILTIN_KINDS
from drydock.api.kinds.kind import Kind
from drydock.api.objects.metadata import MAX_ANNOTATIONS_BYTES, validate_metadata
from drydock.api.schema.shape import Schema

CONFIG_MAP = next(kind for kind in BUILTIN_KINDS if kind.kind == "ConfigMap")
NODE = next(kind for kind in BUILTIN_KINDS if kind.kind == "Node")
WIDGET = Kind("example.com", "v1", "Widget", "widgets", True, Schema("object"), custom=True)


def told(kind: Kind, metadata: dict[str, Any], old: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    causes = validate_metadata(kind, {"metadata": metadata}, {"metadata": old} if old is not None else None)
    return [(cause.field, cause.message) for cause in causes]


def test_annotations_have_a_size_together() -> None:
    fits = {"a": "x" * (MAX_ANNOTATIONS_BYTES - 3), "b": "y"}
    assert told(CONFIG_MAP, {"name": "c", "namespace": "d", "annotations": fits}) == []
    over = {**fits, "b": "é"}
    assert told(CONFIG_MAP, {"name": "c", "namespace": "d", "annotations": over}) == [
        ("metadata.annotations", "Too long: may not be more than 262144 bytes")
    ]


@pytest.mark.parametrize(
    ("kind", "namespace", "expected"),
    [
        (CONFIG_MAP, "", [("metadata.namespace", "Required value")]),
        (NODE, "default", [("metadata.namespace", "Forbidden: not allowed on this type")]),
        (NODE, "", []),
    ],
)
def test_a_namespace_is_there_when_the_kind_has_one(kind: Kind, namespace: str, expected: list[Any]) -> None:
    assert told(kind, {"name": "n", "namespace": namespace}) == expected


def test_custom_kinds_may_have_short_finalizers() -> None:
    metadata = {"name": "w", "namespace": "d", "finalizers": ["short"]}
    assert told(WIDGET, metadata) == []
    why = 'Invalid value: "short": name is neither a standard finalizer name nor is it fully qualified'
    assert told(CONFIG_MAP, metadata) == [("metadata.finalizers[0]", why)]


@pytest.mark.parametrize("name", ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"])
def test_identity_does_not_change(name: str) -> None:
    old = {"name": "c", "namespace": "d", "uid": "u", "creationTimestamp": "t", "deletionTimestamp": "e"}
    assert told(CONFIG_MAP, old, old) == []
    assert told(CONFIG_MAP, {**old, name: "other"}, old) == [
        (f"metadata.{name}", 'Invalid value: "other": field is immutable')
    ]


def test_a_grace_period_of_zero_is_not_the_same_as_none() -> None:
    old = {"name": "c", "namespace": "d"}
    assert told(CONFIG_MAP, {**old, "deletionGracePeriodSeconds": 0}, old) == [
        ("metadata.deletionGracePeriodSeconds", "Invalid value: 0: field is immutable")
    ]


def test_a_bad_name_is_no_concern_of_an_update() -> None:
    old = {"name": "Bad_Name", "namespace": "d"}
    assert told(CONFIG_MAP, {**old, "labels": {"a": "b"}}, old) == []
