"""Changes from the terminal: told before, asked for where a person is, made at once where none is."""

import io
import json
import sys
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import yaml

from mooring.cli import changes
from mooring.cli.arming import arm
from mooring.cli.changes import Change, Manner, acting_user, carry_out
from mooring.cli.output import Format
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput, Refused

HERE = Endpoint("http://127.0.0.1:1", "token")


@dataclass
class Boat:
    """Something to change."""

    sunk: bool = False

    def sink(self) -> dict[str, Any]:
        self.sunk = True
        return {"name": "tug", "sunk": True}

    def change(self, *, takes_away: bool = True) -> Change:
        return Change(
            kind="Boat",
            name="boat/tug",
            before={"name": "tug", "sunk": False},
            impact=("boat/tug \x1b[31msinks", "its crew swims"),
            act=self.sink,
            told=lambda after: f"boat/{after['name']} is gone",
            takes_away=takes_away,
        )


class Typed(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch):
    """Somebody at a terminal, who types this."""

    def types(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", Typed(text))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    return types


def test_a_script_is_not_asked(capsys):
    boat = Boat()
    carry_out(boat.change(), Manner())
    shown = capsys.readouterr()
    assert boat.sunk and (shown.out, shown.err) == ("boat/tug is gone\n", "")


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " y \n"])
def test_a_person_sees_what_it_means_and_may_go_on(person, capsys, answer):
    boat = Boat()
    person(answer)
    carry_out(boat.change(), Manner())
    shown = capsys.readouterr()
    assert boat.sunk and shown.out == "boat/tug is gone\n"
    assert shown.err == "boat/tug �[31msinks\nits crew swims\nGo on? [y/N] "


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "yesterday\n"])
def test_anything_but_a_yes_changes_nothing(person, capsys, answer):
    boat = Boat()
    person(answer)
    with pytest.raises(Refused, match="nothing was changed") as refused:
        carry_out(boat.change(), Manner())
    assert not boat.sunk and "--yes" in refused.value.fix and capsys.readouterr().out == ""


@pytest.mark.parametrize(("takes_away", "manner"), [(True, Manner(yes=True)), (False, Manner())])
def test_who_said_yes_before_or_takes_nothing_away_is_not_asked(person, capsys, takes_away, manner):
    boat = Boat()
    person("")
    carry_out(boat.change(takes_away=takes_away), manner)
    assert boat.sunk and capsys.readouterr().err == ""


@pytest.mark.parametrize("form", list(Format))
def test_a_dry_run_changes_nothing_in_any_format(person, capsys, form):
    boat = Boat()
    person("y\n")
    carry_out(boat.change(), Manner(dry_run=True, form=form))
    assert not boat.sunk and capsys.readouterr().err == ""


def test_a_dry_run_tells_people_and_programs_what_it_would_do(capsys):
    boat = Boat()
    carry_out(boat.change(), Manner(dry_run=True))
    assert capsys.readouterr().out == "boat/tug �[31msinks\nits crew swims\ndry run: nothing was changed\n"
    carry_out(boat.change(), Manner(dry_run=True, form=Format.YAML))
    would = yaml.safe_load(capsys.readouterr().out)
    assert (would["kind"], would["dryRun"], would["sunk"]) == ("Boat", True, False)
    assert would["impact"][1] == "its crew swims"


def test_what_became_of_it_is_data_where_data_is_asked_for(capsys):
    carry_out(Boat().change(), Manner(form=Format.JSON))
    after = {"apiVersion": "mooring.dev/v1", "kind": "Boat", "name": "tug", "sunk": True}
    assert json.loads(capsys.readouterr().out) == after
    carry_out(Boat().change(), Manner(form=Format.NAME))
    assert capsys.readouterr().out == "boat/tug\n"


@pytest.mark.parametrize("error", [KeyError("uid"), OSError("no such user")])
def test_a_user_without_a_name_is_told_by_its_number(monkeypatch, error):
    def unnamed() -> str:
        raise error

    monkeypatch.setattr(changes.getpass, "getuser", unnamed)
    assert acting_user().startswith("cli/uid-")


@dataclass
class RestoredLedger:
    """A Mooring whose ledger came from a backup."""

    armed: bool = False
    asked: list[Any] = field(default_factory=list)

    def get(self, _: str, query: Any = None) -> dict[str, Any]:
        return {"incarnation": "two", "cause": "restored", "since": "2026-03-01T00:00:00Z", "armed": self.armed}

    def request(self, _: str, path: str, body: Any) -> dict[str, Any]:
        self.asked.append((path, body))
        self.armed = True
        return self.get(path)


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> RestoredLedger:
    restored = RestoredLedger()
    monkeypatch.setattr(Connection, "get", lambda _, path, query=None: restored.get(path))
    monkeypatch.setattr(Connection, "request", lambda _, method, path, body=None: restored.request(method, path, body))
    return restored


SURE = Manner(reason="compared with the workers")


def test_arming_needs_a_reason_and_a_person_s_yes(ledger, person, capsys):
    with pytest.raises(InvalidInput):
        arm(Manner(reason=" "), HERE)
    person("n\n")
    with pytest.raises(Refused):
        arm(SURE, HERE)
    assert not ledger.armed and "restored since" in capsys.readouterr().err
    person("y\n")
    arm(SURE, HERE)
    ((path, body),) = ledger.asked
    assert (path, body["incarnation"], body["reason"]) == ("/v1/ledger/arm", "two", SURE.reason)
    assert capsys.readouterr().out.startswith("ledger/two armed: rules act again")


def test_arming_can_be_tried_first_and_told_as_data(ledger, capsys):
    arm(Manner(dry_run=True), HERE)
    assert not ledger.armed and "dry run" in capsys.readouterr().out
    arm(replace(SURE, form=Format.JSON), HERE)
    assert json.loads(capsys.readouterr().out)["armed"] is True
    arm(SURE, HERE)
    assert len(ledger.asked) == 1 and "armed already" in capsys.readouterr().out
