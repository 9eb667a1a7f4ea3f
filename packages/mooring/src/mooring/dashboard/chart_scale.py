"""Scales of charts: round numbers on the axes, and the place of a value in the drawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

WIDTH = 1000.0  # units of the drawing; style sheets stretch it
HEIGHT = 200.0
TICKS = 5

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_EVEN_STEPS = (2.0, 4.0, 6.0, 8.0, 10.0)


def round_up(value: float) -> float:
    """The next number that is easy to read: 1, 2, 2.5, 5 or 10 times a power of ten."""
    return _round_up(value, _STEPS) if value > 0 else 1.0


def round_up_count(value: float) -> float:
    """The same for things that are counted: an even number, so that the middle of the axis is a whole one."""
    return _round_up(max(value, 1.0), _EVEN_STEPS)


def _round_up(value: float, steps: Sequence[float]) -> float:
    power = 1.0
    while power * 10 < value:
        power *= 10
    while power > value:
        power /= 10
    return next(step * power for step in steps if step * power >= value * (1 - 1e-9))


@dataclass(frozen=True, slots=True)
class Scale:
    """From a moment and a value to a point of the drawing."""

    since: datetime
    until: datetime
    top: float

    def x(self, at: datetime) -> float:
        span = (self.until - self.since).total_seconds() or 1.0
        return round(min(1.0, max(0.0, (at - self.since).total_seconds() / span)) * WIDTH, 1)

    def y(self, value: float) -> float:
        return round(HEIGHT * (1 - min(1.0, max(0.0, value / self.top))), 1)

    @property
    def moments(self) -> list[datetime]:
        """The moments on the axis of time, oldest first."""
        step = (self.until - self.since) / (TICKS - 1)
        return [self.since + step * index for index in range(TICKS)]


def split_at_gaps(moments: Sequence[datetime], step_seconds: int) -> list[range]:
    """The stretches without a missing step, as ranges of indices: nothing is drawn over what was not recorded."""
    found, start = [], 0
    for index in range(1, len(moments) + 1):
        ended = index == len(moments)
        if ended or (moments[index] - moments[index - 1]).total_seconds() > 1.5 * step_seconds:
            found.append(range(start, index))
            start = index
    return [stretch for stretch in found if stretch]
