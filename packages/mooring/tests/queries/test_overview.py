"""The line in the header of every page: red is for what somebody has to act on."""

from types import SimpleNamespace
from typing import Any

import pytest

from mooring.queries.overview import read_overview


def fleet(pools: list[str], broken: list[str]) -> Any:
    """A fleet whose pools have these verdicts, and whose invariants of these ids are broken."""
    status = SimpleNamespace(replicas=3, busy=1, queued=0, lost=0)
    return SimpleNamespace(
        sees_invariants=True,
        pools=lambda: [SimpleNamespace(status=status, verdict=SimpleNamespace(state=state)) for state in pools],
        invariants=lambda: [SimpleNamespace(id=rule, state="broken", paused=False) for rule in broken],
    )


@pytest.mark.parametrize(
    ("pools", "broken", "verdict", "counted"),
    [
        (["ok", "ok"], [], "ok", 0),
        (["ok", "waiting"], ["warm-floor"], "waiting", 0),
        (["ok", "broken"], ["warm-floor"], "broken", 1),
        (["ok", "waiting"], ["warm-floor", "claim-has-pod"], "broken", 1),
        (["ok", "ok"], ["claim-has-pod"], "broken", 1),
    ],
)
def test_a_pool_that_fills_is_on_its_way_and_not_broken(pools, broken, verdict, counted):
    found = read_overview(fleet(pools, broken))
    assert (found.verdict, found.invariants_broken) == (verdict, counted)
