"""The incident with its numbers: "succeeded" and Pending for 14 minutes, or refused with the fix and then Serving."""

import pytest

from mooring.incidents.unschedulable_service import UnschedulableService
from packages.mooring.tests.incidents.halves import play_half
from packages.testing.lanes import fast_first


@pytest.mark.slow
def test_without_protection_it_succeeded_and_is_pending_for_14_minutes():
    figures = play_half(UnschedulableService, protected=False, seed=1).figures
    assert figures.outage
    assert figures.measured["deployTaskSaidSucceededAfterSeconds"] is not None
    assert figures.measured["podPendingSeconds"] >= 835
    assert figures.measured["endpoints"] == 0
    assert figures.measured["refusedAfterSeconds"] is None
    assert figures.measured["phase"] == "Failed"  # never called Serving, not even then
    assert figures.measured["ownPodsRunning"] == 0
    assert figures.measured["ownPodsPendingSeconds"] >= 835


@pytest.mark.slow
@pytest.mark.parametrize("seed", fast_first([1, 2], 1))
def test_with_protection_it_is_refused_before_apply_and_its_fix_makes_it_serve(seed: int):
    figures = play_half(UnschedulableService, protected=True, seed=seed).figures
    assert not figures.outage
    assert figures.measured["refusedAfterSeconds"] <= 5
    assert figures.measured["objectsAppliedWhenRefused"] == 0
    assert figures.measured["reason"].startswith("0 of 12 nodes fit")
    assert '"nodePool": "blast"' in figures.measured["fix"]
    assert figures.measured["podPendingSeconds"] == 0
    assert figures.measured["servingAfterSeconds"] <= 30
    assert figures.measured["endpoints"] == 1
    assert "{workload: blast}" in figures.measured["installRefusedBecause"]
    assert figures.measured["ownPodsRunning"] == 2
    assert figures.measured["ownPodsPendingSeconds"] <= 1
