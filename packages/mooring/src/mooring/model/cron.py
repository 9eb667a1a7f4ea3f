"""Cron expressions of five fields: which minutes they match."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_DAYS = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_PART = re.compile(r"(?:(\*)|([0-9a-z]+)(?:-([0-9a-z]+))?)(?:/([0-9]+))?")


class CronError(ValueError):
    """The text is not a cron expression."""


class Cron:
    """A parsed expression. As in crontab, if both days are restricted, one of them is enough."""

    def __init__(self, text: str) -> None:
        fields = text.lower().split()
        if len(fields) != len(_FIELDS):
            raise CronError("five fields: minute, hour, day of month, month, day of week")
        parsed = [
            _parse(part, *field, names)
            for part, field, names in zip(fields, _FIELDS, ({}, {}, {}, _MONTHS, _DAYS), strict=True)
        ]
        self._minutes, self._hours, self._days, self._months, weekdays = parsed
        self._weekdays = {day % 7 for day in weekdays}
        self._any_day = fields[2].startswith("*")
        self._any_weekday = fields[4].startswith("*")

    def matches(self, at: datetime) -> bool:
        """Whether the minute of a moment is one of the expression's, in the moment's own time zone."""
        day, weekday = at.day in self._days, at.isoweekday() % 7 in self._weekdays
        right_day = (day or weekday) if not (self._any_day or self._any_weekday) else (day and weekday)
        return at.minute in self._minutes and at.hour in self._hours and at.month in self._months and right_day


@lru_cache(maxsize=1024)
def parse_cron(text: str) -> Cron:
    """Raises `CronError` with what is expected."""
    return Cron(text)


def _parse(text: str, name: str, low: int, high: int, names: Mapping[str, int]) -> set[int]:
    values: set[int] = set()
    for part in text.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            raise CronError(f"a {name} such as *, 5, 1-5 or */10, not {part!r}")
        every, first, last, step = found.groups()
        begin = low if every else _number(first, name, low, high, names)
        end = high if every or (step and not last) else _number(last or first, name, low, high, names)
        stride = int(step) if step else 1
        if not stride or end < begin:
            raise CronError(f"a rising range of the {name}, not {part!r}")
        values.update(range(begin, end + 1, stride))
    return values


def _number(text: str, name: str, low: int, high: int, names: Mapping[str, int]) -> int:
    value = int(text) if text.isdecimal() else names.get(text[:3]) if text.isalpha() else None
    if value is None or not low <= value <= high:
        raise CronError(f"a {name} from {low} to {high}, not {text!r}")
    return value
