"""Arithmetic at the ends of the calendar."""

from datetime import UTC, datetime

from hawser.views import parse_time
from mooring.model.moments import later


def test_a_time_beyond_the_calendar_is_its_end():
    last, first = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    assert later(last, 60) == later(first, 1e30) == last
    assert later(first, -60) == later(last, -1e30) == first
    assert later(datetime(2026, 1, 1, tzinfo=UTC), 60) == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def test_a_time_that_leaves_the_calendar_in_utc_is_no_time():
    assert parse_time("0001-01-01T00:00:00+23:59") is None
