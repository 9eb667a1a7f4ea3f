"""The two incidents of node-local caches, with their numbers."""

import pytest

from mooring.incidents.node_rotation import NodeRotation
from mooring.incidents.permission_lag import PermissionLag
from packages.mooring.tests.incidents.halves import play_half
from packages.testing.lanes import fast_first


@pytest.mark.slow
def test_without_protection_ten_of_ten_fail_on_every_cycle():
    figures = play_half(NodeRotation, protected=False, seed=1).figures
    assert figures.outage and figures.measured["phase"] == "Stale"
    assert figures.measured["failedCycles"] == 10
    assert figures.measured["failedShardsInTheLast"] == figures.measured["jobsOnGoneNodes"] == 10
    assert figures.measured["shardsFetchedAgain"] == 0
    assert figures.measured["olderJobsStillThere"] == figures.measured["olderJobs"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", fast_first([1, 2], 1))
def test_with_protection_one_cycle_leads_to_ready(seed):
    figures = play_half(NodeRotation, protected=True, seed=seed).figures
    assert not figures.outage and figures.measured["phase"] == "Ready"
    assert figures.measured["cyclesToReady"] == 1
    assert figures.measured["shardsFetchedAgain"] == 10
    assert figures.measured["jobsOnGoneNodes"] == 0
    assert figures.measured["olderJobsStillThere"] == 1, "three are pinned, each in another way; one is not"


@pytest.mark.slow
def test_an_impatient_warmup_is_declared_failed_half_a_minute_before_its_permission_works():
    figures = play_half(PermissionLag, protected=False, seed=1).figures
    assert figures.outage and figures.measured["phase"] == "Failed"
    assert 55 <= figures.measured["declaredFailedAfterSeconds"] <= 65
    assert figures.measured["linesOfEvidence"] > 1, "also then the last words are kept"


def test_a_patient_warmup_is_ready_soon_after_its_permission_works():
    figures = play_half(PermissionLag, protected=True, seed=1).figures
    assert not figures.outage
    assert figures.measured["declaredFailedAfterSeconds"] is None
    assert 90 < figures.measured["readyAfterSeconds"] < 150
    assert figures.measured["fetches"] == 10
