"""How long a claim at a place of the queue is expected to wait."""

from datetime import timedelta

import msgspec
import pytest

from mooring.model.demand import DemandStatus
from mooring.model.pool import Pool, PoolStatus
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.expected_wait import compute_expected_wait
from packages.mooring.tests.planning import fleets
from packages.mooring.tests.planning.fleets import NOW


def elastic(start_seconds: float | None = None, **spec: object) -> Pool:
    pool = fleets.pool(**{"warm": 0, "demand": {"min": 0}, **spec})
    return msgspec.structs.replace(pool, status=PoolStatus(demand=DemandStatus(start_seconds=start_seconds)))


def coming(slot: int, age_seconds: float) -> ClassifiedWorker:
    worker = fleets.starting(slot, created_at=NOW - timedelta(seconds=age_seconds))
    return ClassifiedWorker(worker, WorkerState.STARTING, "starts")


def test_the_first_claim_of_a_pool_at_zero_reads_the_start_that_was_learned() -> None:
    assert compute_expected_wait(elastic(12.0), [], 1, NOW) == 12.0
    assert compute_expected_wait(elastic(12.0), [coming(0, 5.0)], 1, NOW) == 7.0


def test_before_any_start_was_seen_it_reads_the_one_that_the_floor_is_planned_with() -> None:
    assert compute_expected_wait(elastic(), [], 1, NOW) == 30.0
    assert compute_expected_wait(elastic(), [coming(0, 4.0)], 1, NOW) == 26.0


def test_without_demand_and_without_a_start_it_is_unknown() -> None:
    assert compute_expected_wait(fleets.pool(), [], 1, NOW) is None


@pytest.mark.parametrize(("position", "expected"), [(1, 2.0), (4, 2.0), (5, 7.0), (8, 7.0), (9, 12.0), (17, None)])
def test_a_worker_with_slots_serves_several_places(position: int, expected: float | None) -> None:
    workers = [coming(0, 10.0), coming(1, 5.0)]
    assert compute_expected_wait(elastic(12.0, slots=4, max=4), workers, position, NOW) == expected


def test_a_worker_of_one_owner_is_counted_for_one_claim() -> None:
    workers = [coming(0, 10.0), coming(1, 5.0)]
    pool = elastic(12.0, slots=4, max=2, sharing="PerOwner")
    assert [compute_expected_wait(pool, workers, place, NOW) for place in (1, 2, 3)] == [2.0, 7.0, None]


@pytest.mark.parametrize(("age", "expected"), [(11.0, 1.0), (15.0, 0.0), (24.0, 0.0), (25.0, None), (3600.0, None)])
def test_a_start_that_takes_far_longer_than_others_promises_nothing(age: float, expected: float | None) -> None:
    assert compute_expected_wait(elastic(12.0), [coming(0, age)], 1, NOW) == expected
