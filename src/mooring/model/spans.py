"""Spans of time as people read them: `45 s`, `12 min`, `3 h 5 min`."""


def describe_span(seconds: float) -> str:
    """As short as it stays useful."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
