"""The incident with its numbers: without the rules the fleet stays wedged, with them it heals and nobody is hurt."""

import pytest

from hawser.resources import PODS
from mooring.incidents.leaked_stamps import RUNS_ON, LeakedStamps
from mooring.incidents.replay import run_half, run_real_half
from mooring.incidents.stage import NAMESPACE, Nobody
from mooring.model import names
from packages.mooring.tests.incidents.halves import play_half
from packages.mooring.tests.requirements import require_kubernetes


@pytest.mark.slow
def test_without_protection_the_fleet_is_still_wedged_after_two_hours():
    half = play_half(LeakedStamps, protected=False, seed=1)
    figures = half.figures
    assert figures.outage
    assert figures.measured["leaked"] == figures.measured["stillStampedAtTheEnd"] == 28
    assert figures.measured["healedAfterSeconds"] is None
    assert figures.measured["queuedLongestSeconds"] >= 7200
    assert figures.measured["jobsStillQueued"] == 6
    assert figures.measured["idleWorkers"] == 0
    assert figures.measured["runningWorkKilled"] == 0
    assert "28 stamps stay, their rows are 14 claimed, 14 released, 6 agents hang" in half.told
    assert "28 workers are still stamped: big-1 at 98.7%, big-2 at 98.7%" in half.told


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_with_protection_the_leak_heals_in_minutes_and_the_running_job_is_untouched(seed):
    figures = play_half(LeakedStamps, protected=True, seed=seed).figures
    assert not figures.outage
    assert (figures.measured["leaked"], figures.measured["workersUnstamped"]) == (28, 22)
    assert figures.measured["stillStampedAtTheEnd"] == 0
    assert 600 <= figures.measured["healedAfterSeconds"] <= 720
    assert figures.measured["queuedLongestSeconds"] <= 480
    assert figures.measured["jobsStillQueued"] == 0
    assert figures.measured["runningWorkKilled"] == 0
    assert figures.measured["workersDeleted"] == 6


@pytest.mark.kubernetes
def test_on_a_real_control_plane_the_leak_heals_within_the_hurried_grace_and_not_before():
    require_kubernetes()
    figures = run_real_half(LeakedStamps(), protected=True, audience=Nobody())
    assert not figures.outage
    assert (figures.measured["workersUnstamped"], figures.measured["workersDeleted"]) == (22, 6)
    assert figures.measured["runningWorkKilled"] == 0
    assert 60 <= figures.measured["healedAfterSeconds"] <= 60 + 120 / LeakedStamps.hurry


class OnlyHalf(LeakedStamps):
    """One of its two rules stays on: the stamps whose rows are still `claimed` are left."""

    protections = ("claim-progresses",)


@pytest.mark.slow
def test_each_of_the_two_rules_is_needed():
    figures = run_half(OnlyHalf(), protected=False, seed=1, audience=Nobody())
    assert figures.outage
    assert (figures.measured["workersUnstamped"], figures.measured["workersDeleted"]) == (8, 6)
    assert figures.measured["stillStampedAtTheEnd"] == 14


class KilledInTheMiddle(LeakedStamps):
    """Somebody kills the job that should run all the time."""

    async def play(self, stage, protected):
        async def kill() -> None:
            await stage.clock.sleep(1000)
            for pod in await stage.pods():
                if pod.metadata.labels.get(names.OWNER) == RUNS_ON:
                    await stage.client.delete(PODS, pod.metadata.name, NAMESPACE, grace_seconds=0)

        stage.enter(kill())
        return await super().play(stage, protected)


@pytest.mark.slow
def test_a_running_job_that_dies_is_an_outage_though_everything_else_heals():
    figures = run_half(KilledInTheMiddle(), protected=True, seed=1, audience=Nobody())
    assert figures.outage
    assert figures.measured["runningWorkKilled"] == 1
    assert figures.measured["workersUnstamped"] == 22
