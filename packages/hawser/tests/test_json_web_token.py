"""What a token says of itself, read before it costs a review."""

import base64
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawser.json_web_token import MOST_TOKEN_BYTES, expiry_of, find_fault

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = NOW.timestamp() + 60


def token(claims: object) -> str:
    parts = (json.dumps({"alg": "RS256"}), json.dumps(claims), "signature")
    return ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)


@pytest.mark.parametrize("audience", ["mooring", ["mooring"], ["other", "mooring"]])
def test_a_token_that_may_be_valid_has_no_fault(audience: object) -> None:
    assert find_fault(token({"aud": audience, "exp": LATER}), "mooring", NOW) == ""


@pytest.mark.parametrize(
    ("given_token", "fault"),
    [
        ("", "not a JSON web token"),
        ("wrong", "not a JSON web token"),
        ("a.b.c", "not a JSON web token"),
        ("..", "not a JSON web token"),
        ("é.é.é", "not a JSON web token"),
        (token([]), "not a JSON web token"),
        (token({"aud": 5, "exp": LATER}), "not a JSON web token"),
        (token({"exp": LATER}), "audience is not mooring"),
        (token({"aud": ["mooring-dispatch"], "exp": LATER}), "audience is not mooring"),
        (token({"aud": "mooring"}), "expired"),
        (token({"aud": "mooring", "exp": NOW.timestamp()}), "expired"),
        ("x" * MOST_TOKEN_BYTES + ".y.z", "more than"),
    ],
)
def test_a_token_that_cannot_be_valid_is_recognised(given_token: str, fault: str) -> None:
    assert fault in find_fault(given_token, "mooring", NOW)


@given(st.text(alphabet="abcXYZ019-_.=+/ é", max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert find_fault(text, "mooring", NOW)
    assert expiry_of(text) == 0.0
