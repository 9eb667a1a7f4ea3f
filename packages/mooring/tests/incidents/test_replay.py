"""Both halves of a replay, and the verdict over them."""

import pytest

from mooring.incidents.catalogue import INCIDENTS, find_incidents
from mooring.incidents.incident import Figures
from mooring.incidents.replay import Outcome, run_half, run_replay
from mooring.incidents.stage import Nobody
from mooring.model.errors import NotFound
from mooring.model.invariant import INVARIANT_IDS
from packages.mooring.tests.incidents.plays import Small


def test_only_the_half_without_protection_has_its_rules_paused():
    assert run_half(Small(), protected=False, seed=1, audience=Nobody()).measured["pausedRules"] is True
    assert run_half(Small(), protected=True, seed=1, audience=Nobody()).measured["pausedRules"] is False


def test_the_same_seed_gives_the_same_figures():
    first, second = (run_half(Small(), protected=True, seed=5, audience=Nobody()) for _ in range(2))
    assert first == second


def test_a_failed_part_of_a_play_fails_the_replay():
    class Broken(Small):
        async def play(self, stage, protected):
            async def trip() -> None:
                raise RuntimeError("tripped")

            stage.enter(trip())
            return await super().play(stage, protected)

    with pytest.raises(ExceptionGroup) as failed:
        run_half(Broken(), protected=True, seed=1, audience=Nobody())
    assert failed.group_contains(RuntimeError, match="tripped")


@pytest.mark.parametrize(
    ("without", "protected", "told"),
    [
        (True, False, ""),
        (True, True, "in spite of the protection"),
        (False, False, "proves nothing"),
        (False, True, "proves nothing"),
    ],
)
def test_a_replay_fails_when_protection_fails_and_when_it_proves_nothing(without, protected, told):
    failure = Outcome("small", Figures(without), Figures(protected)).failure
    assert told in failure and bool(told) == bool(failure)


def test_only_the_half_without_protection_runs_when_asked_for():
    seats = []

    def seat(incident, protected):
        seats.append(protected)
        return Nobody()

    outcome = run_replay(Small(), only_unprotected=True, seed=1, seat=seat)
    assert seats == [False]
    assert outcome.failure == ""
    assert outcome.as_dict()["with"] is None


def test_every_replay_has_a_name_a_story_and_protections_that_exist():
    names = [incident.name for incident in INCIDENTS]
    assert len(set(names)) == len(names) and "all" not in names
    for incident in INCIDENTS:
        assert incident.title and incident.story
        assert incident.protections and set(incident.protections) <= INVARIANT_IDS


def test_a_name_that_is_nearly_right_is_told_what_was_meant():
    assert find_incidents("all") == INCIDENTS
    with pytest.raises(NotFound) as missing:
        find_incidents("leaked-stamp")
    assert "did you mean 'leaked-stamps'" in missing.value.fix
