"""Completion in bash, as its script calls it: names come from the server, and no server means no names."""

import pytest

from packages.mooring.tests.acceptance.world import Up, run_command


def completed(up: Up, line: str, **environment: str) -> list[str]:
    words = line.split(" ")
    asked = {"_MOORING_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = run_command(**{"MOORING_STATE": str(up.state), **asked, **environment})
    assert done.err == ""
    return done.out.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mooring workers --pool run", "runners/linux"),
        ("mooring claim que", "queries/duck"),
        ("mooring drain-check work-", "work-01"),
        ("mooring retire queries/", "queries/duck-0"),
        ("mooring explain po", "pool/"),
        ("mooring explain pool/run", "pool/runners/linux"),
        ("mooring doct", "doctor"),
    ],
)
def test_names_are_completed(up: Up, line: str, expected: str):
    assert expected in completed(up, line)


def test_ids_of_open_claims_are_completed(up: Up):
    with up.http() as http:
        made = http.post("/v1/pools/queries/duck/claims", json={"owner": "acme", "ttlSeconds": 60}).json()
    try:
        assert completed(up, f"mooring release {made['id'][:4]}") == [made["id"]]
    finally:
        up.command("release", made["id"])


def test_without_a_server_nothing_is_completed(up: Up):
    assert completed(up, "mooring claim run", MOORING_URL="http://127.0.0.1:1") == []
