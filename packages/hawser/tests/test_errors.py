"""What an API server answers becomes the exception that says what to do."""

import json
from typing import Any

import pytest

from hawser.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    EvictionBlocked,
    Gone,
    NotAuthorized,
    NotPermitted,
    NotServed,
    ObjectChanged,
    ObjectConflict,
    ObjectInvalid,
    ObjectNotFound,
    ServerFailed,
    TooManyRequests,
    TooNew,
    error_from_answer,
)
from packages.hawser.tests.answers import status_body

UID_CAUSE = {"reason": "FieldValueInvalid", "message": "field is immutable", "field": "metadata.uid"}
SPEC_CAUSE = {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"}
PATCH_REFUSED = "the server rejected our request due to an error in our request"


@pytest.mark.parametrize(
    ("code", "reason", "message", "details", "expected"),
    [
        (400, "BadRequest", "bad", {}, BadRequest),
        (401, "Unauthorized", "Unauthorized", {}, NotAuthorized),
        (403, "Forbidden", "forbidden", {}, NotPermitted),
        (404, "NotFound", 'pods "a" not found', {"kind": "pods"}, ObjectNotFound),
        (409, "Conflict", "modified", {}, ObjectConflict),
        (409, "AlreadyExists", "exists", {}, AlreadyExists),
        (410, "Expired", "too old", {}, Gone),
        (422, "Invalid", "invalid", {"causes": [SPEC_CAUSE]}, ObjectInvalid),
        (422, "Invalid", "invalid", {"causes": [UID_CAUSE, UID_CAUSE]}, ObjectChanged),
        (422, "Invalid", PATCH_REFUSED, {}, ObjectChanged),
        (422, "Invalid", PATCH_REFUSED, {"causes": [SPEC_CAUSE]}, ObjectInvalid),
        (429, "TooManyRequests", "slow down", {"retryAfterSeconds": 1}, TooManyRequests),
        (429, "TooManyRequests", "budget", {"causes": [{"reason": "DisruptionBudget"}]}, EvictionBlocked),
        (500, "InternalError", "oops", {}, ServerFailed),
        (503, "ServiceUnavailable", "not yet", {}, ServerFailed),
        (504, "Timeout", "late", {}, ServerFailed),
        (504, "Timeout", "too large", {"causes": [{"reason": "ResourceVersionTooLarge"}]}, TooNew),
        (418, "", "teapot", {}, ApiError),
    ],
)
def test_each_answer_has_its_exception(
    code: int, reason: str, message: str, details: dict[str, Any], expected: type[ApiError]
) -> None:
    body = json.dumps(status_body(code, reason, message, **details)).encode()
    error = error_from_answer(code, {}, body, asked="GET /x")
    assert type(error) is expected
    assert error.message == message
    assert error.detail["asked"] == "GET /x"


def test_a_404_for_a_kind_that_is_not_served_proves_no_absence() -> None:
    error = error_from_answer(404, {}, b"404 page not found\n")
    assert type(error) is NotServed
    assert error.message == "404 page not found"


def test_an_answer_from_a_proxy_is_still_understood() -> None:
    error = error_from_answer(502, {"content-type": "text/html"}, b"<h1>Bad Gateway</h1>")
    assert isinstance(error, ServerFailed)
    assert "Bad Gateway" in str(error)


def test_an_empty_answer_says_its_number() -> None:
    assert "HTTP 500" in str(error_from_answer(500, {}, b""))


def test_nulls_in_a_status_are_harmless() -> None:
    body = b'{"code":409,"reason":"Conflict","message":"m","details":{"causes":null,"retryAfterSeconds":null}}'
    error = error_from_answer(409, {}, body)
    assert type(error) is ObjectConflict
    assert error.causes == []


def test_the_header_says_when_to_come_back_and_the_status_when_it_does_not() -> None:
    body = json.dumps(status_body(429, "TooManyRequests", retryAfterSeconds=7)).encode()
    assert error_from_answer(429, {"retry-after": "10"}, body).retry_after_seconds == 10
    assert error_from_answer(429, {}, body).retry_after_seconds == 7
    assert error_from_answer(503, {}, b"").retry_after_seconds is None


def test_the_http_status_wins_over_the_body() -> None:
    body = json.dumps(status_body(200, "")).encode()
    assert isinstance(error_from_answer(410, {}, body), Gone)


def test_a_missing_permission_says_what_to_do() -> None:
    assert "grant" in error_from_answer(403, {}, b"").fix
