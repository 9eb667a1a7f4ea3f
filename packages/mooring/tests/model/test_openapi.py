"""OpenAPI documents, read for people: what is there is shown, what is hostile or wrong does no harm."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.demo.tides import DOCUMENT
from mooring.model.openapi import (
    METHODS,
    MOST_ENDPOINTS,
    MOST_SCHEMAS,
    MOST_STEPS,
    ApiDocument,
    NotADocument,
    parse_document,
    read_document,
)


def test_groups_endpoints_parameters_and_schemas_are_read():
    document = read_document(DOCUMENT)
    assert (document.title, document.version, document.endpoint_count) == ("Tides", "1.0", 2)
    assert list(document.groups) == ["harbours", "tides"]
    (tide,) = document.groups["tides"]
    assert [(one.name, one.place, one.type, one.required) for one in tide.parameters] == [
        ("harbour", "path", "string", True),
        ("hour", "query", "integer", False),
    ]
    assert [(reply.code, reply.type) for reply in tide.replies] == [("200", "Tide"), ("404", "")]
    (schema,) = document.schemas
    assert [(one.name, one.type, one.required) for one in schema.fields] == [
        ("harbour", "string", True),
        ("hour", "integer", True),
        ("metres", "number", True),
    ]


def test_endpoints_groups_and_methods_are_counted_also_beyond_what_is_kept():
    answers = {"responses": {}}
    paths = {f"/p{n}": {"get": {"tags": [f"g{n % 3}"], **answers}, "post": answers} for n in range(MOST_ENDPOINTS)}
    document = read_document({"openapi": "3.1.0", "info": {"title": "t"}, "paths": paths})
    assert len(document.endpoints) == MOST_ENDPOINTS and document.endpoint_count == 2 * MOST_ENDPOINTS
    assert document.methods == {"get": MOST_ENDPOINTS, "post": MOST_ENDPOINTS}
    assert document.group_count == 4, "three tags, and the endpoints without one"
    small = read_document(DOCUMENT)
    assert (small.group_count, small.methods) == (2, {"get": 2})


def test_shared_parameters_and_references_are_followed():
    document = read_document(
        {
            "openapi": "3.0.3",
            "info": {"title": "t"},
            "paths": {
                "/things/{id}": {
                    "parameters": [{"$ref": "#/components/parameters/Id"}, {"name": "q", "in": "query"}],
                    "get": {"parameters": [{"name": "q", "in": "query", "required": True}]},
                    "post": {"requestBody": {"$ref": "#/components/requestBodies/Thing"}},
                }
            },
            "components": {
                "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}},
                "requestBodies": {"Thing": {"content": {"application/json": {"schema": {"$ref": "#/x/Thing"}}}}},
            },
        }
    )
    read, written = document.endpoints
    assert [(one.name, one.required) for one in read.parameters] == [("q", True), ("id", True)]
    assert written.body == "Thing"


def test_swagger_2_is_read_too():
    body = {"name": "pet", "in": "body", "schema": {"$ref": "#/definitions/Pet"}}
    answers = {"200": {"description": "ok", "schema": {"type": "array", "items": {"$ref": "#/definitions/Pet"}}}}
    document = read_document(
        {
            "swagger": "2.0",
            "info": {"title": "Pets"},
            "paths": {"/pets": {"post": {"parameters": [body], "responses": answers}}},
            "definitions": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}},
        }
    )
    (endpoint,) = document.endpoints
    assert (endpoint.body, endpoint.parameters, endpoint.replies[0].type) == ("Pet", (), "array of Pet")
    assert document.schemas[0].fields[0].name == "name"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<!doctype html>", "not JSON"),
        (b"", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "which OpenAPI version"),
        (b'{"openapi": 3}', "which OpenAPI version"),
        (b'{"openapi": "4.0", "paths": {}}', "which OpenAPI version"),
        (b'{"openapi": "3.1.0"}', "no `paths`"),
        (b'{"openapi": "3.1.0", "paths": []}', "no `paths`"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
    ],
)
def test_what_is_no_document_is_told_in_words(body: bytes, told: str):
    with pytest.raises(NotADocument, match=told):
        parse_document(body)


def test_a_schema_that_holds_itself_ends():
    around: dict[str, Any] = {"oneOf": []}
    around["oneOf"].append(around)
    document = read_document({"openapi": "3.1.0", "paths": {}, "components": {"schemas": {"Around": around}}})
    assert document.schemas[0].type == "…"


def test_an_endless_document_is_cut_with_its_true_length_beside_it():
    paths = {f"/{number}": {"get": {}} for number in range(MOST_ENDPOINTS + 7)}
    document = read_document({"openapi": "3.1.0", "info": {"title": "t"}, "paths": paths})
    assert (len(document.endpoints), document.endpoint_count) == (MOST_ENDPOINTS, MOST_ENDPOINTS + 7)


# --- documents that mean to cost -------------------------------------------------------------------------------------
class Counted(dict[str, Any]):
    """A part of a document that counts how often anything is looked up in it or in another part."""

    looked = 0

    def get(self, key: str, default: Any = None) -> Any:
        Counted.looked += 1
        return super().get(key, default)


def counted(part: Any, known: dict[int, Any]) -> Any:
    """The same document of counting parts; what was shared in it stays shared."""
    if id(part) not in known:
        match part:
            case dict():
                known[id(part)] = Counted({key: counted(value, known) for key, value in part.items()})
            case list():
                known[id(part)] = [counted(value, known) for value in part]
            case _:
                return part
    return known[id(part)]


def read_counting(**document: Any) -> tuple[ApiDocument, int]:
    whole = counted({"openapi": "3.1.0", "info": {"title": "t"}, **document}, {})
    Counted.looked = 0
    return read_document(whole), Counted.looked


def sharing(item: dict[str, Any], paths: int) -> dict[str, Any]:
    """Many paths that are all the same item."""
    return {"paths": {f"/{number}": {"$ref": "#/item"} for number in range(paths)}, "item": item}


def characters(document: ApiDocument) -> int:
    return len(msgspec.json.encode(document))


EVERY_METHOD: dict[str, Any] = {method: {} for method in METHODS}
MANY = [{"name": f"p{number}", "in": "query"} for number in range(3_000)]
NEST: dict[str, Any] = {"type": "string"}
for _ in range(4):
    NEST = {"oneOf": [NEST] * 10}
COSTLY = {
    "parameters": {"parameters": MANY, **EVERY_METHOD},
    "malformed parameters": {"parameters": [{"name": []}] * 3_000, **EVERY_METHOD},
    "answers": {"get": {"responses": {f"{number}": {"description": "x"} for number in range(3_000)}}},
    "long words": {"parameters": [{**one, "description": "x" * 5_000} for one in MANY[:90]], **EVERY_METHOD},
    "deep types": {"parameters": [{"name": "deep", "in": "query", "schema": NEST}], **EVERY_METHOD},
    "tags": {"get": {"tags": [5] * 50_000}},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", COSTLY)
def test_an_item_that_many_paths_share_is_not_read_for_each_of_them(kind: str):
    small, _ = read_counting(**sharing(COSTLY[kind], 1))
    document, looked = read_counting(**sharing(COSTLY[kind], 1_500))
    assert document.endpoint_count == 1_500 * small.endpoint_count
    assert len(document.endpoints) == min(document.endpoint_count, MOST_ENDPOINTS)
    parts = sum(len(one.parameters) + len(one.replies) for one in document.endpoints)
    assert parts <= MOST_STEPS and looked < 10 * MOST_STEPS and characters(document) < 20_000_000


def test_a_long_reference_is_followed_once_however_often_it_is_made():
    far = "#/" + "/".join(["far"] * 300)
    target: dict[str, Any] = {"name": "q", "in": "query"}
    for _ in range(300):
        target = {"far": target}
    item = {"parameters": [{"$ref": far}] * 50, **EVERY_METHOD}
    document, looked = read_counting(**sharing(item, 200), **target)
    assert [one.name for one in document.endpoints[0].parameters] == ["q"]
    assert looked < 10 * MOST_STEPS


def test_endpoints_beyond_the_shown_ones_are_counted_and_not_built():
    document, looked = read_counting(paths={f"/{n}": {"get": {"parameters": MANY[:5]}} for n in range(MOST_ENDPOINTS)})
    _, twice = read_counting(paths={f"/{n}": {"get": {"parameters": MANY[:5]}} for n in range(2 * MOST_ENDPOINTS)})
    assert len(document.endpoints) == MOST_ENDPOINTS and not document.abridged
    assert twice - looked <= MOST_ENDPOINTS * (len(METHODS) + 2)


def test_an_endless_list_of_schemas_fields_and_values_is_cut_and_says_so():
    wide = {"properties": {f"f{n}": {"type": "string"} for n in range(5_000)}, "enum": list(range(5_000))}
    document, looked = read_counting(paths={}, components={"schemas": {f"S{n}": wide for n in range(MOST_SCHEMAS + 3)}})
    assert (len(document.schemas), document.schema_count, document.abridged) == (MOST_SCHEMAS, MOST_SCHEMAS + 3, True)
    assert len(document.schemas[0].fields) < 5_000 and looked < 10 * MOST_STEPS


def test_a_document_that_is_shown_whole_is_not_called_abridged():
    assert not read_document(DOCUMENT).abridged
    assert read_counting(**sharing(COSTLY["parameters"], 1))[0].abridged


# --- documents that mean nothing -------------------------------------------------------------------------------------
def test_a_parameter_without_a_name_or_a_place_is_left_out():
    given_ = [{"name": ["x"], "in": "query"}, {"name": "x", "in": {}}, {"name": "x"}, {"name": "y", "in": "query"}, 7]
    document = read_document({"openapi": "3.1.0", "paths": {"/x": {"get": {"parameters": given_}}}})
    assert [one.name for one in document.endpoints[0].parameters] == ["y"]


WORDS = [
    *("get", "post", "parameters", "$ref", "in", "name", "schema", "type", "items", "responses", "200", "content"),
    *("tags", "requestBody", "oneOf", "properties", "required", "enum", "format", "description"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.sampled_from(["", "#/", "array"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=25,
)
PARAMETERS = JSON | st.lists(st.fixed_dictionaries({"name": JSON, "in": JSON}, optional={"schema": JSON, "$ref": JSON}))
OPERATIONS = JSON | st.fixed_dictionaries({}, optional={"parameters": PARAMETERS, "responses": JSON, "tags": JSON})
ITEMS = JSON | st.fixed_dictionaries({}, optional={"get": OPERATIONS, "post": OPERATIONS, "parameters": PARAMETERS})
SCHEMAS = JSON | st.dictionaries(st.sampled_from(WORDS), st.fixed_dictionaries({}, optional=dict.fromkeys(WORDS, JSON)))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(item=ITEMS, info=JSON, schemas=SCHEMAS)
def test_nothing_inside_a_document_makes_reading_it_fail(item: Any, info: Any, schemas: Any):
    whole = {"openapi": "3.1.0", "info": info, "paths": {"/x": item}, "components": {"schemas": schemas}}
    assert parse_document(msgspec.json.encode(whole)).endpoint_count <= 8


@settings(max_examples=200, deadline=None)
@given(JSON | st.dictionaries(st.sampled_from(["openapi", "swagger", "paths", "info", "definitions"]), JSON))
def test_whatever_json_it_is_it_is_a_document_or_it_is_told_why_not(found: Any):
    try:
        assert read_document(found).title
    except NotADocument as problem:
        assert problem.message
