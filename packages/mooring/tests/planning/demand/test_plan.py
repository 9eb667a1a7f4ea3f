"""The floor that follows demand: up at once, down slowly, within bounds."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from mooring.model.demand import Demand, Schedule
from mooring.planning.demand.outlook import Outlook, WaitFloor
from mooring.planning.demand.plan import FALL_SECONDS, DemandSnapshot, HeldFloor, plan_demand, plan_floor

NOW = datetime(2026, 3, 2, 8, 59, 50, tzinfo=UTC)  # a Monday
EARLIER = NOW - timedelta(hours=1)
OUTLOOK = Outlook(
    base="level",
    usual_rate=0.5,
    correction_rate=0.0,
    correction_seconds=0.0,
    start_seconds=40.0,
    window_seconds=39.5,
    expected=19.75,
    needed=32,
    highest=32,
    late_share=0.01,
    quiet=False,
    waits=(WaitFloor(0.0, 33), WaitFloor(0.5, 32), WaitFloor(60.0, 0)),
)


def snapshot(
    held: int | None = None, *, needed: int = 32, highest: int | None = None, **demand: object
) -> DemandSnapshot:
    outlook = replace(OUTLOOK, needed=needed, highest=needed if highest is None else highest)
    kept = None if held is None else HeldFloor(held, EARLIER)
    return DemandSnapshot(NOW, Demand(**demand), 100, outlook=outlook, held=kept)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("held", "needed", "highest", "floor"),
    [
        (None, 32, 32, 32),
        (10, 32, 32, 32),  # up at once
        (40, 32, 40, 40),  # more were needed lately
        (40, 32, 35, 36),  # down by a tenth
        (5, 1, 1, 4),  # at least by one
        (32, 32, 32, 32),
        (40, 200, 200, 100),  # spec.max
    ],
)
def test_the_floor_follows(held: int | None, needed: int, highest: int, floor: int) -> None:
    assert plan_floor(snapshot(held, needed=needed, highest=highest)).floor == floor


def test_after_a_lowering_the_next_one_waits() -> None:
    first = plan_floor(snapshot(40, needed=1))
    assert first == HeldFloor(36, NOW)
    at_once = replace(snapshot(needed=1), held=first)
    assert plan_floor(at_once) == first
    assert plan_floor(replace(at_once, now=NOW + timedelta(seconds=FALL_SECONDS))).floor == 33


def test_a_clock_that_is_set_back_does_not_keep_a_floor_up() -> None:
    tomorrow = HeldFloor(40, NOW + timedelta(days=1))
    assert plan_floor(replace(snapshot(needed=1), held=tomorrow)).floor == 36


@pytest.mark.parametrize(("low", "high", "floor"), [(0, None, 32), (50, None, 50), (0, 20, 20), (20, 20, 20)])
def test_the_floor_stays_within_its_bounds(low: int, high: int | None, floor: int) -> None:
    assert plan_floor(snapshot(None, min=low, max=high)).floor == floor


def test_a_schedule_holds_from_one_start_before_its_first_minute() -> None:
    schedule = Schedule("* 9-17 * * 1-5", 60, "UTC")
    planned = plan_demand(snapshot(None, schedules=(schedule,)))
    assert planned.held.floor == 60
    assert "schedule '* 9-17 * * 1-5' (UTC) asks for 60" in planned.status.because
    weekend = replace(snapshot(None, schedules=(schedule,)), now=NOW - timedelta(days=1))
    assert plan_floor(weekend).floor == 32
    elsewhere = Schedule("* 9-17 * * 1-5", 60, "America/New_York")
    assert plan_floor(snapshot(None, schedules=(elsewhere,))).floor == 32


@pytest.mark.parametrize("minutes", range(5))
def test_a_schedule_of_one_minute_holds_all_the_time_that_a_long_start_takes(minutes: int) -> None:
    slow = replace(OUTLOOK, start_seconds=250.0)
    now = datetime(2026, 3, 2, 9, 30, tzinfo=UTC) - timedelta(minutes=minutes)
    planned = replace(snapshot(None, schedules=(Schedule("30 9 * * *", 60, "UTC"),)), now=now, outlook=slow)
    assert plan_floor(planned).floor == 60


def test_a_schedule_keeps_the_hour_of_its_time_zone_when_clocks_change() -> None:
    schedule = Schedule("* 9 * * *", 60, "Europe/Berlin")
    winter, summer = datetime(2026, 3, 28, 8, 30, tzinfo=UTC), datetime(2026, 3, 29, 7, 30, tzinfo=UTC)
    for now in (winter, summer):
        assert plan_floor(replace(snapshot(None, schedules=(schedule,)), now=now)).floor == 60
    assert plan_floor(replace(snapshot(None, schedules=(schedule,)), now=summer + timedelta(hours=1))).floor == 32


def test_a_worker_with_slots_serves_several_claims() -> None:
    assert plan_floor(replace(snapshot(None), slots=4)).floor == 8


def test_without_an_outlook_the_floor_stays_and_says_that_nothing_is_known() -> None:
    unknown = replace(snapshot(7), outlook=None)
    planned = plan_demand(unknown)
    assert planned.held.floor == 7
    assert "nothing is known" in planned.status.because
    assert plan_floor(replace(unknown, held=None)).floor == 1, "min"


def test_the_status_says_why_in_one_sentence_and_predicts_the_wait() -> None:
    status = plan_demand(snapshot(None)).status
    assert status.because == (
        "32 idle: about 30 claims a minute are expected (by the last hours) and a start takes 40 s, so "
        "32 idle keep 99 % of waits within 500ms"
    )
    assert (status.arrivals_per_minute, status.start_seconds, status.predicted_wait_p99) == (30.0, 40.0, 0.5)


def test_a_floor_that_max_cuts_is_short() -> None:
    planned = plan_demand(snapshot(None, max=10))
    assert planned.short
    assert planned.status.because.endswith("; max allows 10")


@given(
    held=some.integers(0, 120),
    needed=some.integers(0, 300),
    more=some.integers(0, 50),
    low=some.integers(0, 40),
    high=some.integers(40, 100),
)
def test_the_floor_never_leaves_its_bounds_nor_falls_below_what_is_needed(
    held: int, needed: int, more: int, low: int, high: int
) -> None:
    asked = snapshot(held, needed=needed, highest=needed + more, min=low, max=high)
    planned = plan_floor(asked)
    assert low <= planned.floor <= high
    assert planned.floor >= min(high, needed)
    assert plan_floor(replace(asked, held=planned)) == planned, "planning again changes nothing"
