"""Changes from the terminal: printed in a dry run, confirmed on a terminal, applied at once in scripts."""

import io
import json
import sys
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import yaml

from mooring.cli.output import Format
from mooring.cli.remote.ledger import run_arm
from mooring.cli.remote.mutation import Mutation, MutationOptions, run_mutation
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

    def sinking(self, *, needs_confirmation: bool = True) -> Mutation:
        return Mutation(
            kind="Boat",
            name="boat/tug",
            before={"name": "tug", "sunk": False},
            impact=("boat/tug \x1b[31msinks", "its crew swims"),
            apply=self.sink,
            describe=lambda after: f"boat/{after['name']} is gone",
            needs_confirmation=needs_confirmation,
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


def test_a_script_is_not_asked_for_confirmation(capsys):
    boat = Boat()
    run_mutation(boat.sinking(), MutationOptions())
    shown = capsys.readouterr()
    assert boat.sunk and (shown.out, shown.err) == ("boat/tug is gone\n", "")


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " y \n"])
def test_a_person_sees_the_impact_and_may_confirm(person, capsys, answer):
    boat = Boat()
    person(answer)
    run_mutation(boat.sinking(), MutationOptions())
    shown = capsys.readouterr()
    assert boat.sunk and shown.out == "boat/tug is gone\n"
    assert shown.err == "boat/tug �[31msinks\nits crew swims\nGo on? [y/N] "


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "yesterday\n"])
def test_an_answer_other_than_yes_changes_nothing(person, capsys, answer):
    boat = Boat()
    person(answer)
    with pytest.raises(Refused, match="nothing was changed") as refused:
        run_mutation(boat.sinking(), MutationOptions())
    assert not boat.sunk and "--yes" in refused.value.fix and capsys.readouterr().out == ""


@pytest.mark.parametrize(("asks", "options"), [(True, MutationOptions(yes=True)), (False, MutationOptions())])
def test_with_yes_or_without_a_loss_for_anybody_there_is_no_question(person, capsys, asks, options):
    boat = Boat()
    person("")
    run_mutation(boat.sinking(needs_confirmation=asks), options)
    assert boat.sunk and capsys.readouterr().err == ""


@pytest.mark.parametrize("form", list(Format))
def test_a_dry_run_changes_nothing_in_any_format(person, capsys, form):
    boat = Boat()
    person("y\n")
    run_mutation(boat.sinking(), MutationOptions(dry_run=True, output=form))
    assert not boat.sunk and capsys.readouterr().err == ""


def test_a_dry_run_prints_the_impact_as_text_and_as_data(capsys):
    boat = Boat()
    run_mutation(boat.sinking(), MutationOptions(dry_run=True))
    assert capsys.readouterr().out == "boat/tug �[31msinks\nits crew swims\ndry run: nothing was changed\n"
    run_mutation(boat.sinking(), MutationOptions(dry_run=True, output=Format.YAML))
    would = yaml.safe_load(capsys.readouterr().out)
    assert (would["kind"], would["dryRun"], would["sunk"]) == ("Boat", True, False)
    assert would["impact"][1] == "its crew swims"


def test_the_outcome_is_data_when_data_is_asked_for(capsys):
    run_mutation(Boat().sinking(), MutationOptions(output=Format.JSON))
    after = {"apiVersion": "mooring.dev/v1", "kind": "Boat", "name": "tug", "sunk": True}
    assert json.loads(capsys.readouterr().out) == after
    run_mutation(Boat().sinking(), MutationOptions(output=Format.NAME))
    assert capsys.readouterr().out == "boat/tug\n"


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


SURE = MutationOptions(reason="compared with the workers")


def test_arming_needs_a_reason_and_a_confirmation(ledger, person, capsys):
    with pytest.raises(InvalidInput):
        run_arm(MutationOptions(reason=" "), HERE)
    person("n\n")
    with pytest.raises(Refused):
        run_arm(SURE, HERE)
    assert not ledger.armed and "restored since" in capsys.readouterr().err
    person("y\n")
    run_arm(SURE, HERE)
    ((path, body),) = ledger.asked
    assert (path, body["incarnation"], body["reason"]) == ("/v1/ledger/arm", "two", SURE.reason)
    assert capsys.readouterr().out.startswith("ledger/two armed: invariants act again")


def test_arming_has_a_dry_run_and_prints_data(ledger, capsys):
    run_arm(MutationOptions(dry_run=True), HERE)
    assert not ledger.armed and "dry run" in capsys.readouterr().out
    run_arm(replace(SURE, output=Format.JSON), HERE)
    assert json.loads(capsys.readouterr().out)["armed"] is True
    run_arm(SURE, HERE)
    assert len(ledger.asked) == 1 and "armed already" in capsys.readouterr().out
