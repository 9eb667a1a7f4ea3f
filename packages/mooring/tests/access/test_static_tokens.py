"""The file of static tokens: what may be in it."""

import asyncio
from pathlib import Path

import pytest

from hawser.clock import LoopClock
from mooring.api.access import static_tokens
from mooring.api.access.static_tokens import CHECK_SECONDS, StaticTokens, hash_token, parse_tokens
from mooring.model.errors import InvalidInput
from mooring.model.identity import Identity
from packages.mooring.tests.pages.readings import NOON

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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "64 levels"),
        ("tokens: " + "- " * 50_000, "64 levels|not allowed"),
        ("a: &a [x]\nb: [*a, *a]", "aliases are not read"),
        ("a: " + "1:" * 50_000 + "1", "a number of"),
        ("[" + "a," * 200_000 + "]", "at most 62500 pairs"),
    ],
    ids=["deep", "deep lists", "alias", "number of base 60", "many"],
)
def test_a_file_that_would_take_long_to_parse_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        parse_tokens(text)


async def test_a_broken_file_is_parsed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: str) -> dict[str, Identity]:
        parsed.append(text)
        return parse_tokens(text)

    monkeypatch.setattr(static_tokens, "parse_tokens", parse)
    path, good = tmp_path / "tokens", f"tokens:\n- {{name: x, user: y, sha256: [{HASH}]}}\n"
    path.write_text(good)
    tokens = StaticTokens(path, LoopClock(NOON))
    for text in (good, "tokens: [", "tokens: 5", good + "#"):
        path.write_text(text)
        for _ in range(3):
            await asyncio.sleep(CHECK_SECONDS)
            assert tokens.identity_of(HASH) is not None
        assert bool(tokens.problem) == (text in ("tokens: [", "tokens: 5"))
    assert parsed == [good, "tokens: [", "tokens: 5", good + "#"]
