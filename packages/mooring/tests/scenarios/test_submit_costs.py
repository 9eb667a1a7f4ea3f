"""What a batch costs the API server: one create, whatever the number of batches (benchmarks/submissions.py)."""

import runpy
from pathlib import Path
from typing import Any

import pytest

measure = runpy.run_path(str(Path(__file__).parents[4] / "benchmarks" / "submissions.py"))["measure"]


def _told(cost: Any) -> str:
    writes = cost.others.get("PATCH submissions/status", 0)
    return f"{cost.batches} batches: {cost.a_batch:.2f} Job requests a batch, {writes} status writes"


@pytest.mark.slow
def test_a_batch_costs_one_request_however_many_there_are():
    few, more = measure(10), measure(50)
    print(_told(few), _told(more), sep="\n")
    assert few.creates == 12 and more.creates == 52
    assert more.of_jobs - few.of_jobs == 40, "one request for every further batch, and nothing else"
    assert sum(more.others.values()) - sum(few.others.values()) <= 40 + 10


@pytest.mark.slow
def test_a_thousand_batches_run_to_the_end():
    cost = measure(1000)
    print(_told(cost))
    assert cost.creates == 1002 and cost.of_jobs <= 1004
