"""What JSON patch and merge patch promise; `facts/patches` holds them to recorded answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drydock.api.answers.status import Refusal
from drydock.api.patch.json_patch import MAX_OPERATIONS, copy_json, json_patch, merge_patch

SCALARS = st.booleans() | st.integers() | st.text(max_size=5)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)


VALUES = st.recursive(st.none() | SCALARS, _grown)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)
PATCHES = st.dictionaries(st.text(max_size=3), st.none() | st.recursive(SCALARS, _grown), max_size=4)


def test_a_failed_test_is_refused_without_a_reason() -> None:
    with pytest.raises(Refusal) as refused:
        json_patch({"a": 1}, [{"op": "test", "path": "/a", "value": 2}])
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert refused.value.message == "the server rejected our request due to an error in our request"
    assert refused.value.causes == ()


@pytest.mark.parametrize(("found", "wanted"), [(1, 1.0), (1, True), ("1", 1), (0, False), ({}, []), ({"a": 1}, {})])
def test_a_test_compares_values_as_json_does(found: Any, wanted: Any) -> None:
    json_patch({"a": found}, [{"op": "test", "path": "/a", "value": found}])
    with pytest.raises(Refusal):
        json_patch({"a": found}, [{"op": "test", "path": "/a", "value": wanted}])


def test_operations_are_all_or_nothing() -> None:
    document = {"a": 1}
    with pytest.raises(Refusal):
        json_patch(document, [{"op": "add", "path": "/b", "value": 2}, {"op": "remove", "path": "/c"}])
    assert document == {"a": 1}


def test_a_patch_has_at_most_ten_thousand_operations() -> None:
    operation = {"op": "test", "path": "/a", "value": 1}
    assert json_patch({"a": 1}, [operation] * MAX_OPERATIONS) == {"a": 1}
    with pytest.raises(Refusal) as refused:
        json_patch({"a": 1}, [operation] * (MAX_OPERATIONS + 1))
    assert refused.value.code == 413
    told = "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert refused.value.message == f"Request entity too large: {told}"


def test_a_merge_patch_of_null_is_no_patch() -> None:
    with pytest.raises(Refusal, match="Invalid JSON Patch"):
        merge_patch({"a": 1}, None)


def test_a_moved_value_is_not_shared_with_what_it_was_copied_from() -> None:
    patched = json_patch(
        {"a": {"b": []}}, [{"op": "copy", "from": "/a", "path": "/c"}, {"op": "add", "path": "/c/b/-", "value": 1}]
    )
    assert patched == {"a": {"b": []}, "c": {"b": [1]}}


@given(OBJECTS, PATCHES)
def test_a_merge_patch_leaves_its_inputs_alone_and_does_the_same_again(
    document: dict[str, Any], patch: dict[str, Any]
) -> None:
    before = copy_json(document), copy_json(patch)
    merged = merge_patch(document, patch)
    assert (document, patch) == before
    assert merge_patch(merged, patch) == merged


def test_nulls_within_a_new_list_go_only_where_no_object_was() -> None:
    patch = {"a": [{"b": None}]}
    assert merge_patch({}, patch) == {"a": [{}]}
    assert merge_patch({"a": {}}, patch) == patch


@given(OBJECTS, st.text(max_size=3), VALUES)
def test_what_is_added_can_be_tested_and_removed(document: dict[str, Any], key: str, value: Any) -> None:
    path = "/" + key.replace("~", "~0").replace("/", "~1")
    added = json_patch(document, [{"op": "add", "path": path, "value": value}])
    assert json_patch(added, [{"op": "test", "path": path, "value": value}]) == added
    rest = {name: item for name, item in document.items() if name != key}
    assert json_patch(added, [{"op": "remove", "path": path}]) == rest
