"""When a claim in the queue of a full pool may get a worker, on the page of the pool."""

from datetime import UTC, datetime, timedelta

from mooring.model.pool_history import Sample
from mooring.queries.pool_detail import compute_end_rate

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def sample(age_seconds: int, ended: int, queued: int) -> Sample:
    return Sample("runners", "linux", NOW - timedelta(seconds=age_seconds), ended=ended, queued=queued)


def test_a_pool_that_is_full_for_a_moment_only_ends_claims_as_fast_as_it_did_in_that_moment() -> None:
    quiet = [sample(age, ended=0, queued=0) for age in range(600, 20, -10)]
    assert compute_end_rate([*quiet, sample(20, 20, 9), sample(10, 22, 12)], NOW) == 2.1


def test_before_any_claim_waited_nothing_is_known() -> None:
    assert compute_end_rate([sample(20, 3, 0), sample(2000, 3, 9)], NOW) == 0.0
