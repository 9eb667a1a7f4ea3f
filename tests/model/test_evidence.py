"""Evidence is readable, harmless and keeps no secret."""

import pytest

from mooring.model.evidence import MASK, MOST_LINE_CHARACTERS, clean_line, clean_log

CANARY = "c4n4ry0123456789abcdef"


@pytest.mark.parametrize(
    "line",
    [
        f"Authorization: Bearer {CANARY}",
        f"curl -H 'authorization: bearer {CANARY}' https://store.example/core_nt.00",
        f"GET https://acct.blob.example/c/f?sv=2024-01-01&sig={CANARY}%3D&se=2026",
        f"GET https://b.example/f?X-Amz-Signature={CANARY}&X-Amz-Date=1",
        f"password={CANARY}",
        f"DB_PASSWORD: '{CANARY}'",
        f'{{"client_secret": "{CANARY}"}}',
        f"--api-key {CANARY} --verbose",
        f"AccountKey={CANARY}==;EndpointSuffix=core",
        f"postgres://mooring:{CANARY}@db.example/ledger",
        f"using key AKIA{CANARY.upper()[:16]}",
        f"token eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{CANARY}.{CANARY}",
        f"remote: ghp_{CANARY}{CANARY}",
        f"secret = {CANARY}",
    ],
)
def test_a_secret_in_a_log_line_is_masked(line: str) -> None:
    cleaned = clean_line(line)
    assert CANARY not in cleaned
    assert CANARY.upper()[:16] not in cleaned
    assert MASK in cleaned


@pytest.mark.parametrize(
    "line",
    [
        "HTTP 403 Forbidden: role not effective yet, attempt 3 of 6",
        "fetched core_nt.07 (28.4 GiB) in 112 s",
        "the token bucket is empty",
        "0/4 nodes are available: 4 node(s) had untolerated taint(s)",
    ],
)
def test_an_ordinary_line_stays_as_it_is(line: str) -> None:
    assert clean_line(line) == line


def test_a_private_key_is_masked_as_a_whole() -> None:
    body = f"{CANARY}{CANARY}"
    log = f"start\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n-----END RSA PRIVATE KEY-----\nend"
    assert clean_log(log) == ("start", MASK, "end")


def test_a_private_key_whose_beginning_was_cut_off_is_masked_too() -> None:
    assert clean_log(f"{CANARY}{CANARY}\n-----END PRIVATE KEY-----\nend") == (MASK, "end")


def test_escapes_and_control_characters_are_taken_out() -> None:
    assert clean_line("\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07alert\x00\u202e") == "red alert"


def test_an_endless_line_is_cut() -> None:
    assert len(clean_line("x" * 5000)) == MOST_LINE_CHARACTERS + 1


def test_only_the_last_lines_are_kept() -> None:
    assert clean_log("\n".join(str(n) for n in range(100)), last=3) == ("97", "98", "99")
