"""CEL rules compile, hold and fail as in a real kube-apiserver (`shapes/rules.yaml`)."""

import re
from typing import Any

import pytest

from drydock.api.cel.rules import rule_errors
from drydock.api.schema.structural import to_schema
from packages.drydock.tests.api.shapes.cases import custom, definition, load, recorded, ruled_definition
from packages.drydock.tests.api.shapes.strategies import create, define, kind_of, told, update

_WRITTEN = load("rules")
_RECORDED = recorded("rules")
# cel-go names the type of an object after a random number; here it is just an object.
_OBJECT = re.compile(r"selfType\d+(\.\w+)?")
# What the parser expected next is told in more words than are worth having.
_LOOSE = {"'abc", "[1, 2,", "self.l.all(x, y, z, true)"}


@pytest.mark.parametrize("rule", _WRITTEN["rules"])
def test_a_rule_fares_as_in_kubernetes(rule: str) -> None:
    expected = _RECORDED[rule]
    _, wrong = define(ruled_definition([rule]))
    if "refused" in expected:
        assert wrong, "Kubernetes refuses it"
        refused = wrong[0].message.partition("compilation failed: ")[2].partition("\n")[0] or wrong[0].message
        if rule not in _LOOSE:
            assert refused == _OBJECT.sub("object", expected["refused"])
        return
    assert not wrong
    ruled = kind_of(ruled_definition([rule]))
    for name, spec in (("full", _WRITTEN["object"]), ("empty", {})):
        _, broken = create(ruled, custom("Ruled", spec))
        assert [cause.message for cause in broken] == [expected[name]] * bool(expected[name]), name


@pytest.mark.parametrize(
    "function", ["ip('1.2.3.4').family() == 4", "isURL('x')", "self.m.transformMap(k, v, v) == {}"]
)
def test_a_function_that_cannot_be_run_is_refused_with_the_definition(function: str) -> None:
    _, wrong = define(ruled_definition([function]))
    assert "undeclared reference" in wrong[0].message


def _ruled(*rules: dict[str, Any], fields: dict[str, Any] | None = None) -> Any:
    fields = fields or {"a": {"type": "integer"}, "name": {"type": "string"}}
    return kind_of(
        definition("Ruled", {"type": "object", "properties": fields, "x-kubernetes-validations": list(rules)})
    )


def test_a_broken_rule_says_its_message_where_its_field_path_points() -> None:
    kind = _ruled({"rule": "self.a > 3", "message": "a is too small", "fieldPath": ".a"})
    assert told(create(kind, custom("Ruled", {"a": 1}))[1]) == [
        ["FieldValueInvalid", "spec.a", "Invalid value: a is too small"]
    ]


def test_a_message_expression_speaks_with_the_values_at_hand() -> None:
    kind = _ruled(
        {
            "rule": "self.a > 3",
            "message": "plain",
            "messageExpression": "'a is ' + string(self.a)",
            "reason": "FieldValueForbidden",
        }
    )
    assert told(create(kind, custom("Ruled", {"a": 1}))[1]) == [["FieldValueForbidden", "spec", "Forbidden: a is 1"]]


def test_a_message_expression_that_fails_leaves_the_plain_message() -> None:
    kind = _ruled({"rule": "self.a > 3", "message": "plain", "messageExpression": "'for ' + self.name"})
    assert told(create(kind, custom("Ruled", {"a": 1}))[1]) == [["FieldValueInvalid", "spec", "Invalid value: plain"]]


def test_a_scalar_is_shown_with_its_value() -> None:
    kind = _ruled(fields={"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 3"}]}})
    assert told(create(kind, custom("Ruled", {"a": 1}))[1]) == [
        ["FieldValueInvalid", "spec.a", "Invalid value: 1: failed rule: self > 3"]
    ]


def test_a_transition_rule_waits_for_something_to_come_from() -> None:
    immutable = {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}]}
    kind = _ruled(fields={"name": immutable})
    old, wrong = create(kind, custom("Ruled", {"name": "x"}))
    assert not wrong
    assert update(kind, custom("Ruled", {}), old)[1] == []
    assert told(update(kind, custom("Ruled", {"name": "y"}), old)[1]) == [
        ["FieldValueInvalid", "spec.name", 'Invalid value: "y": is immutable']
    ]
    assert update(kind, custom("Ruled", {"name": "y"}), custom("Ruled", {}))[1] == []


def test_an_optional_old_self_is_there_on_create_too() -> None:
    rule = {"rule": "oldSelf.hasValue() || self.a == 1", "optionalOldSelf": True}
    kind = _ruled(rule)
    old, wrong = create(kind, custom("Ruled", {"a": 1}))
    assert not wrong
    assert update(kind, custom("Ruled", {"a": 2}), old)[1] == []
    assert len(create(kind, custom("Ruled", {"a": 2}))[1]) == 1


def test_a_rule_broken_before_is_not_held_against_what_did_not_change() -> None:
    kind = _ruled(
        fields={"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 3"}]}, "b": {"type": "integer"}}
    )
    old = custom("Ruled", {"a": 1})
    assert update(kind, custom("Ruled", {"a": 1, "b": 2}), old)[1] == []
    assert len(update(kind, custom("Ruled", {"a": 2}), old)[1]) == 1


def test_rules_are_not_run_on_an_object_that_does_not_fit_its_shape() -> None:
    kind = _ruled({"rule": "self.a > 3"})
    assert [cause[1] for cause in told(create(kind, custom("Ruled", {"a": "x"}))[1])] == ["<nil>", "spec.a"]


def test_rules_are_found_in_lists_and_maps() -> None:
    positive = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
    shape = to_schema(
        {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": {"type": "object", "properties": {"n": positive}}},
                "map": {"type": "object", "additionalProperties": positive},
            },
        }
    )
    broken = rule_errors(shape, {"list": [{"n": 1}, {"n": 0}], "map": {"k": -1}}, None)
    assert [cause.field for cause in broken] == ["list[1].n", "map[k]"]


def test_a_rule_at_the_root_sees_the_name_and_no_labels() -> None:
    named = definition("Ruled", {"type": "object"})
    schema = named["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-validations"] = [{"rule": "self.metadata.name != 'a'", "message": "is taken"}]
    assert told(create(kind_of(named), custom("Ruled", {}))[1]) == [
        ["FieldValueInvalid", "<nil>", "Invalid value: is taken"]
    ]
    schema["x-kubernetes-validations"] = [{"rule": "has(self.metadata.labels)"}]
    assert "undefined field 'labels'" in define(named)[1][0].message
