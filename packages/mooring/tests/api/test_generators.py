"""The OpenAPI document, as generators of clients need it."""

import json
import warnings
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import msgspec
import pytest
from litestar.exceptions import LitestarDeprecationWarning

from mooring.api.openapi import describe_api
from mooring.api.server import ApiParts, build_api
from mooring.model.claim import ClaimState


@pytest.fixture(scope="module")
def document() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LitestarDeprecationWarning)
        api = build_api(MagicMock(spec=ApiParts))
    return msgspec.json.decode(msgspec.json.encode(describe_api(api)))


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(child)


def test_every_operation_has_a_name_of_its_own_that_is_one_in_any_language(document):
    names = [one["operationId"] for methods in document["paths"].values() for one in methods.values()]
    assert len(set(names)) == len(names)
    assert {"createClaim", "getClaim", "beatClaim", "releaseClaim", "listPools"} <= set(names)
    assert not [name for name in names if not name.isidentifier() or "_" in name or name[0].isupper()]


def test_schemas_have_plain_names_and_every_reference_leads_to_one(document):
    schemas = document["components"]["schemas"]
    assert not [name for name in schemas if not name.isidentifier() or "_" in name]
    references = {node["$ref"] for node in nodes(document) if isinstance(node.get("$ref"), str)}
    assert references and references <= {f"#/components/schemas/{name}" for name in schemas}


def test_a_nullable_value_is_a_list_of_types(document):
    claim = document["components"]["schemas"]["ClaimReading"]["properties"]
    assert claim["epoch"] == {"type": ["integer", "null"], "format": "int64"}
    assert claim["endedAt"] == {"type": ["string", "null"], "format": "date-time"}
    plain = [node for node in nodes(document) if {"type": "null"} in node.get("oneOf", ())]
    assert not [
        node
        for node in plain
        if not any("$ref" in one or "oneOf" in one for one in node["oneOf"]) and len(node["oneOf"]) == 2
    ]


def test_an_epoch_fits_into_64_bits(document):
    assert document["components"]["schemas"]["Beat"]["properties"]["epoch"]["maximum"] == 2**63 - 1
    assert not [
        node
        for node in nodes(document)
        if isinstance(node.get("maximum"), float) and "integer" in str(node.get("type"))
    ]
    assert "9.223372036854776e+18" not in json.dumps(document)


def test_the_state_of_a_claim_is_an_enum(document):
    assert set(document["components"]["schemas"]["ClaimState"]["enum"]) == {state.value for state in ClaimState}


def test_every_operation_says_how_it_fails(document):
    failures = [one["responses"]["default"] for methods in document["paths"].values() for one in methods.values()]
    assert {failure["content"]["application/json"]["schema"]["$ref"] for failure in failures} == {
        "#/components/schemas/ErrorBody"
    }
