"""A route that is called directly answers like one that the framework calls: the same bytes, the same errors."""

import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from litestar import Litestar, Request, post
from litestar.exceptions import LitestarDeprecationWarning
from litestar.testing import TestClient

from mooring.api.bodies import JsonRequest
from mooring.api.direct_calls import DirectCalls
from mooring.api.errors import error_handlers
from mooring.api.pages import constant
from mooring.api.server import secure_headers
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict

JSON = {"content-type": "application/json"}
MOST_BYTES = 10_000
BODIES: dict[str, bytes] = {
    "whole": b'{"owner": "acme", "ttlSeconds": 60, "wait": 5, "payload": {"a": [1, null, "\xc3\xa9"]}}',
    "empty object": b"{}",
    "a number as text": b'{"ttlSeconds": "60"}',
    "another type": b'{"ttlSeconds": {}}',
    "an unknown field": b'{"ttl": 60}',
    "no object": b"[]",
    "no JSON": b"{",
    "no text": b'{"owner": "\xff"}',
    "nothing": b"",
    "too large": b'{"owner": "%s"}' % (b"x" * MOST_BYTES),
    "a refusal": b'{"owner": "refused"}',
    "a defect": b'{"owner": "defect"}',
}


class Reading(msgspec.Struct, rename="camel"):
    """What the route answers."""

    where: str
    user_agent: str
    created_at: datetime
    payload: dict[str, Any] | None
    wait: float


@post("/v1/{place:str}/things", direct=ClaimRequest, status_code=201)
async def make_thing(request: Request[Any, Any, Any], parts: str, place: str, data: ClaimRequest) -> Reading:
    if data.owner == "refused":
        raise Conflict("it changed", fix="try again")
    if data.owner == "defect":
        raise ValueError("a secret detail")
    made = datetime(2026, 3, 1, tzinfo=UTC)
    return Reading(f"{parts}/{place}", request.headers["user-agent"], made, data.payload, data.wait)


def client_of(middleware: list[Any]) -> TestClient[Litestar]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LitestarDeprecationWarning)
        app = Litestar(
            [make_thing],
            dependencies={"parts": constant("here")},
            exception_handlers=error_handlers(None),
            request_class=JsonRequest,
            request_max_body_size=MOST_BYTES,
            middleware=middleware,
            before_send=[secure_headers],
            logging_config=None,
        )
    return TestClient(app, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def direct() -> Iterator[Any]:
    with client_of([DirectCalls("here").before]) as opened:
        yield opened


@pytest.fixture(scope="module")
def framework() -> Iterator[Any]:
    with client_of([]) as opened:
        yield opened


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "text/plain"])
@pytest.mark.parametrize("case", BODIES)
def test_both_ways_answer_the_same(direct: Any, framework: Any, case: str, kind: str):
    answers = [
        client.post("/v1/a%20b/things", content=BODIES[case], headers={"content-type": kind})
        for client in (direct, framework)
    ]
    first, second = [(answer.status_code, answer.content, dict(answer.headers)) for answer in answers]
    assert first == second


@pytest.mark.parametrize("headers", [{}, JSON])
def test_a_body_in_pieces_and_a_query_go_the_framework_s_way(direct: Any, framework: Any, headers: dict[str, str]):
    for client in (direct, framework):
        pieces = iter([b'{"owner": ', b'"acme"}'])
        assert client.post("/v1/a/things?x=1", content=pieces, headers=headers).json()["where"] == "here/a"


def test_a_body_of_the_expected_type_skips_the_framework(direct: Any, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise AssertionError("the framework was asked")

    monkeypatch.setattr("litestar.routes.http.HTTPRoute._call_handler_function", refuse)
    assert direct.post("/v1/a/things", content=BODIES["whole"], headers=JSON).status_code == 201
    assert direct.post("/v1/a/things", content=BODIES["a number as text"], headers=JSON).status_code == 500
