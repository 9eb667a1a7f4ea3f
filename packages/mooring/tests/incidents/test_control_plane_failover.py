"""The incident with its numbers: protection follows the sessions under every leader."""

import pytest

from mooring.incidents.control_plane_failover import ControlPlaneFailover
from mooring.incidents.replay import run_half, run_real_half
from mooring.incidents.stage import Nobody
from packages.mooring.tests.incidents.halves import play_half
from packages.testing.lanes import fast_first


@pytest.mark.slow
def test_without_adoption_shields_stay_where_nobody_works_and_are_missing_where_somebody_does():
    figures = play_half(ControlPlaneFailover, protected=False, seed=1).figures
    assert figures.outage
    assert (figures.measured["protectedForNobody"], figures.measured["workingUnprotected"]) == (4, 3)
    assert figures.measured["healedAfterSeconds"] is None
    assert figures.measured["idleWorkersThatCannotBeMoved"] == 4
    assert figures.measured["sessionsKilledByADrain"] == 3


@pytest.mark.parametrize("seed", fast_first([1, 2, 3], 1))
def test_with_it_the_successor_clears_the_stale_ones_and_protects_the_busy_ones(seed):
    figures = play_half(ControlPlaneFailover, protected=True, seed=seed).figures
    assert not figures.outage
    assert (figures.measured["protectedForNobody"], figures.measured["workingUnprotected"]) == (0, 0)
    assert figures.measured["healedAfterSeconds"] <= 35
    assert figures.measured["sessionsKilledByADrain"] == figures.measured["idleWorkersThatCannotBeMoved"] == 0
    assert figures.measured["sessionsAliveAfterTheFailover"] == 9
    assert figures.measured["podPatchesWhileSettled"] == 0


class OnlyAdoption(ControlPlaneFailover):
    """The successor takes over, but protects nobody."""

    protections = ("busy-is-protected",)


class OnlyProtection(ControlPlaneFailover):
    """The successor would protect, but takes over from nobody."""

    protections = ("adopted",)


@pytest.mark.slow
@pytest.mark.parametrize("incident", [OnlyAdoption(), OnlyProtection()])
def test_each_of_the_two_rules_is_needed(incident):
    assert run_half(incident, protected=False, seed=1, audience=Nobody()).outage


@pytest.mark.slow
@pytest.mark.kubernetes
def test_on_a_real_control_plane_too():
    without = run_real_half(ControlPlaneFailover(), protected=False, audience=Nobody())
    assert without.outage and without.measured["protectedForNobody"] > 0
    protected = run_real_half(ControlPlaneFailover(), protected=True, audience=Nobody())
    assert not protected.outage, protected
