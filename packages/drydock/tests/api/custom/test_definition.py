"""Definitions are refused for the same faults, in the same words, as by a real kube-apiserver (`shapes/`)."""

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

from drydock.api.custom.definition import DefinitionStrategy, established_status, is_established, kinds_of
from packages.drydock.tests.api.shapes.cases import changed_definition, definition, load, recorded
from packages.drydock.tests.api.shapes.strategies import CONTEXT, define, told

_RECORDED = recorded("definitions")
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_PLAIN = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in load("definitions")])
def test_a_definition_is_judged_as_kubernetes_judges_it(case: dict[str, Any]) -> None:
    _, wrong = define(changed_definition(case))
    assert told(wrong) == _RECORDED[case["name"]]


def test_a_definition_without_a_storage_version_is_refused() -> None:
    widgets = definition("Widget", _PLAIN)
    widgets["spec"]["versions"][0]["storage"] = False
    _, wrong = define(widgets)
    assert any("exactly one version marked as storage version" in cause.message for cause in wrong)


def test_a_webhook_conversion_is_refused_because_nobody_would_call_it() -> None:
    widgets = definition("Widget", _PLAIN)
    widgets["spec"]["conversion"] = {"strategy": "Webhook"}
    assert told(define(widgets)[1]) == [
        ["FieldValueNotSupported", "spec.conversion.strategy", 'Unsupported value: "Webhook": supported values: "None"']
    ]


def test_a_pattern_that_cannot_be_run_is_refused() -> None:
    _, wrong = define(definition("Widget", {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}))
    assert [cause.field for cause in wrong] == [
        "spec.validation.openAPIV3Schema.properties[spec].properties[a].pattern"
    ]


def test_names_that_were_not_given_are_filled_in() -> None:
    stored, _ = define(definition("Widget", _PLAIN))
    assert stored["spec"]["names"] == {
        "plural": "widgets",
        "kind": "Widget",
        "singular": "widget",
        "listKind": "WidgetList",
    }
    assert stored["spec"]["conversion"] == {"strategy": "None"}
    assert stored["status"]["storedVersions"] == ["v1"]


def test_a_definition_alone_is_established() -> None:
    stored, _ = define(definition("Widget", _PLAIN))
    assert not is_established(stored)
    stored["status"] = established_status(stored, [stored], _NOW)
    assert is_established(stored)
    assert [(each["type"], each["status"], each["reason"]) for each in stored["status"]["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    assert stored["status"]["acceptedNames"]["plural"] == "widgets"


def test_a_definition_whose_names_are_taken_is_not_established() -> None:
    first, _ = define(definition("Widget", _PLAIN))
    first["status"] = established_status(first, [], _NOW)
    second = definition("Gizmo", _PLAIN)
    second["spec"]["names"]["shortNames"] = ["widget"]
    second, _ = define(second)
    second["status"] = established_status(second, [first, second], _NOW)
    assert not is_established(second)
    assert second["status"]["conditions"][0]["reason"] == "ShortNamesConflict"
    assert second["status"]["conditions"][0]["message"] == '"widget" is already in use'


def test_settling_again_changes_nothing() -> None:
    stored, _ = define(definition("Widget", _PLAIN))
    stored["status"] = established_status(stored, [], _NOW)
    later = datetime(2027, 1, 1, tzinfo=UTC)
    assert established_status(stored, [stored], later) == stored["status"]


def test_what_identifies_a_kind_may_not_change() -> None:
    stored, _ = define(definition("Widget", _PLAIN))
    changed = deepcopy(stored)
    changed["spec"]["scope"] = "Cluster"
    strategy = DefinitionStrategy()
    strategy.prepare_update(changed, stored, "", CONTEXT)
    assert told(list(strategy.validate_update(changed, stored, "", CONTEXT))) == [
        ["FieldValueInvalid", "spec.scope", 'Invalid value: "Cluster": field is immutable']
    ]


def test_a_version_that_may_still_be_stored_must_stay() -> None:
    stored, _ = define(definition("Widget", _PLAIN))
    changed = deepcopy(stored)
    changed["spec"]["versions"][0]["name"] = "v2"
    strategy = DefinitionStrategy()
    strategy.prepare_update(changed, stored, "", CONTEXT)
    assert changed["status"]["storedVersions"] == ["v1", "v2"]
    wrong = strategy.validate_update(changed, stored, "", CONTEXT)
    assert [cause.field for cause in wrong] == ["status.storedVersions[0]"]


def test_every_served_version_is_a_kind() -> None:
    widgets = definition("Widget", _PLAIN)
    first = widgets["spec"]["versions"][0]
    widgets["spec"]["versions"] += [
        {**deepcopy(first), "name": "v1beta1", "storage": False},
        {**deepcopy(first), "name": "v0", "storage": False, "served": False},
    ]
    stored, wrong = define(widgets)
    assert not wrong
    assert [kind.version for kind in kinds_of(stored)] == ["v1", "v1beta1"]


def test_a_kind_has_what_its_version_declares() -> None:
    widgets = definition("Widget", _PLAIN)
    widgets["spec"]["names"] |= {"shortNames": ["wg"], "categories": ["all"]}
    widgets["spec"]["versions"][0] |= {
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.replicas"},
        },
        "selectableFields": [{"jsonPath": ".spec.a"}],
        "additionalPrinterColumns": [{"name": "A", "type": "integer", "jsonPath": ".spec.a", "priority": 1}],
    }
    stored, wrong = define(widgets)
    assert not wrong
    (kind,) = kinds_of(stored)
    assert kind.short_names == ("wg",)
    assert kind.categories == ("all",)
    assert kind.subresources == {"status", "scale"}
    assert kind.scale_paths == (".spec.a", ".status.replicas", "")
    assert kind.selectable_fields == ("spec.a",)
    assert kind.field_value is not None
    assert kind.field_value({"spec": {"a": 5}}, "spec.a") == "5"
    assert [(column.name, column.priority) for column in kind.columns] == [("Name", 0), ("A", 1)]
    assert kind.custom
