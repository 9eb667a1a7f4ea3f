"""Arrivals of claims to play, made from a seed."""

from bisect import insort
from collections.abc import Callable
from math import cos, log, pi

from hawser.clock import Entropy

DAY = 86_400.0
HOUR = 3600.0

Trace = list[float]  # seconds since the begin, in order


def make_poisson(rate: Callable[[float], float], highest: float, seconds: float, entropy: Entropy) -> Trace:
    """A Poisson process whose rate changes: candidates at the highest rate, thinned."""
    trace: Trace = []
    at = 0.0
    while True:
        at -= log(1.0 - entropy.fraction()) / highest
        if at >= seconds:
            return trace
        if entropy.fraction() * highest < rate(at):
            trace.append(at)


def steady(seconds: float, entropy: Entropy) -> Trace:
    """30 claims a minute."""
    return make_poisson(lambda _: 0.5, 0.5, seconds, entropy)


def diurnal(seconds: float, entropy: Entropy) -> Trace:
    """From nearly none at 4:00 to 60 a minute at 16:00, every day the same."""

    def rate(at: float) -> float:
        return 0.02 + 0.98 * (0.5 - 0.5 * cos(2 * pi * (at / DAY - 4 / 24))) ** 2

    return make_poisson(rate, 1.0, seconds, entropy)


def monday(seconds: float, entropy: Entropy) -> Trace:
    """Quiet nights; at 9:00, up to some minutes off, work begins within ten minutes; less at noon; over at 18:00."""
    begins = [9 * HOUR + entropy.between(-300, 300) for _ in range(int(seconds / DAY) + 1)]

    def rate(at: float) -> float:
        hour, begin = at % DAY, begins[int(at / DAY)]
        if hour < begin or hour >= 18 * HOUR:
            return 0.01
        ramp = min(1.0, (hour - begin) / 600)
        noon = 0.5 if 12 * HOUR <= hour < 13 * HOUR else 1.0
        return 0.01 + ramp * noon * (1.5 if hour < 11 * HOUR else 0.8)

    return make_poisson(rate, 1.6, seconds, entropy)


def bursts(seconds: float, entropy: Entropy) -> Trace:
    """6 claims a minute, and every half hour on average, for one to three minutes, 60 a minute more."""
    trace = make_poisson(lambda _: 0.1, 0.1, seconds, entropy)
    for begin in make_poisson(lambda _: 1 / 1800, 1 / 1800, seconds - 180, entropy):
        trace += [begin + at for at in make_poisson(lambda _: 1.0, 1.0, entropy.between(60, 180), entropy)]
    return sorted(trace)


def spikes(seconds: float, entropy: Entropy) -> Trace:
    """6 claims a minute, and every half hour on average 10 to 40 at once, within five seconds."""
    trace = make_poisson(lambda _: 0.1, 0.1, seconds, entropy)
    for begin in make_poisson(lambda _: 1 / 1800, 1 / 1800, seconds - 10, entropy):
        for _ in range(10 + entropy.below(31)):
            insort(trace, begin + entropy.between(0, 5))
    return trace


def step(seconds: float, entropy: Entropy) -> Trace:
    """12 claims a minute; in the last day, from 10:00 to 16:00, five times as many."""
    last = seconds - DAY

    def rate(at: float) -> float:
        return 1.0 if last + 10 * HOUR <= at < last + 16 * HOUR else 0.2

    return make_poisson(rate, 1.0, seconds, entropy)


SYNTHETIC: dict[str, Callable[[float, Entropy], Trace]] = {
    "steady": steady,
    "diurnal": diurnal,
    "monday": monday,
    "bursts": bursts,
    "step": step,
    "spikes": spikes,
}
