"""Durations as Karpenter writes them: `720h`, `1h30m`, `300s`; and short ones, such as `500ms`."""

import re

_SECONDS = {"h": 3600, "m": 60, "s": 1}
_PART = re.compile(r"(\d+)([hms])")
_MILLISECONDS = re.compile(r"(\d+)ms")


def parse_duration(text: str) -> int | None:
    """The seconds; None for an empty text, `Never`, and anything else that is not a duration."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


def parse_short_duration(text: str) -> float | None:
    """The same, or a number of milliseconds."""
    found = _MILLISECONDS.fullmatch(text)
    return int(found[1]) / 1000 if found else parse_duration(text)
