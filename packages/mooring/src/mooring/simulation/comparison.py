"""The planner beside fixed floors on the same trace: the cheapest that meets the target, and one that costs as much."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from mooring.simulation.runs import Run, Setting, run_fixed, run_planned
from mooring.simulation.traces import Trace


@dataclass(frozen=True)
class Comparison:
    """One row of the table."""

    name: str
    start_seconds: float
    planned: Run
    best_floor: int  # the smallest fixed floor that meets the target
    best: Run
    equal_floor: int  # the largest fixed floor that costs no more than the planner
    equal_late: float  # late claims of a fixed floor that costs as much: between that floor and the next

    @property
    def cost(self) -> float:
        """Idle worker-hours of the planner by those of the cheapest fixed floor that meets the target; inf beside 0."""
        if not self.best.idle_hours:
            return inf if self.planned.idle_hours else 1.0
        return self.planned.idle_hours / self.best.idle_hours


def compare(name: str, trace: Trace, setting: Setting) -> Comparison:
    """Play the trace with the planner and with the fixed floors that a search finds."""
    runs: dict[int, Run] = {}

    def fixed(floor: int) -> Run:
        if floor not in runs:
            runs[floor] = run_fixed(trace, setting, floor)
        return runs[floor]

    planned = run_planned(trace, setting)
    wanted = setting.demand.percentile / 100
    best = _search(lambda floor: fixed(floor).in_time >= wanted, setting.most)
    above = _search(lambda floor: fixed(floor).idle_hours > planned.idle_hours, setting.most)
    equal = max(0, above - 1)
    dearer = fixed(above).idle_hours - fixed(equal).idle_hours
    share = (planned.idle_hours - fixed(equal).idle_hours) / dearer if dearer > 0 else 0.0
    late = fixed(equal).late + (fixed(above).late - fixed(equal).late) * max(0.0, min(1.0, share))
    return Comparison(name, setting.start_seconds, planned, best, fixed(best), equal, late)


def _search(holds: Callable[[int], bool], most: int) -> int:
    """The smallest floor for which it holds, if it holds for all larger ones; doubles first, as most are small."""
    high = 1
    while high < most and not holds(high):
        high *= 2
    low, high = high // 2, min(high, most)
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
