"""How soon a change deserves a look at its pool."""

from dataclasses import replace

import msgspec
import pytest

from mooring.model.changes import is_claim_only, is_status_only
from mooring.model.pool import PoolStatus
from mooring.model.worker import MARKED
from packages.mooring.tests.planning.fleets import NOW, pool, stamped, worker


def test_a_claim_that_comes_or_goes_leaves_the_worker_as_it_was():
    claimed = replace(stamped(1), marks=MARKED, resource_version="101")
    assert is_claim_only(worker(1), claimed)
    assert is_claim_only(claimed, worker(1, resource_version="102"))


@pytest.mark.parametrize(
    "change", [{"ready": False}, {"terminating_since": NOW}, {"phase": "Failed"}, {"node": "node-2"}, {"restarts": 1}]
)
def test_a_worker_that_changed_itself_did_more_than_change_hands(change: dict[str, object]):
    assert not is_claim_only(worker(1), stamped(1, **change))


def test_a_worker_that_came_or_went_did_more_than_change_hands():
    assert not is_claim_only(None, worker(1))
    assert not is_claim_only(worker(1), None)


def test_a_new_status_is_only_told_and_a_new_spec_is_not():
    before = pool()
    told = msgspec.structs.replace(before, status=PoolStatus(idle=3))
    assert is_status_only(before, told)
    assert not is_status_only(before, msgspec.structs.replace(told, generation=2, spec=pool(warm=4).spec))
    assert not is_status_only(before, msgspec.structs.replace(told, terminating=True))
    assert not is_status_only(None, told)
    assert not is_status_only(before, None)
