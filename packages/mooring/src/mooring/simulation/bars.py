"""What the planner has to reach beside fixed floors: five traces, quick and slow starts, after a day of learning."""

from hawser.clock import Entropy
from mooring.model.demand import Demand
from mooring.simulation.comparison import Comparison, compare
from mooring.simulation.runs import Setting
from mooring.simulation.traces import DAY, SYNTHETIC

TRACES = ("steady", "diurnal", "monday", "bursts", "step")
STARTS = (2.0, 40.0)
MOST_COST = {"steady": 1.1, "diurnal": 0.7, "monday": 0.7}  # of the cheapest fixed floor that meets the target
MOST_TURNS = 6.0  # changes of direction an hour, on steady


def play_bar(trace: str, start_seconds: float, seed: int) -> Comparison:
    """One row: a day to learn from, and a day that counts."""
    arrivals = SYNTHETIC[trace](2 * DAY, Entropy(seed))
    return compare(trace, arrivals, Setting(Demand(), start_seconds, DAY, 2 * DAY))


def describe_bar(trace: str) -> str:
    """What is asked for, in words."""
    most = MOST_COST.get(trace)
    if most is None:
        return "no more late claims than with a fixed floor of the same cost"
    turns = f", at most {MOST_TURNS:g} turns an hour" if trace == "steady" else ""
    return f"the target is met at no more than {most:g} x the cheapest fixed floor{turns}"


def meets_bar(found: Comparison, percentile: int = 99) -> bool:
    """Whether a row reaches it."""
    most = MOST_COST.get(found.name)
    if most is None:
        return found.planned.late <= found.equal_late
    calm = found.name != "steady" or found.planned.turns_an_hour <= MOST_TURNS
    return calm and found.planned.in_time >= percentile / 100 and found.cost <= most
