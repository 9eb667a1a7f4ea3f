"""Custom objects are defaulted, pruned and refused as by a real kube-apiserver (`shapes/`)."""

from typing import Any

import pytest

from drydock.api.schema.defaulting import apply_defaults
from drydock.api.schema.shape import Schema
from packages.drydock.tests.api.shapes.cases import custom, definition, gadget_definition, load, recorded
from packages.drydock.tests.api.shapes.strategies import create, kind_of, told, update

_SPECS = load("objects")["specs"]
_GADGET = kind_of(gadget_definition())
_CASES = [pytest.param(spec, answer, id=str(spec)) for spec, answer in zip(_SPECS, recorded("objects"), strict=True)]


@pytest.mark.parametrize(("spec", "answer"), _CASES)
def test_a_custom_object_is_treated_as_kubernetes_treats_it(spec: Any, answer: dict[str, Any]) -> None:
    stored, wrong = create(_GADGET, custom("Gadget", spec))
    assert told(wrong) == answer["causes"]
    if not answer["causes"]:
        assert stored["spec"] == answer["spec"]


def _gadget(**spec: Any) -> dict[str, Any]:
    return create(_GADGET, custom("Gadget", {"replicas": 1, **spec}))[0]


def test_what_was_wrong_before_may_stay_as_long_as_it_is_not_touched() -> None:
    old = _gadget()
    old["spec"] |= {"name": "TOO LONG", "ports": [{"port": "old"}]}
    kept = {**old, "spec": {**old["spec"], "replicas": 2}}
    assert update(_GADGET, kept, old)[1] == []
    touched = {**old, "spec": {**old["spec"], "name": "STILL BAD"}}
    assert [cause.field for cause in update(_GADGET, touched, old)[1]] == ["spec.name"]


def test_only_the_items_of_a_list_map_are_recognized_again() -> None:
    old = _gadget()
    old["spec"] |= {"ports": [{"port": 1, "proto": 5}], "steps": [{"times": 0}]}
    grown = {**old, "spec": {**old["spec"], "ports": [{"port": 2}, {"port": 1, "proto": 5}]}}
    assert update(_GADGET, grown, old)[1] == []
    grown = {**old, "spec": {**old["spec"], "steps": [{"times": 0}, {"do": "x"}]}}
    assert [cause.field for cause in update(_GADGET, grown, old)[1]] == ["spec.steps[0].times", "spec.steps[0].do"]


def test_creating_drops_the_status() -> None:
    stored, _ = create(_GADGET, {**custom("Gadget", {"replicas": 1}), "status": {"replicas": 5}})
    assert "status" not in stored


def test_updating_the_object_keeps_the_status_and_updating_the_status_keeps_the_object() -> None:
    old = {**_gadget(), "status": {"replicas": 5}}
    new = {**old, "spec": {**old["spec"], "replicas": 2}, "status": {"replicas": 7}}
    assert update(_GADGET, new, old)[0] == {**new, "status": {"replicas": 5}}
    assert update(_GADGET, new, old, "status")[0] == {**old, "status": {"replicas": 7}}


def test_a_status_update_leaves_the_labels_alone() -> None:
    old = {**_gadget(), "status": {}}
    new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}, "status": {"replicas": 1}}
    assert update(_GADGET, new, old, "status")[0]["metadata"] == old["metadata"]


def test_without_a_status_subresource_the_status_is_a_field_like_others() -> None:
    plain = kind_of(definition("Plain", {"type": "object"}))
    stored, wrong = create(plain, {**custom("Plain", {}), "status": {"replicas": 5}})
    assert not wrong
    assert stored["status"] == {"replicas": 5}


def test_a_default_is_copied_and_not_shared() -> None:
    shape = Schema("object", properties={"a": Schema("array", default=[1], items=Schema("integer"))})
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    apply_defaults(shape, first)
    first["a"].append(2)
    apply_defaults(shape, second)
    assert second == {"a": [1]}
