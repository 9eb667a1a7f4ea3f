"""Times as text: durations such as `45 s`, `12 min`, `3 h 5 min`, and timestamps in UTC."""

from datetime import datetime


def describe_span(seconds: float) -> str:
    """A duration in its largest useful units."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def describe_moment(at: datetime) -> str:
    """`2026-03-01 12:05:00Z`, with the date, because the text may be read much later."""
    return f"{at:%Y-%m-%d %H:%M:%SZ}"
