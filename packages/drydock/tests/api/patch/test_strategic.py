"""Strategic merge patch on small shapes; `facts/patches` holds it to recorded answers on real ones."""

from typing import Any

import pytest

from drydock.api.answers.status import Refusal
from drydock.api.patch.json_patch import copy_json
from drydock.api.patch.strategic import strategic_merge
from drydock.api.schema.shape import STRING, Schema

ITEM = Schema(
    "object", properties={"name": STRING, "value": STRING, "tags": Schema("array", items=STRING, list_type="set")}
)
SHAPE = Schema(
    "object",
    properties={
        "items": Schema("array", items=ITEM, patch_key="name"),
        "tags": Schema("array", items=STRING, list_type="set"),
        "args": Schema("array", items=STRING),
        "map": Schema("object", additional=STRING),
        "union": Schema("object", additional=STRING, patch_replace=True),
    },
)
DOCUMENT = {
    "items": [{"name": "a", "value": "1", "tags": ["x"]}, {"name": "b"}, {"name": "c"}],
    "tags": ["x", "y"],
    "args": ["one", "two"],
    "map": {"k": "v", "l": "w"},
    "union": {"old": "1"},
}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"args": ["three"]}, {"args": ["three"]}),
        ({"tags": ["z", "x"]}, {"tags": ["z", "x", "y"]}),
        ({"$deleteFromPrimitiveList/tags": ["x"]}, {"tags": ["y"]}),
        ({"map": {"k": None, "m": "u"}}, {"map": {"l": "w", "m": "u"}}),
        ({"map": {"$retainKeys": ["l"]}}, {"map": {"l": "w"}}),
        ({"union": {"new": "2"}}, {"union": {"new": "2"}}),
        ({"new": {"a": None, "b": {"c": None}}}, {"new": {"b": {}}}),
        ({"new": [{"$patch": "delete", "name": "a"}, {"name": "b"}]}, {"new": [{"name": "b"}]}),
        (
            {"items": [{"name": "c", "value": "3"}, {"name": "a", "tags": ["y"]}]},
            {"items": [{"name": "b"}, {"name": "c", "value": "3"}, {"name": "a", "value": "1", "tags": ["y", "x"]}]},
        ),
        (
            {"$setElementOrder/items": [{"name": "d"}, {"name": "c"}], "items": [{"name": "d"}]},
            {"items": [{"name": "d"}, {"name": "a", "value": "1", "tags": ["x"]}, {"name": "b"}, {"name": "c"}]},
        ),
    ],
)
def test_a_patch_merges_along_the_shape(patch: dict[str, Any], expected: dict[str, Any]) -> None:
    before = copy_json(patch)
    assert strategic_merge(SHAPE, DOCUMENT, patch) == {**DOCUMENT, **expected}
    assert patch == before


def test_the_document_is_left_alone() -> None:
    before = copy_json(DOCUMENT)
    merged = strategic_merge(SHAPE, DOCUMENT, {"items": [{"name": "a", "value": "2"}]})
    merged["items"][1]["name"] = "changed"
    assert before == DOCUMENT


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"items": [{"value": "1"}]}, 500, "map: map[value:1] does not contain declared merge key: name"),
        ({"map": {"$patch": "frob"}}, 500, "unknown patch type: frob in map: map[$patch:frob]"),
        ({"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({"map": {"$retainKeys": ["x"], "y": "z"}}, 400, "invalid patch format of retainKeys"),
        ([], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)
def test_a_directive_that_makes_no_sense_is_refused(patch: object, code: int, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        strategic_merge(SHAPE, DOCUMENT, patch)
    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize("name", [[], ["a"], {"a": "b"}])
def test_a_merge_key_that_is_no_scalar_is_refused(name: Any) -> None:
    item = Schema("object", properties={"name": STRING})
    shape = Schema("object", properties={"list": Schema("array", items=item, list_keys=("name",), patch_key="name")})
    with pytest.raises(Refusal):
        strategic_merge(shape, {"list": [{"name": "x"}]}, {"list": [{"name": name}]})
