"""`mooring status`: ten lines that fit a terminal, and the same as data."""

import json
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from mooring.cli.output import Format
from mooring.cli.remote.status import compute_status, run_status, run_top
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import RemoteError

HERE = Endpoint("http://127.0.0.1:1", "token")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NO_QUEUE: dict[str, Any] = {"items": [], "total": 0}


def pool(name: str, *, ready: str = "True", why: str = "", **counts: int) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready, "message": why}]
    status = {"idle": 2, **counts, "conditions": conditions}
    explained = {"code": "c", "message": why, "since": None, "blockers": [], "fix": "look"}
    return {"namespace": "runners", "name": name, "spec": {"max": 4}, "status": status, "why": explained}


def check(id_: str, status: str) -> dict[str, Any]:
    return {"id": id_, "status": status, "message": f"about {id_} " * 12, "fix": f"fix {id_}", "evidence": {}}


def test_a_healthy_fleet_has_no_problem():
    found = compute_status([check("api", "ok")], [pool("linux")], NO_QUEUE, NOW)
    assert (found["health"], found["problem"], found["next"]) == ("healthy", None, "mooring workers")


@pytest.mark.parametrize(
    ("statuses", "health", "worst"),
    [
        (("ok", "warn", "fail"), "broken", "check-2"),
        (("ok", "warn", "unknown"), "degraded", "check-1"),
        (("ok", "unknown"), "healthy", None),
        (("unknown",), "unknown", None),
    ],
)
def test_the_worst_check_is_the_health_and_the_problem(statuses: tuple[str, ...], health: str, worst: str | None):
    checks = [check(f"check-{index}", status) for index, status in enumerate(statuses)]
    found = compute_status(checks, [], NO_QUEUE, NOW)
    assert found["health"] == health
    assert (found["problem"] or {"id": None})["id"] == worst
    assert (found["next"] == "mooring doctor") == (worst is not None)


def test_pools_that_are_not_ready_come_first_and_are_a_problem():
    pools = [pool("a"), pool("b", ready="False", why="2 of 2 workers crash")]
    found = compute_status([], pools, NO_QUEUE, NOW)
    assert [row["name"] for row in found["pools"]] == ["b", "a"]
    assert found["problem"]["message"] == "2 of 2 workers crash"
    assert found["next"] == "mooring explain pool/runners/b"


def test_a_broken_pool_is_worse_than_a_warning_and_than_one_that_fills():
    filling, broken = pool("a", ready="False", why="2 of 4 idle"), pool("b", ready="False", why="a long story")
    pools = [filling, {**broken, "verdict": {"state": "broken", "cause": "2 of 2 workers crash"}}]
    found = compute_status([check("api", "warn")], pools, NO_QUEUE, NOW)
    assert [row["name"] for row in found["pools"]] == ["b", "a"]
    assert (found["problem"]["id"], found["problem"]["message"]) == ("pool/runners/b", "2 of 2 workers crash")
    assert found["next"] == "mooring explain pool/runners/b"
    failed = compute_status([check("ledger", "fail")], pools, NO_QUEUE, NOW)
    assert failed["problem"]["id"] == "ledger"


def test_the_queue_has_its_length_and_the_longest_wait():
    items = [{"createdAt": "2026-03-01T11:59:30Z"}, {"createdAt": "2026-03-01T11:58:00Z"}]
    found = compute_status([], [], {"items": items, "total": 2}, NOW)
    assert found["queue"] == {"claims": 2, "oldest": "2026-03-01T11:58:00Z", "longestSeconds": 120}
    assert found["next"] == "mooring claims --only queued"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    known: dict[str, Any] = {
        "/v1/doctor": {"checks": [check("api", "ok"), check("ledger", "fail")]},
        "/v1/pools": {"items": [pool(f"linux-{number}", busy=number) for number in range(20)]},
        "/v1/claims": {"items": [{"createdAt": "2026-03-01T11:59:30Z"}], "total": 1},
    }

    def get(_: Connection, path: str, query: object = None) -> Any:
        if isinstance(known[path], Exception):
            raise known[path]
        return known[path]

    monkeypatch.setattr(Connection, "get", get)
    return known


def test_a_large_and_sick_fleet_fits_on_ten_lines_of_a_narrow_terminal(answers, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "79")
    assert run_status(HERE, Format.TABLE) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 10 and max(map(len, lines)) < 80
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
        "health", "pools", "queue", "problem", "fix", "next",
    ]  # fmt: skip
    assert "and 16 more" in "\n".join(lines) and "░" in lines[1]


def test_a_long_name_leaves_room_for_bars_and_counts(answers, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    answers["/v1/pools"]["items"] = [pool("regression-suite-" * 3 + "arm64", busy=1), pool("linux")]
    run_status(HERE, Format.TABLE)
    long, short = capsys.readouterr().out.splitlines()[1:3]
    assert long.startswith("pools    runners/regressio…") and "arm64  ██▒▒▒▒▒▒░░  2 idle, 1 busy; max 4" in long
    assert short.index("▒") == long.index("█") and max(len(long), len(short)) <= 80


def test_a_fix_is_never_cut_because_people_copy_it(answers, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "79")
    answers["/v1/doctor"]["checks"][1]["fix"] = fix = "kubectl -n tight describe resourcequota small " * 3
    run_status(HERE, Format.TABLE)
    assert f"fix      {fix}\n" in capsys.readouterr().out


def test_in_a_pipe_nothing_is_cut(answers, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    run_status(HERE, Format.TABLE)
    assert "about ledger " * 12 in capsys.readouterr().out


def test_a_problem_names_its_pool_once():
    failing = {**check("pool/runners/linux", "fail"), "message": "runners/linux cannot schedule: no node"}
    found = compute_status([failing], [], NO_QUEUE, NOW)
    assert (found["problem"]["id"], found["problem"]["message"]) == ("pool/runners/linux", "cannot schedule: no node")


def test_without_the_ledger_the_queue_is_unknown_and_the_rest_is_there(answers, capsys):
    answers["/v1/claims"] = RemoteError(503, "unavailable", "the database does not answer", {})
    assert run_status(HERE, Format.TABLE) == 1
    out = capsys.readouterr().out
    assert "queue    unknown: the ledger does not answer" in out and "problem  ledger: " in out


def test_as_data_it_has_everything(answers, capsys):
    run_status(HERE, Format.JSON)
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["health"], len(found["pools"])) == ("Status", "broken", 20)
    assert found["checks"] == {"fail": 1, "warn": 0, "ok": 1, "unknown": 0}


def test_a_caller_who_may_not_read_the_checks_still_sees_the_pools(answers, capsys):
    answers["/v1/doctor"] = RemoteError(403, "forbidden", "no", {})
    assert run_status(HERE, Format.TABLE) == 0
    text = capsys.readouterr().out
    assert "not readable" in text and "runners/linux-0" in text


def test_another_error_of_the_doctor_is_not_hidden(answers):
    answers["/v1/doctor"] = RemoteError(500, "internal", "no", {})
    with pytest.raises(RemoteError):
        run_status(HERE, Format.TABLE)


def test_top_prints_all_pools_again_until_it_is_interrupted(answers, capsys, monkeypatch):
    pauses = []

    def wait(_: threading.Event, seconds: float) -> bool:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(threading.Event, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        run_top(HERE, 3.0)
    assert pauses == [3.0, 3.0]
    assert capsys.readouterr().out.count("runners/linux-19") == 2
