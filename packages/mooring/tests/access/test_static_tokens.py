"""The file of static tokens: what may be in it."""

import pytest

from mooring.api.access.static_tokens import hash_token, parse_tokens
from mooring.model.errors import InvalidInput
from mooring.model.identity import Identity

HASH, OTHER = hash_token("a"), hash_token("b")


def test_a_token_acts_as_a_user_and_groups_of_its_own() -> None:
    text = f"tokens:\n- name: ci\n  user: ci-bot\n  groups: [builders]\n  sha256: [{HASH}, {OTHER}]\n"
    robot = Identity("ci-bot", ("builders",), via="static")
    assert parse_tokens(text) == {HASH: robot, OTHER: robot}


def test_an_empty_file_has_no_tokens() -> None:
    assert parse_tokens("") == parse_tokens("tokens: []") == {}


@pytest.mark.parametrize(
    "entry",
    [
        f"{{name: x, user: 'system:admin', sha256: [{HASH}]}}",
        f"{{name: x, user: operator, sha256: [{HASH}]}}",
        f"{{name: x, user: y, groups: ['system:masters'], sha256: [{HASH}]}}",
        f"{{name: x, user: y, groups: ['system:authenticated'], sha256: [{HASH}]}}",
        f"{{name: x, user: '', sha256: [{HASH}]}}",
        "{name: x, user: y, sha256: [plain-text-token]}",
        "{name: x, user: y, sha256: []}",
        f"{{name: x, user: y, sha256: [{HASH}, {OTHER}, {hash_token('c')}]}}",
        f"{{name: x, user: y, sha256: [{HASH}]}}, {{name: z, user: w, sha256: [{HASH}]}}",
        f"{{name: x, user: y, token: secret, sha256: [{HASH}]}}",
        "5",
    ],
)
def test_what_is_wrong_or_reserved_is_refused(entry: str) -> None:
    with pytest.raises(InvalidInput, match="tokens"):
        parse_tokens(f"tokens: [{entry}]")


@pytest.mark.parametrize("text", ["tokens: [", "[]", "tokens: 5", "a: &a [*a]"])
def test_what_is_no_file_of_tokens_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="tokens"):
        parse_tokens(text)
