"""Runs of one trace: with the planner, and with a fixed floor."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from hawser.clock import Entropy
from mooring.model.pool_history import bucket_of
from mooring.planning.demand.model import BIN_SECONDS, Aim, DemandModel, Step
from mooring.planning.demand.rates import STEP_SECONDS
from mooring.simulation.fleet import Fleet
from mooring.simulation.traces import Trace

EPOCH = 1_767_571_200.0  # Monday, 2026-01-05, 00:00 UTC


@dataclass(frozen=True)
class Setting:
    wait: float
    percentile: float
    start: float
    learning: float
    seconds: float
    down_after: float = 300.0
    low: int = 1
    high: int = 2000


@dataclass(frozen=True)
class Result:
    floor: float
    claims: int
    missed: int
    idle_hours: float
    turns: int
    floors: list

    @property
    def share(self):
        return 1 - self.missed / max(1, self.claims)


def _starts(setting, seed):
    entropy = Entropy(seed)
    return lambda: setting.start * entropy.between(0.8, 1.2)


def _result(fleet, setting, before, floors, floor):
    waits = [wait for at, wait in fleet.waits if at >= setting.learning]
    turns, last = 0, 0
    values = [f for t, f in floors if t >= setting.learning]
    for a, b in zip(values, values[1:]):
        d = (b > a) - (b < a)
        if d and last and d != last:
            turns += 1
        last = d or last
    return Result(floor, len(waits), sum(w > setting.wait for w in waits), (fleet.idle_seconds - before) / 3600, turns, floors)


def fixed(trace, setting, floor):
    fleet = Fleet(_starts(setting, 7), floor, setting.high)
    begin = setting.learning
    i = 0
    for at in trace:
        if at < begin - 3600:
            continue
        if at >= begin and i == 0:
            fleet.advance(begin); before = fleet.idle_seconds; i = 1
        fleet.arrive(at)
    fleet.advance(setting.seconds)
    return _result(fleet, setting, before, [], floor)


def planned(trace, setting, plan):
    model = DemandModel()
    aim = Aim(setting.wait, setting.down_after)
    fleet = Fleet(_starts(setting, 7), setting.low, setting.high)
    floors = []
    place = 0
    at = 0.0
    before = 0.0
    while at < setting.seconds:
        at += STEP_SECONDS
        counts = Counter()
        while place < len(trace) and trace[place] < at:
            moment = trace[place]
            fleet.arrive(moment)
            counts[int((moment - (at - STEP_SECONDS)) / BIN_SECONDS)] += 1
            place += 1
        fleet.advance(at)
        starts = Counter(bucket_of(x) for x in fleet.started)
        fleet.started.clear()
        model.learn(Step(EPOCH + at, counts, starts), aim)
        floor = plan(model, EPOCH + at, aim, setting, floors)
        fleet.aim(floor)
        floors.append((at, floor))
        if at == setting.learning:
            before = fleet.idle_seconds
    return _result(fleet, setting, before, floors, sum(f for t, f in floors if t > setting.learning) / max(1, sum(t > setting.learning for t, f in floors))), model
