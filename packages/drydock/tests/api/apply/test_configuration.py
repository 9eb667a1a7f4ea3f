"""Server-side apply and the owners of fields, on shapes of one's own; `facts/apply` holds it to recorded answers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from drydock.api.answers.status import Refusal
from drydock.api.apply.configuration import Applier, server_side_apply
from drydock.api.apply.managed_fields import track_update
from drydock.api.kinds.builtin import BUILTIN_KINDS
from drydock.api.patch.json_patch import copy_json, merge_patch
from drydock.api.schema.shape import INTEGER, STRING, Schema

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=5)
CONFIG_MAP = next(kind.schema for kind in BUILTIN_KINDS if kind.kind == "ConfigMap")
METADATA = Schema(
    "object", properties={"name": STRING, "labels": Schema("object", additional=STRING)}, preserve_unknown=True
)
PORT = Schema("object", properties={"port": INTEGER, "protocol": Schema("string", default="TCP"), "name": STRING})
WIDGET = Schema(
    "object",
    properties={
        "apiVersion": STRING,
        "kind": STRING,
        "metadata": METADATA,
        "spec": Schema(
            "object",
            properties={
                "size": INTEGER,
                "ports": Schema("array", items=PORT, list_type="map", list_keys=("port", "protocol")),
                "tags": Schema("array", items=STRING, list_type="set"),
                "free": Schema("object", preserve_unknown=True),
            },
        ),
        "status": Schema("object", properties={"size": INTEGER}),
    },
)


def widget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def config(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def applied(live: dict[str, Any] | None, body: dict[str, Any], manager: str = "one", **options: Any) -> dict[str, Any]:
    return server_side_apply(WIDGET, live, body, Applier(manager, NOW, **options))


def owners(obj: dict[str, Any]) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def test_the_key_of_an_item_is_completed_by_its_default() -> None:
    live = applied(None, widget(ports=[{"port": 80, "name": "web"}]))
    assert owners(live)["one"]["f:spec"]["f:ports"].keys() == {'k:{"port":80,"protocol":"TCP"}'}
    same = applied(live, widget(ports=[{"port": 80, "protocol": "TCP", "name": "web"}]), "two")
    assert len(same["spec"]["ports"]) == 1
    two = applied(live, widget(ports=[{"port": 80, "protocol": "UDP"}]), "two")
    assert [port.get("protocol") for port in two["spec"]["ports"]] == [None, "UDP"]


def test_what_an_applier_drops_goes_unless_someone_else_owns_it() -> None:
    live = applied(None, widget(size=1, tags=["a", "b"], free={"x": {"y": 1}, "z": [1]}))
    live = applied(live, widget(tags=["b"], free={"z": [1]}), "two")
    live = applied(live, widget(size=1), "one")
    assert live["spec"] == {"size": 1, "tags": ["b"], "free": {"z": [1]}}
    assert applied(live, widget(), "two")["spec"] == {"size": 1}


def test_a_conflict_names_each_field_and_its_owner() -> None:
    live = track_update(WIDGET, None, widget(size=1, tags=["a"], ports=[{"port": 1, "name": "x"}]), "kubectl", NOW)
    with pytest.raises(Refusal) as refused:
        applied(live, widget(size=2, tags=["a"], ports=[{"port": 1, "name": "y"}]))
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    assert [(cause.reason, cause.field) for cause in refused.value.causes] == [
        ("FieldManagerConflict", ".spec.size"),
        ("FieldManagerConflict", '.spec.ports[port=1,protocol="TCP"].name'),
    ]
    assert {cause.message for cause in refused.value.causes} == {'conflict with "kubectl" using example.com/v1'}
    assert refused.value.message == (
        'Apply failed with 2 conflicts: conflicts with "kubectl" using example.com/v1:\n'
        '- .spec.size\n- .spec.ports[port=1,protocol="TCP"].name'
    )


def test_force_takes_the_field_from_its_owner() -> None:
    live = applied(None, widget(size=1), "one")
    live = applied(live, widget(size=2), "two", force=True)
    assert owners(live) == {"two": {"f:spec": {"f:size": {}}}}
    assert live["spec"] == {"size": 2}


def test_applying_the_same_again_does_not_touch_the_time() -> None:
    live = applied(None, widget(size=1))
    again = server_side_apply(WIDGET, live, widget(size=1), Applier("one", LATER))
    assert again == live


def test_status_belongs_to_its_endpoint_where_there_is_one() -> None:
    body = {**widget(size=1), "status": {"size": 1}}
    assert "f:status" not in owners(applied(None, body))["one"]
    assert "f:status" in owners(applied(None, body, status_is_separate=False))["one"]
    live = applied(None, widget(size=1))
    reported = applied(live, body, "controller", subresource="status")
    entry = next(each for each in reported["metadata"]["managedFields"] if each["manager"] == "controller")
    assert (entry["subresource"], entry["fieldsV1"]) == ("status", {"f:status": {"f:size": {}}})


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({**config(), "foo": 1}, ".foo: field not declared in schema"),
        (config(a=5), ".data.a: expected string, got &value.valueUnstructured{Value:5}"),
    ],
)
def test_an_applied_object_must_fit_its_shape(body: dict[str, Any], why: str) -> None:
    with pytest.raises(Refusal) as refused:
        server_side_apply(CONFIG_MAP, None, body, Applier("one", NOW))
    assert refused.value.code == 500
    assert refused.value.message == f"failed to create typed patch object (/c; /v1, Kind=ConfigMap): {why}"


def test_the_keys_of_a_list_may_not_repeat() -> None:
    with pytest.raises(Refusal, match=r"\.spec\.ports: duplicate entries for key \[port=1,protocol=\"TCP\"\]"):
        applied(None, widget(ports=[{"port": 1}, {"port": 1, "protocol": "TCP"}]))


def test_a_null_is_owned() -> None:
    live = server_side_apply(CONFIG_MAP, None, config(a="1"), Applier("one", NOW))
    live = server_side_apply(CONFIG_MAP, live, {**config(), "data": None}, Applier("one", NOW))
    assert owners(live) == {"one": {"f:data": {}}}


def test_the_live_object_is_left_alone() -> None:
    live = applied(None, widget(size=1, tags=["a"]))
    before = copy_json(live)
    changed = applied(live, widget(size=2, tags=["b"]))
    changed["spec"]["tags"].append("c")
    assert live == before


def test_a_writer_takes_what_it_changes_and_nothing_else() -> None:
    live = track_update(WIDGET, None, widget(size=1, tags=["a"]), "creator", NOW)
    changed = track_update(WIDGET, live, merge_patch(live, {"spec": {"size": 2}}), "editor", LATER)
    assert owners(changed) == {
        "creator": {"f:spec": {".": {}, "f:tags": {".": {}, 'v:"a"': {}}}},
        "editor": {"f:spec": {"f:size": {}}},
    }
    times = {entry["manager"]: entry["time"] for entry in changed["metadata"]["managedFields"]}
    assert times == {"creator": "2026-03-01T12:00:00Z", "editor": "2026-03-01T12:00:05Z"}


def test_nothing_changes_when_nothing_is_written() -> None:
    live = track_update(WIDGET, None, widget(size=1), "creator", NOW)
    assert track_update(WIDGET, live, copy_json(live), "other", LATER) == live


def test_a_removed_field_belongs_to_nobody() -> None:
    live = track_update(WIDGET, None, widget(size=1, tags=["a"]), "creator", NOW)
    live = track_update(WIDGET, live, merge_patch(live, {"spec": {"size": None}}), "editor", LATER)
    assert owners(live) == {"creator": {"f:spec": {".": {}, "f:tags": {".": {}, 'v:"a"': {}}}}}


@pytest.mark.parametrize("reset", [[], [{}]])
def test_entries_that_were_reset_stay_away_until_the_next_apply(reset: list[Any]) -> None:
    live = track_update(WIDGET, None, widget(size=1), "creator", NOW)
    sent = merge_patch(live, {"metadata": {"managedFields": reset}})
    live = track_update(WIDGET, live, sent, "editor", NOW)
    assert "managedFields" not in live["metadata"]
    live = track_update(WIDGET, live, merge_patch(live, {"spec": {"size": 2}}), "editor", NOW)
    assert "managedFields" not in live["metadata"]
    live = applied(live, widget(tags=["a"]))
    assert owners(live).keys() == {"before-first-apply", "one"}


def test_a_writer_that_does_not_know_managed_fields_cannot_lose_them() -> None:
    live = track_update(WIDGET, None, widget(size=1), "creator", NOW)
    sent = merge_patch(live, {"metadata": {"managedFields": None}, "spec": {"size": 2}})
    assert owners(track_update(WIDGET, live, sent, "editor", NOW)).keys() == {"creator", "editor"}
