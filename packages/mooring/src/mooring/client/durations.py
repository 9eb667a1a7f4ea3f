"""Durations as people write them: `90s`, `5m`, `1h30m`, or plain seconds."""

import re
from datetime import timedelta

from mooring.model.errors import InvalidInput

Duration = str | float | timedelta

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def parse_seconds(field: str, value: Duration) -> float:
    """The duration in seconds; raises `InvalidInput` with the name of the field."""
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        seconds = _parse_text(field, value.strip())
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        raise InvalidInput(field, value, "seconds, a timedelta, or a duration such as 90s, 5m or 1h30m")
    if not 0 <= seconds < float("inf"):
        raise InvalidInput(field, value, "a duration of at least 0 seconds")
    return seconds


def _parse_text(field: str, text: str) -> float:
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        raise InvalidInput(field, text, "a duration such as 90s, 5m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
