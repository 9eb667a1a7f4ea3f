"""Evidence is readable, harmless and keeps no secret."""

import pytest

from hawser.clock import SystemClock
from mooring.model.evidence import MASK, MOST_LINE_CHARACTERS, clean_line, clean_line_end, clean_log

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
        f"Authorization: SharedKey acct:{CANARY}",
        f"Authorization: AWS4-HMAC-SHA256 Credential=AKIA/2020, SignedHeaders=host, Signature={CANARY}",
        f"{{'Authorization': 'SharedKeyLite acct:{CANARY}', 'x': 1}}",
        f"Proxy-Authorization: Basic {CANARY}",
        f"Set-Cookie: session={CANARY}; Path=/",
        f'"body": "{{\\"password\\": \\"{CANARY}\\", \\"user\\": \\"ann\\"}}"',
        f'{{"password": "a\\"{CANARY}"}}',
        f"pwd={CANARY}",
        f"Server=db;Uid=ann;Pwd={CANARY};",
        f"https://{CANARY}@github.example/x.git",
        f"callback=https%3A%2F%2Facct.example%2Ff%3Fsv%3D1%26sig%3D{CANARY}%26se%3D2",
        f"password%3D{CANARY}",
        "key=S3cr3tCanaryValue" + CANARY,
        "key: " + "0123456789abcdef" * 2 + CANARY[:16].replace("n", "a").replace("r", "b").replace("y", "c"),
        f"storage key: {CANARY}",
        f"access key = {CANARY}",
        f"SharedAccessKey={CANARY}",
        f"SharedAccessSignature={CANARY}",
        f"AWS_SECRET_ACCESS_KEY={CANARY}",
        f"api key: {CANARY}",
        f"bearer={CANARY}",
        f"x-sig={CANARY}",
        f'password="{CANARY} and the line was cut',
        f"password='{'x' * 5000}{CANARY}'",
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
        "key=value pairs: 3",
        "key=core_nt.00.tar.gz size=28",
        "submission key: core-nt-2026-03-01-Run",
        "partition key=2026-03-01 rows=3",
        "key: 550e8400-e29b-41d4-a716-446655440000",
        "primary key: id",
        "key=Data/2026/Core_nt/part-0001",
        "PWD=/mooring/scripts",
        "OLDPWD=~/work",
        "ssh://git@github.example/x.git",
        "mailto ann@example.org, see https://example.org/a@b",
        "design: blue, config=fast",
        "the cookie jar is full",
        "authorization failed for client 3: the role is not effective yet",
        "Host key verification failed.",
        "monkey=banana keyboard: qwertz",
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


@pytest.mark.parametrize("unit", ["a-", "a.", "sig", "pass", "key=", 'x\\"', "--a", "Cookie:", "https://a", "'", "%3d"])
def test_an_endless_line_is_cleaned_in_no_time(unit: str) -> None:
    line = unit * (200_000 // len(unit))
    began = SystemClock().monotonic()
    clean_line(line)
    assert SystemClock().monotonic() - began < 5


def test_the_end_of_a_long_line_is_kept_without_a_secret_that_the_cut_tore_from_its_name():
    kept = clean_line_end("password=" + "S3cret" * 700 + " and the end")
    assert kept.startswith("…") and kept.endswith(" and the end")
    torn = clean_line_end("x" * 100 + " password=" + "hunter2-" + "y" * 80 + " " + "z" * 3_950 + " the end")
    assert "hunter2" not in torn and torn.endswith("the end")
    assert clean_line_end("password=hunter2 short") == "password=*** short"
