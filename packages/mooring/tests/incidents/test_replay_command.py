"""`mooring replay` as a user types it."""

import json

import pytest
from typer.testing import CliRunner

from mooring.cli.launch import replay
from mooring.cli.main import app
from mooring.incidents import catalogue
from packages.mooring.tests.incidents.plays import Small


@pytest.fixture
def type_in(monkeypatch):
    """Run the command with these incidents in the catalogue."""

    def run(*arguments, incidents=(Small(),)):
        monkeypatch.setattr(catalogue, "INCIDENTS", incidents)
        monkeypatch.setattr(replay, "INCIDENTS", incidents)
        return CliRunner().invoke(app, ["replay", *arguments])

    return run


def test_without_a_name_the_replays_are_listed(type_in):
    done = type_in()
    assert done.exit_code == 0
    assert "small" in done.stdout and "stamped-has-claim" in done.stdout
    assert json.loads(type_in("-o", "json").stdout)[0]["name"] == "small"


def test_json_is_a_list_with_both_halves(type_in):
    done = type_in("all", "-o", "json")
    assert done.exit_code == 0
    (found,) = json.loads(done.stdout)
    assert found["incident"] == "small"
    assert found["without"]["outage"] is True and found["without"]["pausedRules"] is True
    assert found["with"]["outage"] is False and found["with"]["pausedRules"] is False
    assert done.stderr == ""


def test_the_closing_table_shows_both_halves_and_the_story_goes_to_stderr(type_in):
    done = type_in("small")
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["outage", "yes", "no"] in lines
    assert ["paused", "rules", "yes", "no"] in lines
    assert "[small without +00:01:05] it ends" in done.stderr
    assert "[small with +00:01:05] it ends" in done.stderr


@pytest.mark.parametrize("incident", [Small(protected=True), Small(without=False)])
def test_the_exit_code_is_1_when_protection_fails_and_when_nothing_is_proven(type_in, incident):
    done = type_in("small", incidents=(incident,))
    assert done.exit_code == 1
    assert "replay_failed: small" in done.stderr


def test_the_half_without_protection_alone_succeeds_when_its_outage_happens(type_in):
    done = type_in("small", "--without-protection", "-o", "json", incidents=(Small(protected=True),))
    assert done.exit_code == 0
    assert json.loads(done.stdout)[0]["with"] is None
    assert type_in("small", "--without-protection", incidents=(Small(without=False),)).exit_code == 1


def test_one_failing_replay_of_many_fails_them_all_but_all_are_shown(type_in):
    done = type_in("all", "-o", "json", incidents=(Small(protected=True), Small()))
    assert done.exit_code == 1
    assert len(json.loads(done.stdout)) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("smal",), 3, "did you mean 'small'"),
        (("small", "--cluster", "kubernetes"), 2, "small is sandbox only"),
        (("all", "--cluster", "kubernetes"), 2, "sandbox only"),
        (("small", "--cluster", "moon"), 2, "sandbox or kubernetes"),
        (("small", "-o", "yaml"), 2, "table or json"),
        (("small", "--seed", "-1"), 2, "--seed"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_own_exit_code(type_in, arguments, code, told):
    done = type_in(*arguments)
    assert done.exit_code == code
    assert told in done.stderr
