"""`kubectl get` shows what it shows of a real cluster (`shapes/tables.yaml`)."""

import re
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from drydock.api.kinds.builtin import BUILTIN_KINDS
from drydock.api.kinds.kind import Column, Kind
from drydock.api.printing.ages import human_duration
from drydock.api.printing.tables import table_for
from drydock.api.schema.shape import Schema
from packages.drydock.tests.api.shapes.cases import load, recorded

_NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_WRITTEN = load("tables")
_RECORDED = recorded("tables")
_AGE = re.compile(r"\b\d+[smhdy](\d+[smhd])?\b")
_KINDS = {
    f"{'/apis/' + kind.group if kind.group else '/api'}/{kind.version}/{kind.plural}": kind for kind in BUILTIN_KINDS
}
# A real server fills these in when the object is made, which is the business of each kind's strategy.
_MADE_BY_THE_SERVER: dict[str, dict[str, Any]] = {
    "/api/v1/services": {"spec": {"type": "ClusterIP"}},
    "/api/v1/secrets": {"type": "Opaque"},
    "/api/v1/pods": {"status": {"phase": "Pending"}},
    "/api/v1/persistentvolumes": {
        "spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    },
    "/api/v1/persistentvolumeclaims": {"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}},
    "/apis/batch/v1/cronjobs": {"spec": {"suspend": False}},
}


@pytest.mark.parametrize("path", _WRITTEN["columns"])
def test_a_built_in_kind_has_the_columns_it_has_in_kubernetes(path: str) -> None:
    columns = table_for(_KINDS[path], [], _NOW)["columnDefinitions"]
    assert [[each["name"], each["type"], each["format"], each["priority"]] for each in columns] == _RECORDED[path]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in _WRITTEN["rows"]])
def test_a_row_shows_what_it_shows_in_kubernetes(case: dict[str, Any]) -> None:
    path = re.sub("/namespaces/default", "", case["path"])
    row = deepcopy(case["object"])
    for part, values in _MADE_BY_THE_SERVER.get(path, {}).items():
        row[part] = {**values, **row.get(part, {})} if isinstance(values, dict) else values
    row["metadata"] = {"name": "t", "creationTimestamp": "2026-03-01T11:59:58Z", **row.get("metadata", {})}
    (shown,) = table_for(_KINDS[path], [row], _NOW)["rows"]
    assert _ageless(shown["cells"]) == _ageless(_RECORDED[case["name"]])


def _ageless(cells: list[Any]) -> list[Any]:
    return [_AGE.sub("<age>", cell) if isinstance(cell, str) else cell for cell in cells]


def _pod(**parts: Any) -> dict[str, Any]:
    metadata = {"name": "p", "creationTimestamp": "2026-03-01T11:00:00Z", **parts.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "a"}]}, **parts}


def _status_of(pod: dict[str, Any]) -> str:
    return str(table_for(_KINDS["/api/v1/pods"], [pod], _NOW)["rows"][0]["cells"][2])


def test_a_pod_being_deleted_is_terminating_unless_it_has_ended() -> None:
    deleted = {"deletionTimestamp": "2026-03-01T12:00:00Z"}
    assert _status_of(_pod(metadata=deleted, status={"phase": "Running"})) == "Terminating"
    assert _status_of(_pod(metadata=deleted, status={"phase": "Succeeded"})) == "Succeeded"
    assert _status_of(_pod(metadata=deleted, status={"phase": "Running", "reason": "NodeLost"})) == "Unknown"


def test_rows_of_pods_that_have_ended_are_marked() -> None:
    running, failed = table_for(
        _KINDS["/api/v1/pods"], [_pod(status={"phase": "Running"}), _pod(status={"phase": "Failed"})], _NOW
    )["rows"]
    assert "conditions" not in running
    assert [(each["type"], each["reason"]) for each in failed["conditions"]] == [("Completed", "Failed")]


def test_a_row_carries_as_much_of_its_object_as_is_asked_for() -> None:
    kind, pod = _KINDS["/api/v1/pods"], _pod()
    assert table_for(kind, [pod], _NOW, include="Object")["rows"][0]["object"] == pod
    assert table_for(kind, [pod], _NOW, include="None")["rows"][0]["object"] is None
    partial = table_for(kind, [pod], _NOW)["rows"][0]["object"]
    assert partial == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": pod["metadata"]}


def _custom(*columns: Column) -> Kind:
    return Kind("example.com", "v1", "Thing", "things", True, Schema(), columns=columns, custom=True)


def _cells(item: dict[str, Any], *columns: Column) -> list[Any]:
    cells: list[Any] = table_for(_custom(*columns), [item], _NOW)["rows"][0]["cells"]
    return cells


def test_a_kind_without_columns_shows_name_and_age() -> None:
    table = table_for(_custom(), [_pod()], _NOW)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Age"]
    assert table["rows"][0]["cells"] == ["p", "60m"]


def test_custom_columns_are_read_by_their_paths() -> None:
    item = _pod(
        spec={"n": 3, "share": 0.5, "on": True, "tags": ["x", "y"], "when": "2026-03-01T11:58:00Z", "a.b": "dotted"},
        status={"conditions": [{"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"}]},
    )
    shown = _cells(
        item,
        Column("N", "integer", ".spec.n"),
        Column("Share", "number", ".spec.share"),
        Column("On", "boolean", ".spec.on"),
        Column("First", "string", ".spec.tags[0]"),
        Column("All", "string", ".spec.tags[*]"),
        Column("When", "date", ".spec.when"),
        Column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
        Column("Dotted", "string", r".spec.a\.b"),
        Column("Quoted", "string", ".spec['a.b']"),
        Column("Missing", "string", ".spec.missing.deeper"),
    )
    assert shown == [3, 0.5, True, "x", "x y", "2m", "True", "dotted", "dotted", None]


def test_a_value_of_another_type_than_its_column_is_not_shown() -> None:
    item = _pod(spec={"n": "three", "on": 1})
    assert _cells(item, Column("N", "integer", ".spec.n"), Column("On", "boolean", ".spec.on")) == [None, None]


@pytest.mark.parametrize(
    ("age", "shown"),
    [
        (timedelta(seconds=-1), "0s"),
        (timedelta(seconds=-5), "<invalid>"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=2), "2m"),
        (timedelta(minutes=9, seconds=59), "9m59s"),
        (timedelta(minutes=179), "179m"),
        (timedelta(hours=7, minutes=5), "7h5m"),
        (timedelta(hours=47), "47h"),
        (timedelta(days=2), "2d"),
        (timedelta(days=7, hours=3), "7d3h"),
        (timedelta(days=729), "729d"),
        (timedelta(days=731), "2y1d"),
        (timedelta(days=3000), "8y"),
    ],
)
def test_ages_get_coarser_as_they_grow(age: timedelta, shown: str) -> None:
    assert human_duration(age.total_seconds()) == shown
