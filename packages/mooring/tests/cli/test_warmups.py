"""`mooring warmups` and `mooring warm`: progress, evidence, and requests to warm again."""

import json
from typing import Any

import pytest

from mooring.cli.output import Format
from mooring.cli.remote import warmups
from mooring.cli.remote.columns import progress_bar
from mooring.cli.remote.mutation import MutationOptions
from mooring.client.connection import Endpoint
from mooring.model.errors import InvalidInput, NotFound, Refused

HERE = Endpoint("http://127.0.0.1:9", "token")


def row(name: str = "core", namespace: str = "search", **status: Any) -> dict[str, Any]:
    plain = {
        "phase": "Failed",
        "reason": "shard 0 cannot be fetched",
        "nodesReady": 0,
        "nodesTotal": 1,
        "shards": [],
        "failure": None,
        "release": None,
        "circuit": None,
    }
    spec = {"dataset": "core_nt", "generation": "1", "shards": 1}
    why = {
        "code": "failed",
        "message": "too many restarts",
        "since": "2026-03-01T12:00:00Z",
        "blockers": [],
        "nextCheck": "2026-03-01T12:10:00Z",
        "fix": f"mooring warm {namespace}/{name} --close-circuit",
    }
    return {"namespace": namespace, "name": name, "spec": spec, "status": {**plain, **status}, "why": why}


class Answers:
    """A connection to a Mooring that has these warmups."""

    rows: list[dict[str, Any]] = []
    asked: list[tuple[str, str, Any]] = []

    def __init__(self, _: Endpoint) -> None:
        return None

    def get(self, path: str, query: Any = None) -> Any:
        return {"items": self.rows, "total": len(self.rows)}

    def request(self, method: str, path: str, body: Any = None) -> Any:
        self.asked.append((method, path, body))
        return {"id": "r-1", "state": "pending"}


@pytest.fixture
def mooring(monkeypatch: pytest.MonkeyPatch) -> type[Answers]:
    Answers.rows, Answers.asked = [row()], []
    monkeypatch.setattr(warmups, "Connection", Answers)
    return Answers


def test_a_bar_is_as_long_as_its_share():
    assert [progress_bar(share, 4) for share in (0.0, 0.5, 1.0, 7.0)] == ["░░░░", "██░░", "████", "████"]


def test_a_job_that_was_never_created_is_printed_without_a_pod(mooring, capsys):
    failure = {"pod": "", "container": "", "reason": "its Job is refused: spec.env", "restarts": 0, "logs": []}
    mooring.rows = [row(failure=failure)]
    warmups.run_warmups(HERE, "core", "", Format.TABLE, watch=False)
    assert "\nits Job is refused: spec.env\n" in capsys.readouterr().out


def test_one_in_full_shows_shards_and_the_lines_that_explain_a_failure(mooring, capsys):
    shard = {"shard": 0, "node": "work-01", "state": "failed", "progress": 0.5, "warm": "", "why": "5 restarts"}
    failure = {"pod": "p", "container": "fetch", "reason": "BackOff", "restarts": 5, "logs": ["HTTP 403\x1b[31m"]}
    mooring.rows = [row(shards=[shard | {"job": "j", "restarts": 5, "nodeUID": "u"}], failure=failure)]
    warmups.run_warmups(HERE, "core", "", Format.TABLE, watch=False)
    shown = capsys.readouterr().out
    assert "search/core: Failed" in shown
    assert "  too many restarts, since 2026-03-01T12:00:00Z (next check 2026-03-01T12:10:00Z)\n" in shown
    assert "  fix: mooring warm search/core --close-circuit\n" in shown
    assert "work-01" in shown and "█████░░░░░" in shown
    assert "p / fetch: BackOff (5 restarts)" in shown
    assert "HTTP 403" in shown and "\x1b" not in shown


def test_one_in_full_names_adopted_jobs_and_not_the_command_that_was_just_typed(mooring, capsys):
    job = {"name": "old-1", "state": "kept", "why": "its node exists"}
    one = row(adoption={"found": 1, "selector": "app=old", "error": "", "jobs": [job]})
    mooring.rows = [{**one, "why": {**one["why"], "fix": "mooring warmups search/core"}}]
    warmups.run_warmups(HERE, "core", "", Format.TABLE, watch=False)
    shown = capsys.readouterr().out
    assert "  adopted: 1 Job(s) match app=old; old-1 kept: its node exists\n" in shown
    assert "fix:" not in shown


def test_json_of_one_is_the_whole_object(mooring, capsys):
    warmups.run_warmups(HERE, "search/core", "", Format.JSON, watch=False)
    shown = json.loads(capsys.readouterr().out)
    assert shown["kind"] == "Warmup" and shown["status"]["phase"] == "Failed"


def test_an_unknown_name_is_answered_with_a_suggestion(mooring):
    with pytest.raises(NotFound) as error:
        warmups.run_warmups(HERE, "cor", "", Format.TABLE, watch=False)
    assert "did you mean 'search/core'?" in error.value.fix


def test_an_ambiguous_name_is_refused(mooring):
    mooring.rows = [row(), row(namespace="other")]
    with pytest.raises(InvalidInput, match="core"):
        warmups.run_warmups(HERE, "core", "", Format.TABLE, watch=False)


def test_a_namespace_makes_a_name_unique(mooring, capsys):
    mooring.rows = [row(), row(namespace="other")]
    warmups.run_warmups(HERE, "core", "other", Format.NAME, watch=False)
    assert capsys.readouterr().out == "warmup/other/core\n"


def test_force_sends_one_request_and_prints_when_it_is_carried_out(mooring, capsys):
    warmups.run_warm(warmups.WarmCommand("core", True, False), MutationOptions(reason="new disks"), HERE)
    ((method, path, body),) = mooring.asked
    assert (method, path, body["reason"]) == ("POST", "/v1/warmups/search/core/rewarm", "new disks")
    assert "once, when its nodes are Ready (request r-1)" in capsys.readouterr().out


def test_the_request_is_printed_as_data(mooring, capsys):
    warmups.run_warm(warmups.WarmCommand("core", True, False), MutationOptions(output=Format.JSON), HERE)
    shown = json.loads(capsys.readouterr().out)
    assert (shown["kind"], shown["name"], shown["request"]["id"]) == ("Warmup", "core", "r-1")


def test_a_dry_run_sends_no_request(mooring, capsys):
    warmups.run_warm(warmups.WarmCommand("core", True, False), MutationOptions(dry_run=True), HERE)
    assert not mooring.asked
    assert "dry run" in capsys.readouterr().out


@pytest.mark.parametrize("both", [True, False])
def test_warm_needs_exactly_one_of_its_options(mooring, both):
    with pytest.raises(InvalidInput):
        warmups.run_warm(warmups.WarmCommand("core", both, both), MutationOptions(), HERE)


def test_a_circuit_that_is_not_open_cannot_be_closed(mooring):
    with pytest.raises(Refused):
        warmups.run_warm(warmups.WarmCommand("core", False, True), MutationOptions(), HERE)
    assert not mooring.asked
