"""What the ledger can store, at any depth."""

from typing import Any

import pytest

from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import InvalidInput
from mooring.model.payload import MOST_DEPTH, find_fault


def nested(depth: int, kind: type) -> Any:
    """A payload of so many levels: itself, and those inside of it."""
    value: Any = "leaf"
    for _ in range(depth - 1):
        value = [value] if kind is list else {"a": value}
    return {"a": value}


@pytest.mark.parametrize("kind", [dict, list])
def test_a_payload_may_be_deep_but_not_without_bounds(kind: type):
    assert find_fault(nested(MOST_DEPTH - 1, kind)) == ""
    for depth in (MOST_DEPTH + 1, 500, 100_000):
        assert "deep" in find_fault(nested(depth, kind))


@pytest.mark.parametrize("payload", [{"a\0": 1}, {"a": "\0"}, {"a": [[{"b": "x\0"}]]}, {"a": {"\0": []}}])
def test_a_nul_character_is_found_at_any_depth(payload: dict[str, Any]):
    assert "NUL" in find_fault(payload)


@pytest.mark.parametrize("payload", [None, {}, {"a": [1, 2.5, None, True, "text", {"b": []}]}])
def test_other_payloads_have_no_fault(payload: dict[str, Any] | None):
    assert find_fault(payload) == ""


def test_a_claim_whose_payload_is_too_deep_is_refused_by_its_field():
    with pytest.raises(InvalidInput, match="payload"):
        ClaimRequest("acme", payload=nested(500, dict)).check()
