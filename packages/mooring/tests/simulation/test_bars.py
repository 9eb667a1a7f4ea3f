"""The planner beside fixed floors: the bars that it has to meet, and small runs that are quick."""

import pytest

from hawser.clock import Entropy
from mooring.model.demand import Demand
from mooring.model.errors import InvalidInput
from mooring.simulation.comparison import Comparison, compare
from mooring.simulation.drawing import draw
from mooring.simulation.fleet import Fleet
from mooring.simulation.runs import Setting, run_fixed, run_planned
from mooring.simulation.traces import DAY, HOUR, SYNTHETIC, make_poisson, read_trace


def played(name: str, start: float) -> Comparison:
    trace = SYNTHETIC[name](2 * DAY, Entropy(1))
    return compare(name, trace, Setting(Demand(), start, DAY, 2 * DAY))


@pytest.mark.slow
@pytest.mark.parametrize("start", [2.0, 40.0])
@pytest.mark.parametrize(("name", "most"), [("diurnal", 0.7), ("monday", 0.7), ("steady", 1.1)])
def test_the_target_is_met_for_less_than_with_the_cheapest_fixed_floor(name: str, most: float, start: float) -> None:
    found = played(name, start)
    assert found.planned.in_time >= 0.99
    assert found.cost <= most
    if name == "steady":
        assert found.planned.turns_an_hour <= 6


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [("bursts", 2.0), ("step", 2.0), ("step", 40.0)])
def test_no_more_claims_are_late_than_with_a_fixed_floor_of_the_same_cost(name: str, start: float) -> None:
    found = played(name, start)
    assert found.planned.late <= found.equal_late


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [("bursts", 40.0), ("spikes", 2.0), ("spikes", 40.0)])
def test_bursts_that_come_within_one_start_cost_little_more_than_with_a_constant_floor(name: str, start: float) -> None:
    found = played(name, start)
    assert found.planned.in_time >= 0.99
    assert found.planned.late <= 1.2 * found.equal_late


def test_a_fixed_floor_serves_at_once_until_it_is_used_up() -> None:
    fleet = Fleet(lambda: 10.0, floor=2, most=10)
    for at in (1.0, 2.0, 3.0):
        fleet.arrive(at)
    fleet.advance(30.0)
    assert fleet.waits == [(1.0, 0.0), (2.0, 0.0), (3.0, 8.0)], "the third takes the worker that replaces the first"
    assert fleet.idle == 2
    assert fleet.idle_seconds == pytest.approx(2 * 1 + 1 * 1 + 18 + 17)


def test_a_lower_floor_retires_idle_workers_and_a_higher_one_orders_more() -> None:
    fleet = Fleet(lambda: 5.0, floor=4, most=6)
    fleet.aim(1)
    assert fleet.idle == 1
    fleet.aim(9)
    fleet.advance(10.0)
    assert fleet.idle == 6, "never above max"


@pytest.mark.slow
def test_the_planner_beats_a_floor_that_is_too_small_and_costs_less_than_one_that_is_too_large() -> None:
    trace = make_poisson(lambda at: 1.0 if at % HOUR < HOUR / 2 else 0.1, 1.0, 4 * HOUR, Entropy(3))
    setting = Setting(Demand(scale_down_after="60s"), 10.0, 2 * HOUR, 4 * HOUR)
    planned = run_planned(trace, setting)
    assert planned.late < run_fixed(trace, setting, 5).late
    assert planned.idle_hours < run_fixed(trace, setting, 30).idle_hours
    assert compare("half hours", trace, setting).best_floor > 5
    assert draw([(trace, compare("half hours", trace, setting))]).count("<path") == 1


def test_a_trace_is_read_from_seconds_or_times() -> None:
    assert read_trace("at\n3.5\n1\n") == [1.0, 3.5]
    assert read_trace("2026-01-05T00:00:01+00:00,acme\n2026-01-05T00:01:00+00:00,acme\n") == [1.0, 60.0]
    with pytest.raises(InvalidInput, match="line 2"):
        read_trace("1\nsoon\n")
    with pytest.raises(InvalidInput, match="one arrival a line"):
        read_trace("\n")
