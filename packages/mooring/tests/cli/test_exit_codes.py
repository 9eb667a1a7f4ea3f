"""Exit codes of commands, and the line with the next step."""

import subprocess
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import MOORING, Up, clean_environment, run_command


def test_pause_and_resume_print_their_effect(up: Up):
    paused = up.command("pause", "adopted", "--reason", "a deploy is rolling")
    assert (paused.code, paused.err) == (0, "")
    assert paused.out == "invariant/adopted paused: it will not act until resumed\n"
    assert any(row.startswith("adopted") and "paused" in row for row in up.command("invariants").out.splitlines())
    resumed = up.command("resume", "adopted")
    assert (resumed.code, resumed.out) == (0, "invariant/adopted resumed\n")


def test_pause_is_audited_with_its_user_and_reason(up: Up):
    up.command("pause", "adopted", "--reason", "told to")
    up.command("resume", "adopted")
    newest = up.get("/v1/audit?kind=Invariant&name=adopted&action=pause&limit=1")["items"][0]
    assert newest["reason"] == "told to"
    assert newest["actor"] == "operator"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("pause", "warm-flor"), 3, "warm-floor"),
        (("workers", "--only", "sleeping"), 2, "draining"),
        (("pools", "-o", "xml"), 2, "ndjson"),
        (("audit", "--limit", "0"), 2, "limit"),
        (("audit", "--limit", "many"), 2, "limit"),
        (("workers", "--nope"), 2, "--nope"),
        (("pausse", "adopted"), 2, "pause"),
        (("pause",), 2, "invariant"),
    ],
    ids=str,
)
def test_a_usage_error_is_answered_with_what_would_be_right(up: Up, arguments: tuple[str, ...], code: int, told: str):
    done = up.command(*arguments)
    assert done.code == code, done.err
    assert done.out == ""
    assert told in done.err
    assert "Traceback" not in done.err


def test_a_wrong_token_has_its_own_exit_code(up: Up):
    done = run_command("pools", "--url", up.url, "--token", "wrong")
    assert (done.code, done.out) == (4, "")
    assert done.complaint == [
        "mooring: unauthorized: the bearer token is not valid",
        "  fix: mooring login  # or use the token in the state folder",
    ]


@pytest.mark.parametrize("command", ["pools", "workers", "nodes", "audit", "invariants"])
def test_an_unreachable_server_is_reported_in_one_line(command: str):
    done = run_command(command, "--url", "http://127.0.0.1:1", "--token", "x")
    assert (done.code, done.out) == (1, "")
    assert done.complaint[0].startswith("mooring: unreachable: http://127.0.0.1:1 does not answer")
    assert "mooring up" in done.complaint[1]


def test_without_an_address_the_next_command_is_printed(tmp_path: Path):
    done = run_command("pools", "--state", str(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert "mooring up" in done.complaint[1]


def test_a_server_that_is_not_mooring_is_reported_in_one_line(up: Up):
    kubernetes = up.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}").out
    done = run_command("pools", "--url", kubernetes.replace("https", "http"), "--token", "x")
    assert done.code in (1, 4)
    assert len(done.complaint) <= 2 and "Traceback" not in done.err


def test_a_closed_pipe_ends_a_command_without_output(up: Up):
    command = [MOORING, "workers", "-o", "json", "--state", str(up.state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_text_of_others_cannot_control_the_terminal(up: Up):
    hostile = "red \x1b[31m and\na second line\r\x07 <script>alert(1)</script>"
    with up.http() as http:
        http.post("/v1/invariants/adopted/pause", json={"reason": hostile})
    try:
        table, rules = up.command("audit", "--limit", "1"), up.command("invariants", "-o", "wide")
    finally:
        up.command("resume", "adopted")
    assert len(table.out.splitlines()) == 2
    for text in (table.out, rules.out):
        assert not {"\x1b", "\r", "\x07"} & set(text)
    assert "<script>" in table.out
