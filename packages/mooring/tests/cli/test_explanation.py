"""`mooring explain KIND/NAME`: the same why for every kind."""

import json
import re
from typing import Any

import pytest

from mooring.cli.output import Format
from mooring.cli.remote.explanation import ExplainCommand, run_explain
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput, NotFound

HERE = Endpoint("http://127.0.0.1:1", "token")
WHY = {"code": "c", "message": "3 of 4 idle", "since": "2026-03-01T11:58:00Z", "blockers": ["quota"], "fix": "raise it"}
CRASH = {"namespace": "runners", "state": "starting", "reason": "crashes: no config"}


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = {"namespace": "runners", "name": "linux", "status": {"idle": 3, "starting": 2}, "why": WHY}
    node = {"name": "work-01", "draining": "", "system": False, "why": WHY}
    service = {"namespace": "shop", "name": "web", "status": {"phase": "Failed"}, "why": WHY}
    known: dict[str, Any] = {
        "/v1/pools": {"items": [pool]},
        "/v1/nodes": {"items": [node]},
        "/v1/services": {"items": [service]},
        "/v1/claims/abcd": {"id": "abcd-1", "state": "queued", "why": WHY},
        "/v1/workers": {"items": [{**CRASH, "name": name, "uid": name} for name in ("linux-0", "linux-1")]},
    }
    monkeypatch.setattr(Connection, "get", lambda _, path, query=None: known[path])


@pytest.mark.parametrize(
    ("target", "first"),
    [
        ("pool/linux", "pool/runners/linux: 3 idle, 2 starting"),
        ("pools/runners/linux", "pool/runners/linux: 3 idle, 2 starting"),
        ("node/work-01", "node/work-01: open"),
        ("claim/abcd", "claim/abcd-1: queued"),
        ("service/shop/web", "service/shop/web: Failed"),
    ],
)
def test_an_object_is_explained_with_state_reason_blockers_and_fix(target: str, first: str, capsys):
    run_explain(ExplainCommand(target, ""), HERE, Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == first
    assert lines[1].startswith("  3 of 4 idle (for ") and lines[2] == "  blocked by: quota"
    assert lines[-1] == "  fix: raise it"


def test_equal_reasons_of_workers_are_printed_once(capsys):
    run_explain(ExplainCommand("pool/linux", ""), HERE, Format.TABLE)
    assert "  2 workers starting: crashes: no config\n" in capsys.readouterr().out


def test_a_broken_pool_has_its_cause_once_and_where_the_log_is(monkeypatch: pytest.MonkeyPatch, capsys):
    known = Connection.get
    verdict = {"state": "broken", "label": "broken", "cause": "2 of 2 workers crash", "worker": "runners/linux-1"}

    def get(connection: Connection, path: str, query: Any = None) -> Any:
        found = known(connection, path, query)
        if path == "/v1/pools":
            return {"items": [{**found["items"][0], "verdict": verdict}]}
        if path == "/v1/workers":
            return {"items": [{**row, "reason": f"crashes pod={row['name']}_runners(1)"} for row in found["items"]]}
        return found

    monkeypatch.setattr(Connection, "get", get)
    run_explain(ExplainCommand("pool/linux", ""), HERE, Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("  broken: 2 of 2 workers crash (for ")
    assert "  2 workers starting: crashes" in lines and "  log: mooring logs runners/linux-1" in lines


def test_as_data_it_is_a_report(capsys):
    run_explain(ExplainCommand("claim/abcd", ""), HERE, Format.JSON)
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["object"], found["why"]) == ("WhyReport", "claim/abcd-1", WHY)


@pytest.mark.parametrize("target", ["linux", "pool/", "ship/linux"])
def test_another_target_is_refused_with_the_kinds(target: str):
    with pytest.raises(InvalidInput, match="pod, pool, worker, node, claim, service"):
        run_explain(ExplainCommand(target, ""), HERE, Format.TABLE)


def test_an_unknown_node_is_answered_with_a_suggestion():
    with pytest.raises(NotFound) as error:
        run_explain(ExplainCommand("node/work-001", ""), HERE, Format.TABLE)
    assert "did you mean 'work-01'?" in error.value.fix


def test_a_pod_without_namespace_is_the_worker_of_that_name(monkeypatch: pytest.MonkeyPatch, capsys):
    known, asked = Connection.get, []
    plain = {"namespace": "n", "name": "p", "state": "running", "node": "", "summary": "it runs", "fix": ""}
    lists: dict[str, Any] = {"findings": [], "preflight": None, "failure": None, "events": [], "unread": []}

    def get(connection: Connection, path: str, query: Any = None) -> Any:
        asked.append(path)
        return {**plain, **lists} if path.startswith("/v1/explain") else known(connection, path, query)

    monkeypatch.setattr(Connection, "get", get)
    for target, namespace in (("linux-1", ""), ("stranger", ""), ("linux-1", "other"), ("ours/linux-1", "")):
        run_explain(ExplainCommand(f"pod/{target}", namespace), HERE, Format.TABLE)
    explained = [path.removeprefix("/v1/explain/pods/") for path in asked if path.startswith("/v1/explain")]
    assert explained == ["runners/linux-1", "default/stranger", "other/linux-1", "ours/linux-1"]


def test_events_are_printed_with_their_age_and_wide_with_their_time(monkeypatch: pytest.MonkeyPatch, capsys):
    event = {"lastSeen": "2026-03-01T11:58:00.123456Z", "source": "kubelet", "reason": "Pulled", "message": "m"}
    plain = {"namespace": "n", "name": "p", "state": "running", "node": "", "summary": "it runs", "fix": ""}
    lists: dict[str, Any] = {"findings": [], "preflight": None, "failure": None, "events": [event], "unread": []}
    monkeypatch.setattr(Connection, "get", lambda *_: {**plain, **lists})
    for output in (Format.TABLE, Format.WIDE):
        run_explain(ExplainCommand("pod/n/p", ""), HERE, output)
    short, long = (line for line in capsys.readouterr().out.splitlines() if "Pulled" in line)
    assert re.match(r"  \d+d  kubelet  Pulled: m", short) and long.startswith("  2026-03-01T11:58:00Z  kubelet")


def test_no_log_is_offered_of_a_worker_that_has_no_node(monkeypatch: pytest.MonkeyPatch, capsys):
    known = Connection.get
    verdict = {
        "state": "broken",
        "label": "broken",
        "cause": "2 of 2 workers find no node",
        "worker": "runners/linux-1",
    }

    def get(connection: Connection, path: str, query: Any = None) -> Any:
        found = known(connection, path, query)
        if path == "/v1/pools":
            return {"items": [{**found["items"][0], "verdict": verdict}]}
        return {"items": [{**row, "node": ""} for row in found["items"]]} if path == "/v1/workers" else found

    monkeypatch.setattr(Connection, "get", get)
    run_explain(ExplainCommand("pool/linux", ""), HERE, Format.TABLE)
    out = capsys.readouterr().out
    assert "find no node" in out and "log:" not in out
