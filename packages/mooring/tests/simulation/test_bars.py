"""The planner beside fixed floors: the bars that it has to meet, and small runs that are quick."""

from dataclasses import replace
from math import inf

import pytest

from hawser.clock import Entropy
from mooring.model.demand import Demand
from mooring.simulation.bars import STARTS, TRACES, describe_bar, meets_bar, play_bar
from mooring.simulation.comparison import compare
from mooring.simulation.drawing import draw
from mooring.simulation.fleet import Fleet
from mooring.simulation.runs import Setting, run_fixed, run_planned
from mooring.simulation.traces import HOUR, make_poisson


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("trace", TRACES)
def test_the_planner_reaches_its_bar(trace: str, start: float) -> None:
    found = play_bar(trace, start, seed=1)
    assert meets_bar(found), f"{describe_bar(trace)}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
def test_bursts_that_come_within_five_seconds_are_mostly_served_in_time(start: float) -> None:
    found = play_bar("spikes", start, seed=1)
    assert found.planned.in_time >= 0.985


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


def test_claims_that_still_wait_when_the_trace_ends_are_late() -> None:
    setting = Setting(Demand(), start_seconds=5.0, learn_seconds=0.0, seconds=4.0)
    run = run_fixed([1.0, 2.0, 3.0], setting, 0)
    assert (run.claims, run.late, run.idle_hours) == (3, 3, 0.0)
    assert compare("short", [1.0, 2.0, 3.0], setting).best_floor == 3


def test_there_is_no_cost_beside_a_fixed_floor_that_needs_no_idle_worker() -> None:
    hour = [60.0 * minute for minute in range(60)]
    patient = Setting(Demand(wait="60s", min=3), start_seconds=20.0, learn_seconds=HOUR / 2, seconds=HOUR)
    found = compare("patient", hour, patient)
    assert (found.best_floor, found.cost) == (0, inf)
    assert not meets_bar(replace(found, name="steady"))


@pytest.mark.slow
def test_the_planner_beats_a_floor_that_is_too_small_and_costs_less_than_one_that_is_too_large() -> None:
    trace = make_poisson(lambda at: 1.0 if at % HOUR < HOUR / 2 else 0.1, 1.0, 4 * HOUR, Entropy(3))
    setting = Setting(Demand(scale_down_after="60s"), 10.0, 2 * HOUR, 4 * HOUR)
    planned = run_planned(trace, setting)
    assert planned.late < run_fixed(trace, setting, 5).late
    assert planned.idle_hours < run_fixed(trace, setting, 30).idle_hours
    assert compare("half hours", trace, setting).best_floor > 5
    assert draw([(trace, compare("half hours", trace, setting))]).count("<path") == 1
