"""Timelines as drawings: spans on one axis, marks at their moments, hostile text as text."""

from datetime import timedelta

from mooring.dashboard.timelines import Lane, Mark, Span, draw_timeline
from packages.mooring.tests.pages.readings import NOON

MINUTE = timedelta(minutes=1)


def test_lanes_share_one_axis_from_the_first_beginning_to_now():
    lanes = [
        Lane("Claim", (Span("queued", NOON, NOON + MINUTE, "waits"), Span("running", NOON + MINUTE, None, "runs"))),
        Lane("Acts", marks=(Mark("act", NOON + 2 * MINUTE, "released"),)),
    ]
    drawn = draw_timeline(lanes, NOON + 4 * MINUTE)
    assert drawn is not None and drawn.moments[0] == NOON and drawn.moments[-1] == NOON + 4 * MINUTE
    first, second = (lane.drawing for lane in drawn.lanes)
    assert 'class="span t-queued" x="0.0" y="3" width="250.0"' in first
    assert 'class="span t-running open" x="250.0" y="3" width="750.0"' in first
    assert 'd="M500.0 10h0"' in second


def test_what_has_just_begun_is_still_visible():
    drawn = draw_timeline([Lane("Worker", (Span("idle", NOON, NOON, "a moment"),))], NOON)
    assert drawn is not None and 'width="2.0"' in drawn.lanes[0].drawing


def test_empty_lanes_are_left_out_and_nothing_at_all_is_no_timeline():
    assert draw_timeline([Lane("Claim")], NOON) is None
    drawn = draw_timeline([Lane("Claim", (Span("idle", NOON, None, "x"),)), Lane("Acts")], NOON + MINUTE)
    assert drawn is not None and [lane.title for lane in drawn.lanes] == ["Claim"]


def test_what_a_reason_says_is_shown_as_text():
    drawn = draw_timeline([Lane("Acts", marks=(Mark("bad", NOON, "<script>"),))], NOON)
    assert drawn is not None and "<script" not in drawn.lanes[0].drawing and "&lt;script&gt;" in drawn.lanes[0].drawing
