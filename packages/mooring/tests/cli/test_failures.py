"""Errors of commands: an exit code for scripts, a line for people."""

import pytest

from mooring.cli.failures import AUTH, FAILED, NOT_FOUND, USAGE, guarded
from mooring.client.errors import ClaimTimeout, LimitReached, RemoteError, Unreachable
from mooring.model.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    Misconfigured,
    MooringError,
    NotFound,
    Refused,
    Unauthorized,
    Unavailable,
)

RUNBOOK = "mooring runbook"


def ending_of(error: BaseException) -> int:
    def action() -> None:
        raise error

    with pytest.raises(SystemExit) as ended:
        guarded(action)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("no"), FAILED),
        (Conflict("no"), FAILED),
        (Unavailable("no"), FAILED),
        (Misconfigured("no"), FAILED),
        (Unreachable("no"), FAILED),
        (InvalidInput("--port", "x", "a number"), USAGE),
        (NotFound("no"), NOT_FOUND),
        (Unauthorized("no"), AUTH),
        (Forbidden("no"), AUTH),
        (RemoteError(400, "invalid_input", "no", {}), USAGE),
        (RemoteError(401, "unauthorized", "no", {}), AUTH),
        (RemoteError(403, "forbidden", "no", {}), AUTH),
        (RemoteError(404, "unknown_pool", "no", {}), NOT_FOUND),
        (RemoteError(429, "limit_reached", "no", {}), FAILED),
        (RemoteError(503, "unavailable", "no", {}), FAILED),
    ],
    ids=lambda value: (
        f"{type(value).__name__} {getattr(value, 'status', '')}" if isinstance(value, MooringError) else ""
    ),
)
def test_each_kind_of_failure_has_its_exit_code(error: MooringError, code: int):
    assert ending_of(error) == code


@pytest.mark.parametrize("kind", [ClaimTimeout, LimitReached])
def test_a_refused_claim_prints_its_why_since_when_and_every_blocker(kind, capsys):
    why = {"code": "queued", "message": "place 2", "since": "2026-03-01T12:00:00Z", "blockers": ["0 idle", "1 ahead"]}
    ending_of(kind(503, "wait_timed_out", "nobody in time", {"why": why, "fix": "wait longer"}))
    assert capsys.readouterr().err.splitlines() == [
        "mooring: wait_timed_out: nobody in time",
        "  place 2 (since 2026-03-01 12:00:00Z)",
        "  0 idle",
        "  1 ahead",
        f"  runbook: {RUNBOOK} wait_timed_out",
        "  fix: wait longer",
    ]


def test_an_error_without_a_why_or_a_fix_leads_to_the_runbook(capsys):
    ending_of(LimitReached(429, "limit_reached", "the owner's limit is reached", {}))
    assert capsys.readouterr().err.splitlines() == [
        "mooring: limit_reached: the owner's limit is reached",
        f"  runbook: {RUNBOOK} limit_reached",
    ]


def test_an_error_has_a_line_for_its_cause_one_for_the_runbook_and_last_its_fix(capsys: pytest.CaptureFixture[str]):
    ending_of(Misconfigured("port 80 is taken", fix="choose another one"))
    assert capsys.readouterr().err.splitlines() == [
        "mooring: misconfigured: port 80 is taken",
        f"  runbook: {RUNBOOK} misconfigured",
        "  fix: choose another one",
    ]


def test_a_wrong_argument_is_answered_with_its_fix_alone(capsys: pytest.CaptureFixture[str]):
    ending_of(InvalidInput("port", 0, "a number from 1"))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and lines[1].startswith("  fix: ")


def test_the_server_s_own_code_is_shown_not_the_client_s(capsys: pytest.CaptureFixture[str]):
    ending_of(RemoteError(404, "unknown_pool", "there is no pool x", {"fix": "pools that exist: y"}))
    assert capsys.readouterr().err.splitlines() == [
        "mooring: unknown_pool: there is no pool x",
        f"  runbook: {RUNBOOK} unknown_pool",
        "  fix: pools that exist: y",
    ]


def test_an_error_of_concurrent_tasks_is_printed_in_one_line(capsys: pytest.CaptureFixture[str]):
    nested = ExceptionGroup("cluster", [ExceptionGroup("api", [Unavailable("the API is away")]), Conflict("later")])
    assert ending_of(nested) == FAILED
    assert capsys.readouterr().err.splitlines()[0] == "mooring: unavailable: the API is away"


def test_a_defect_among_concurrent_errors_is_not_hidden():
    def action() -> None:
        raise ExceptionGroup("cluster", [Unavailable("away"), ZeroDivisionError()])

    with pytest.raises(ExceptionGroup):
        guarded(action)


def test_messages_of_the_server_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]):
    ending_of(RemoteError(404, "not_found", "no pool \x1b[2Jx\ninjected: line\r", {"fix": "try \x1b]0;title\x07"}))
    err = capsys.readouterr().err
    assert "\x1b" not in err and "\r" not in err and "\x07" not in err
    assert len(err.splitlines()) == 3


def test_ctrl_c_ends_a_command_the_way_shells_expect():
    assert ending_of(KeyboardInterrupt()) == 130
