"""No query is lost, and none runs twice unless it is marked as safe. CONTRIBUTING.md has the size of the full run."""

import os
from collections import Counter

import pytest

from postgres_gateway_tests.under_faults import Record, run

pytestmark = [pytest.mark.realtime, pytest.mark.slow]

QUERIES = int(os.environ.get("MOORING_GATEWAY_QUERIES", "120"))


async def test_no_query_is_lost_and_none_runs_twice_unless_it_is_marked_as_safe(tmp_path):
    record = Record()
    try:
        await run(tmp_path, QUERIES, record)
    finally:
        print(record.describe())
    assert record.find_fault(QUERIES) == ""
    assert record.faults, "nothing was disturbed"


@pytest.mark.parametrize(
    "done, runs, wrong, fault",
    [
        ({"read": 2, "write": 1, "safe": 1}, {1: 1, 3: 2}, [], ""),
        ({"read": 2, "write": 1}, {1: 1, 3: 1}, [], "3 of 4 queries were done"),
        ({"read": 2, "write": 1, "safe": 1}, {1: 2, 3: 1}, [], "write 1 ran 2 times"),
        ({"read": 2, "write": 1, "safe": 1}, {1: 0, 3: 1}, [], "write 1 ran 0 times"),
        ({"read": 2, "write": 1, "safe": 1}, {1: 1, 3: 0}, [], "statement 3 did not run"),
        ({"read": 2, "write": 1, "safe": 1}, {1: 1, 3: 1}, ["SELECT 1: 2"], "SELECT 1: 2"),
    ],
)
def test_the_judge_finds_what_is_lost_wrong_or_ran_twice(done, runs, wrong, fault):
    assert Record(done=Counter(done), runs=runs, wrong=wrong).find_fault(4) == fault
