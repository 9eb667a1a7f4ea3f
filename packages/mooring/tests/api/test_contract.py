"""The running API against its own document: whatever a generator thinks of, it answers as it says it would."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
)

from mooring.model.claim import EndCause
from packages.mooring.tests.acceptance.world import Up

EXAMPLES = 20
STREAMS = "/v1/events"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    ignored_auth,
]


@pytest.fixture(scope="session")
def document(up: Up) -> Any:
    return schemathesis.openapi.from_url(f"{up.url}/openapi.json")


def explore(operation: APIOperation, up: Up) -> str:
    """What the first answer was that broke a promise; empty when all kept them."""

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        if isinstance(case.body, dict) and "wait" in case.body:
            case.body["wait"] = 0
        answer = case.call(base_url=up.url, headers={"Authorization": f"Bearer {up.token}"}, timeout=20)
        case.validate_response(answer, checks=CHECKS)

    try:
        ask()
    except FailureGroup as broken:
        return f"{operation.method.upper()} {operation.path}: {broken}"
    return ""


def test_every_answer_is_one_that_the_document_knows(document: Any, up: Up):
    operations = [found.ok() for found in document.get_all_operations()]
    asked = [operation for operation in operations if operation.path != STREAMS]
    assert len(asked) >= 15
    broken = [told for operation in asked if (told := explore(operation, up))]
    assert not broken, "\n\n".join(broken)


def test_the_document_names_every_route_of_the_contract(document: Any):
    paths = set(document.raw_schema["paths"])
    assert paths >= {
        "/healthz",
        "/readyz",
        "/metrics",
        "/v1/pools",
        "/v1/pools/{namespace}/{name}",
        "/v1/workers",
        "/v1/nodes",
        "/v1/invariants",
        "/v1/invariants/{invariant}/pause",
        "/v1/invariants/{invariant}/resume",
        "/v1/ledger",
        "/v1/ledger/arm",
        "/v1/audit",
        "/v1/events",
        "/v1/pools/{namespace}/{name}/claims",
        "/v1/claims/{claim_id}",
        "/v1/claims/{claim_id}/heartbeat",
        "/v1/dispatch",
    }


def test_the_document_names_every_cause_that_a_claim_may_have(document: Any):
    schemas = document.raw_schema["components"]["schemas"]
    cause = next(schema for name, schema in schemas.items() if name.endswith("ClaimReading"))["properties"]["cause"]
    choices = [schemas[one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one for one in cause["oneOf"]]
    named = {value for choice in choices for value in choice.get("enum", ())}
    assert named - {None} == {cause.value for cause in EndCause}


def test_everything_but_health_wants_the_token_and_says_so(document: Any):
    raw = document.raw_schema
    assert raw["openapi"].startswith("3.1")
    assert raw["components"]["securitySchemes"]["bearer"] == {"type": "http", "scheme": "bearer"}
    calls = [(path, call) for path, methods in raw["paths"].items() for call in methods.values()]
    open_paths = {path for path, call in calls if call.get("security") == []}
    assert open_paths == {"/healthz", "/readyz", "/metrics"}
