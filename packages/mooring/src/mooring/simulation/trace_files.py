"""Arrivals of claims from a file."""

from datetime import UTC, datetime
from math import inf

from mooring.model.errors import InvalidInput
from mooring.simulation.traces import DAY, Trace

MOST_SECONDS = 100 * DAY  # from the first day on; each takes seconds to play


def read_trace(text: str) -> Trace:
    """Arrivals from text, one a line, as seconds or as times; more columns, after a comma or a space, are left out."""
    found: Trace = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.replace(",", " ").split("#")[0].split()
        if not word or (number == 1 and not _begins_number(word[0])):  # empty, or a heading
            continue
        found.append(_read_moment(word[0], number))
    if not found:
        raise InvalidInput("--trace", "an empty file", "one arrival a line")
    first = min(found)
    begin = first - first % DAY if first > DAY else 0.0  # times of day stay times of day
    if max(found) - begin > MOST_SECONDS:
        days = MOST_SECONDS / DAY
        raise InvalidInput("--trace", f"{(max(found) - begin) / DAY:.3g} days", f"at most {days:g} days of arrivals")
    return sorted(at - begin for at in found)


def _begins_number(word: str) -> bool:
    return word.lstrip("+-.")[:1].isdigit()


def _read_moment(word: str, number: int) -> float:
    for read in (float, _read_time):
        try:
            at = read(word)
        except (ValueError, OverflowError):  # a time of year 1 has no seconds since the epoch
            continue
        if 0.0 <= at < inf:
            return at
    rule = f"in line {number}: seconds from 0 on, or a time such as 2026-01-05T09:00:00Z"
    raise InvalidInput("--trace", word, rule)


def _read_time(word: str) -> float:
    """Without an offset it is in UTC."""
    at = datetime.fromisoformat(word)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
