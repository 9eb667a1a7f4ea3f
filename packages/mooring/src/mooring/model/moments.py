"""Arithmetic with times that others wrote: the end of the calendar is no error."""

from datetime import UTC, datetime, timedelta


def later(moment: datetime, seconds: float) -> datetime:
    """So many seconds later (earlier if negative), or the last (first) moment there is."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC) if seconds > 0 else datetime.min.replace(tzinfo=UTC)
