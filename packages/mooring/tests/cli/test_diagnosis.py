"""`mooring doctor` and `mooring explain` in the terminal."""

import json

import pytest

from mooring.cli.output import Format
from mooring.cli.remote import diagnosis
from mooring.client.connection import Endpoint
from mooring.model.errors import InvalidInput

HERE = Endpoint("http://127.0.0.1:1", "token")


def check(check_id, status, fix=""):
    return {"id": check_id, "status": status, "message": f"{check_id} is {status}", "evidence": {}, "fix": fix}


@pytest.fixture
def answers(monkeypatch):
    """What the server would say, by path."""
    known: dict[str, object] = {}
    monkeypatch.setattr(diagnosis.Connection, "get", lambda _, path, query=None: known[path])
    return known


@pytest.mark.parametrize(("worst", "code"), [("ok", 0), ("warn", 0), ("unknown", 0), ("fail", 1)])
def test_only_a_failing_check_sets_the_exit_code(answers, worst, code):
    answers["/v1/doctor"] = {"checks": [check("a", worst), check("b", "ok")], "seconds": 0.1}
    assert diagnosis.run_doctor(HERE, Format.TABLE, everything=False) == code


def test_checks_that_are_ok_are_counted_and_printed_only_with_all(answers, capsys):
    answers["/v1/doctor"] = {"checks": [check("nodes", "fail", "grant list"), check("pods", "ok")], "seconds": 0.1}
    diagnosis.run_doctor(HERE, Format.TABLE, everything=False)
    brief = capsys.readouterr().out
    assert "runbook: mooring runbook nodes\n" in brief
    assert "grant list" in brief and "pods is ok" not in brief and "2 checks in 0.1 s: 1 ok, 0 warn, 1 fail" in brief
    diagnosis.run_doctor(HERE, Format.TABLE, everything=True)
    assert "pods is ok" in capsys.readouterr().out
    assert diagnosis.run_doctor(HERE, Format.JSON, everything=False) == 1
    assert len(json.loads(capsys.readouterr().out)["checks"]) == 2


EXPLAINED = {
    "namespace": "ns",
    "name": "p",
    "state": "unschedulable",
    "node": "",
    "summary": "0/1 nodes are available: 1 \x1b[31mInsufficient cpu.",
    "fix": "needs 4 CPU",
    "findings": [{"message": "0/1", "fix": ""}, {"message": "the quota q is used up", "fix": ""}],
    "preflight": {
        "groups": [{"nodes": 1, "reason": "Insufficient cpu", "examples": ["n"]}],
        "verdicts": [{"node": "n", "reasons": ["Insufficient cpu"]}],
        "unknown": ["devices"],
    },
    "events": [{"lastSeen": None, "source": "karpenter", "reason": "FailedScheduling", "message": "no instance"}],
    "failure": None,
    "unread": ["events: list failed"],
}


@pytest.mark.parametrize("named", ["pod/p", "po/p", "pod/ns/p"])
def test_a_pod_is_named_with_or_without_its_namespace(answers, capsys, named):
    answers["/v1/explain/pods/ns/p"] = EXPLAINED
    diagnosis.run_explain(HERE, named, "ns", Format.TABLE)
    told = capsys.readouterr().out
    assert "pod ns/p is unschedulable" in told and "fix: needs 4 CPU" in told and "Insufficient cpu" in told
    assert "also: the quota q is used up" in told and "not judged: devices" in told and "karpenter" in told
    assert "not read: events: list failed" in told and "\x1b" not in told


def test_wide_shows_each_node_and_json_everything(answers, capsys):
    answers["/v1/explain/pods/ns/p"] = EXPLAINED
    diagnosis.run_explain(HERE, "pod/p", "ns", Format.WIDE)
    assert "VERDICT" in capsys.readouterr().out
    diagnosis.run_explain(HERE, "pod/p", "ns", Format.JSON)
    assert json.loads(capsys.readouterr().out)["kind"] == "Explanation"


@pytest.mark.parametrize("named", ["p", "node/p", "pod/"])
def test_an_argument_that_names_no_pod_is_refused(named):
    with pytest.raises(InvalidInput):
        diagnosis.run_explain(HERE, named, "ns", Format.TABLE)
