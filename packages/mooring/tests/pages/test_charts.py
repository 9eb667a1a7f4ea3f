"""Charts as drawings: where values land, what a gap leaves out, and the table of the same numbers."""

import re
from datetime import timedelta

import pytest

from mooring.dashboard.chart_scale import HEIGHT, WIDTH, Scale, round_up, round_up_count, split_at_gaps
from mooring.dashboard.charts import (
    TABLE_ROWS,
    draw_capacity,
    draw_sparkline,
    draw_waits,
    draw_workers,
)
from mooring.model.pool_history import Percentiles, Sample
from mooring.queries.pool_history import ClaimTotals, HistoryPoint, PoolHistory
from packages.mooring.tests.pages.readings import NOON

STEP = 30


def point(steps: float, busy: float = 1, idle: float = 3, wait: Percentiles | None = None) -> HistoryPoint:
    at = NOON + timedelta(seconds=steps * STEP)
    return HistoryPoint(at, {"busy": busy, "idle": idle}, 0, 4, 8, 1 if wait else 0, 0, 0, wait, None)


def history(*points: HistoryPoint, steps: int = 10) -> PoolHistory:
    until = NOON + timedelta(seconds=steps * STEP)
    return PoolHistory("runners", "linux", NOON, until, STEP, list(points), ClaimTotals(0, 0, None, None))


def path(drawing: str, kind: str) -> str:
    found = re.search(rf'<path class="{kind}" d="([^"]*)"', drawing)
    assert found, f"there is no {kind}"
    return found[1]


@pytest.mark.parametrize(("value", "top"), [(0, 1), (1, 1), (3, 5), (8, 10), (11, 20), (0.03, 0.05), (201, 250)])
def test_axes_end_at_round_numbers(value: float, top: float):
    assert round_up(value) == pytest.approx(top)


@pytest.mark.parametrize(("value", "top"), [(0, 2), (1, 2), (3, 4), (5, 6), (8, 8), (10, 10), (11, 20), (201, 400)])
def test_axes_of_counts_have_whole_numbers_in_the_middle(value: float, top: float):
    assert round_up_count(value) == pytest.approx(top)
    assert (top / 2).is_integer()


def test_a_stack_begins_where_the_one_below_it_ends():
    chart = draw_workers(history(point(1)))
    assert chart.high == "8" and chart.middle == "4"
    scale = Scale(NOON, NOON + timedelta(seconds=10 * STEP), 8)
    busy, idle = path(chart.drawing, "area a-busy"), path(chart.drawing, "area a-idle")
    assert busy == f"M0.0 {HEIGHT}H0.0V{scale.y(1)}H{WIDTH / 10}V{HEIGHT}H0.0z"
    assert f"V{scale.y(4)}" in idle and f"V{scale.y(1)}" in idle
    assert f"V{scale.y(8)}" in path(chart.drawing, "line limit") and f"V{scale.y(4)}" in path(
        chart.drawing, "line floor"
    )


def test_nothing_is_drawn_where_nothing_was_recorded():
    chart = draw_workers(history(point(1), point(2), point(6)))
    assert path(chart.drawing, "area a-busy").count("M") == 2
    assert split_at_gaps([NOON, NOON + timedelta(seconds=31), NOON + timedelta(seconds=90)], STEP) == [
        range(2),
        range(2, 3),
    ]


def test_the_table_has_the_numbers_newest_first_and_is_bounded():
    chart = draw_workers(history(*(point(n, busy=n) for n in range(1, 101)), steps=100))
    assert len(chart.rows) <= TABLE_ROWS
    assert chart.rows[0][0] > chart.rows[-1][0] and chart.rows[0][1][0] == "100"
    assert chart.columns == ("busy", "idle", "starting", "draining", "lost", "floor", "at most")


def test_waits_have_a_point_only_where_claims_were():
    chart = draw_waits(history(point(1), point(2, wait=Percentiles(0.02, 1.5, 100.0)), point(3)))
    assert path(chart.drawing, "dots l-p99").count("M") == 1
    assert chart.high == "1.7 min" and chart.rows[1][1][1:] == ("20 ms", "1.5 s", "1.7 min")
    assert "No claim" in draw_waits(history(point(1))).empty


def test_the_middle_of_the_axis_of_waits_is_not_rounded():
    chart = draw_waits(history(point(1, wait=Percentiles(0.003, 0.004, 0.005))))
    assert (chart.high, chart.middle) == ("5 ms", "2.5 ms")


def test_a_chart_without_samples_says_so():
    assert "Nothing was recorded" in draw_workers(history()).empty


def test_a_sparkline_tells_its_numbers_to_those_who_do_not_see_it():
    samples = [Sample("a", "b", NOON + timedelta(seconds=10 * n), {"busy": n, "idle": 2}) for n in range(3)]
    drawn = draw_sparkline(samples, NOON + timedelta(seconds=60), 900)
    assert "2 busy of 4 workers now, at most 2 busy" in drawn
    assert draw_sparkline([], NOON, 900) == ""


def test_a_bar_shows_states_on_the_scale_of_the_limit_and_never_overflows():
    drawn = draw_capacity({"busy": 2, "idle": 6}, 4, 8, "2 busy & 6 idle")
    assert (
        '<rect class="a-busy" x="0.00" width="25.00"' in drawn
        and '<rect class="a-idle" x="25.00" width="75.00"' in drawn
    )
    assert "M50.00 0v12" in drawn and "2 busy &amp; 6 idle" in drawn
    over = draw_capacity({"busy": 12}, 20, 8, "more than allowed")
    assert 'width="100.00"' in over and "M99.80 0v12" in over
