"""One object in every format: YAML and JSON are complete, and its name identifies it."""

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from mooring.cli.output import Format
from mooring.cli.remote import diagnosis, services
from mooring.cli.remote.drain_check import run_drain_check
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import Unreachable
from mooring.model.errors import InvalidInput, NotFound

HERE = Endpoint("http://127.0.0.1:1", "token")
CHECKUP = {"checks": [{"id": "api", "status": "ok", "message": "m", "evidence": {}, "fix": ""}], "seconds": 0.1}
DRAINED = {
    "node": "work-01",
    "verdict": "loses",
    "message": "1 session would be lost",
    "draining": "",
    "heldUntil": None,
    "claims": [],
    "idle": [],
    "queues": [],
    "suddenly": {"lost": 1, "rebound": 0},
    "fix": "wait",
}
POD = {"namespace": "ns", "name": "p", "state": "running", "summary": "it runs"}


def service(name: str, namespace: str = "shop") -> dict[str, Any]:
    status = {"phase": "Serving", "api": None, "url": "", "reason": "", "fix": "", "rollout": {"ready": 1}}
    spec = {"image": "i", "replicas": 1}
    return {"namespace": namespace, "name": name, "spec": spec, "status": status, "why": {"since": None}}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the server would say, by path."""
    services_there = [service("web"), service("api"), service("api", "other")]
    known: dict[str, Any] = {
        "/v1/doctor": CHECKUP,
        "/v1/drain-check/work-01": DRAINED,
        "/v1/explain/pods/ns/p": POD,
        "/v1/services": {"items": services_there, "total": 3},
    }
    monkeypatch.setattr(Connection, "get", lambda _, path, query=None: known[path])
    return known


SHOWN: dict[str, Callable[[Format], object]] = {
    "DoctorReport": lambda form: diagnosis.run_doctor(HERE, form, everything=False),
    "DrainCheck": lambda form: run_drain_check("work-01", HERE, form),
    "Explanation": lambda form: diagnosis.run_explain(HERE, "pod/p", "ns", form),
    "Service": lambda form: services.run_services(HERE, "web", "", form, watch=False),
}
CONTENT = {"DoctorReport": CHECKUP, "DrainCheck": DRAINED, "Explanation": POD, "Service": service("web")}
NAMES = {"DrainCheck": "node/work-01", "Explanation": "pod/ns/p", "Service": "service/shop/web"}


def printed(kind: str, form: Format, capsys: pytest.CaptureFixture[str]) -> str:
    with contextlib.suppress(SystemExit):
        SHOWN[kind](form)
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", SHOWN)
def test_json_and_yaml_are_the_same_object(answers, capsys, kind):
    expected = {"apiVersion": "mooring.dev/v1", "kind": kind, **CONTENT[kind]}
    assert json.loads(printed(kind, Format.JSON, capsys)) == expected
    assert yaml.safe_load(printed(kind, Format.YAML, capsys)) == expected


@pytest.mark.parametrize("kind", ["DrainCheck", "Explanation", "Service"])
def test_ndjson_of_one_thing_is_one_line(answers, capsys, kind):
    (line,) = printed(kind, Format.NDJSON, capsys).splitlines()
    assert json.loads(line) == {"apiVersion": "mooring.dev/v1", "kind": kind, **CONTENT[kind]}


def test_ndjson_of_a_checkup_is_a_line_for_each_check(answers, capsys):
    (line,) = printed("DoctorReport", Format.NDJSON, capsys).splitlines()
    assert json.loads(line)["id"] == "api"


@pytest.mark.parametrize("kind", NAMES)
def test_a_name_contains_the_namespace(answers, capsys, kind):
    assert printed(kind, Format.NAME, capsys) == f"{NAMES[kind]}\n"


@pytest.mark.parametrize("form", list(Format))
def test_work_that_would_be_lost_sets_the_exit_code_in_every_format(answers, form):
    with pytest.raises(SystemExit) as ended:
        run_drain_check("work-01", HERE, form)
    assert ended.value.code == 1


def test_a_service_name_in_two_namespaces_needs_the_namespace(answers, capsys):
    with pytest.raises(InvalidInput, match="one of shop/api, other/api"):
        services.run_services(HERE, "api", "", Format.NAME, watch=False)
    services.run_services(HERE, "api", "other", Format.NAME, watch=False)
    services.run_services(HERE, "shop/api", "", Format.NAME, watch=False)
    assert capsys.readouterr().out.split() == ["service/other/api", "service/shop/api"]


def test_an_unknown_service_is_answered_with_a_suggestion(answers):
    with pytest.raises(NotFound) as error:
        services.run_services(HERE, "wbe", "", Format.TABLE, watch=False)
    assert "did you mean 'shop/web'?" in error.value.fix


def test_a_watch_of_one_object_prints_it_and_then_its_changes(answers, capsys, monkeypatch):
    def lines(_: Connection, __: str):
        yield from ('data: {"changes": {}}', 'data: {"changes": {"service": []}}')
        answers["/v1/services"] = {"items": [service("web") | {"spec": {"image": "new", "replicas": 1}}], "total": 1}
        yield 'data: {"changes": {"service": []}}'

    monkeypatch.setattr(Connection, "lines", lines)
    with pytest.raises(Unreachable):
        services.run_services(HERE, "web", "", Format.NDJSON, watch=True)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(change["type"], change["object"]["spec"]["image"]) for change in told] == [
        ("ADDED", "i"),
        ("MODIFIED", "new"),
    ]
