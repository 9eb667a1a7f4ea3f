"""No query is lost, and none runs twice unless it is marked as safe. CONTRIBUTING.md has the size of the full run."""

import os

import pytest

from postgres_gateway_tests.under_faults import run

pytestmark = [pytest.mark.realtime, pytest.mark.slow]

QUERIES = int(os.environ.get("MOORING_GATEWAY_QUERIES", "120"))


async def test_no_query_is_lost_and_none_runs_twice_unless_it_is_marked_as_safe(tmp_path):
    record = await run(tmp_path, QUERIES)
    print(record.describe())
    assert not record.wrong
    assert sum(record.done.values()) == QUERIES
    assert set(record.runs_of("write")) == {1}
    assert min(record.runs_of("safe")) >= 1
