"""The incident with its numbers: leftovers block for ever, or are removed while a live neighbour works on."""

import pytest

from mooring.incidents.half_finished_submit import HalfFinishedSubmit
from packages.mooring.tests.incidents.halves import play_half
from packages.testing.lanes import fast_first


@pytest.mark.slow
def test_without_protection_no_submit_gets_past_the_leftovers():
    figures = play_half(HalfFinishedSubmit, protected=False, seed=1).figures
    assert figures.outage
    assert figures.measured["submitsSucceeded"] == 0 and figures.measured["leftoversStillThere"] == 16
    assert figures.measured["adoptedJobsStillThere"] == 2 and not figures.measured["adoptingSubmitSucceeded"]
    assert figures.measured["oldWayBrokeAfterSeconds"] == 60
    assert "paused" in str(figures.measured["reason"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", fast_first([1, 2], 1))
def test_with_protection_all_eight_succeed_and_the_neighbour_works_on(seed: int):
    figures = play_half(HalfFinishedSubmit, protected=True, seed=seed).figures
    assert not figures.outage
    assert figures.measured["submitsSucceeded"] == 8 and figures.measured["leftoversStillThere"] == 0
    assert figures.measured["adoptedJobsStillThere"] == 0 and figures.measured["adoptingSubmitSucceeded"]
    assert figures.measured["quoteRefusedAfterSeconds"] == 0 and figures.measured["jobsMadeForTheQuote"] == 0
    assert figures.measured["missingAccountRefusedAfterSeconds"] < 5
    assert figures.measured["jobsMadeForTheMissingAccount"] == 0
    assert figures.measured["neighbourJobsKilled"] == 0
    assert figures.measured["lastSucceededAfterSeconds"] < 120
