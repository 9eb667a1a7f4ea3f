"""OpenAPI documents, read for people: what is there is shown, what is hostile or wrong does no harm."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.demo.tides import DOCUMENT
from mooring.model.openapi import MOST_ENDPOINTS, NotADocument, describe_type, parse_document, read_document


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
    assert describe_type(around) == "…"


def test_an_endless_document_is_cut_with_its_true_length_beside_it():
    paths = {f"/{number}": {"get": {}} for number in range(MOST_ENDPOINTS + 7)}
    document = read_document({"openapi": "3.1.0", "info": {"title": "t"}, "paths": paths})
    assert (len(document.endpoints), document.endpoint_count) == (MOST_ENDPOINTS, MOST_ENDPOINTS + 7)


WORDS = [
    *("get", "post", "parameters", "$ref", "in", "name", "schema", "type", "items", "responses", "200", "content"),
    *("tags", "requestBody", "oneOf", "properties", "required", "enum", "format", "description"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=150, deadline=None)
@given(item=JSON, info=JSON, components=JSON)
def test_nothing_inside_a_document_makes_reading_it_fail(item: Any, info: Any, components: Any):
    whole = {"openapi": "3.1.0", "info": info, "paths": {"/x": item}, "components": {"schemas": components}}
    assert parse_document(msgspec.json.encode(whole)).endpoint_count <= 8
