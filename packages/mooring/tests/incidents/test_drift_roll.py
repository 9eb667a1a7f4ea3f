"""The incident with its numbers, a larger roll with sessions of all lengths, and drains that know only budgets."""

import pytest

from drydock import DrainPolicy, Drift
from mooring.incidents.drift_roll import DriftRoll, Roll
from mooring.incidents.replay import run_half, run_real_half
from mooring.incidents.sessions import Sessions
from mooring.incidents.stage import NAMESPACE, Nobody
from packages.mooring.tests.incidents.halves import play_half
from packages.mooring.tests.scenarios.harbour import harbour

POOL = f"{NAMESPACE}/linux"


@pytest.mark.slow
def test_without_protection_every_query_dies_seconds_after_the_taint():
    figures = play_half(DriftRoll, protected=False, seed=1).figures
    assert figures.outage
    assert figures.measured["sessionsDied"] == 31
    assert figures.measured["diedAfterTaintMedianSeconds"] == pytest.approx(5, abs=1)
    assert figures.measured["nodeLivedAfterTaintMedianSeconds"] == pytest.approx(108, abs=2)
    assert figures.measured["nodesReplaced"] == 16


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_with_protection_none_dies_and_the_roll_completes(seed):
    figures = play_half(DriftRoll, protected=True, seed=seed).figures
    assert not figures.outage
    assert (figures.measured["sessionsDied"], figures.measured["sessionsFinished"]) == (0, 31)
    assert figures.measured["nodesReplaced"] == 16
    assert figures.measured["podsForced"] == 0
    assert figures.measured["nodeHeldLongestSeconds"] <= 3600


class LargeRoll(DriftRoll):
    """40 nodes, 120 workers, 60 of them busy for 5 to 600 seconds."""

    roll = Roll(nodes=40, workers=120, sessions=tuple(5 + 595 * n / 59 for n in range(60)), at_once=8)


@pytest.mark.slow
def test_a_roll_of_forty_nodes_kills_dozens_without_protection_and_nobody_with_it():
    without = run_half(LargeRoll(), protected=False, seed=1, audience=Nobody())
    assert without.measured["sessionsDied"] >= 25
    protected = run_half(LargeRoll(), protected=True, seed=1, audience=Nobody())
    assert (protected.measured["sessionsDied"], protected.measured["sessionsFinished"]) == (0, 60)
    assert protected.measured["nodesReplaced"] == 40
    assert protected.measured["nodeHeldLongestSeconds"] <= 3600 and not protected.outage


@pytest.mark.slow
async def test_draining_every_node_in_turn_evicts_no_working_pod_before_it_finishes_or_reaches_the_ceiling():
    """As `kubectl drain` does it: the annotation means nothing to it, the budget does."""

    async with harbour(nodes=10) as world:
        control = world.start()
        await world.pool(warm=20, max=60, reuse="Always", protection={"ceilingSeconds": 400, "graceSeconds": 10})
        await world.until_idle(20)
        sessions = Sessions(world, control, POOL)
        for seconds in (5, 30, 90, 150, 300, 390, 5000):
            await sessions.begin(seconds)
        began = world.seconds
        drift = Drift(world.client, world.sandbox.fleet, world.clock, world.entropy)
        plain = DrainPolicy(deadline_seconds=None, waits_for_protected=False)
        nodes = sorted(world.sandbox.fleet.node_names)
        refuge = next(node for node in nodes if node not in {session.node for session in sessions.all})
        reports = [await drift.drain(node, plain) for node in nodes if node != refuge]
        assert sum(report.refusals for report in reports), "the budget was asked"
        assert not any(report.forced for report in reports)
        assert sessions.finished + len(sessions.died) == 7
        assert all(session.died_at - began >= 400 for session in sessions.died)
        assert max(report.seconds for report in reports) <= 400 + 10 + 12


class SmallRoll(DriftRoll):
    """What fits into real time."""

    roll = Roll(nodes=6, workers=18, sessions=tuple(60 + 300 * n / 8 for n in range(9)), at_once=6)


@pytest.mark.slow
@pytest.mark.kubernetes
def test_on_a_real_control_plane_the_same_roll_kills_without_protection_and_nobody_with_it():
    without = run_real_half(SmallRoll(), protected=False, audience=Nobody())
    assert without.outage and without.measured["sessionsDied"] >= 5
    protected = run_real_half(SmallRoll(), protected=True, audience=Nobody())
    assert (protected.measured["sessionsDied"], protected.measured["sessionsFinished"]) == (0, 9)
    assert protected.measured["nodesReplaced"] == 6 and not protected.outage
