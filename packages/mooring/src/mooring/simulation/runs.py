"""Runs of one trace in virtual time: with the planner of demand, and with a fixed floor."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hawser.clock import Entropy
from mooring.model.demand import Demand
from mooring.model.pool_history import bucket_of
from mooring.planning.demand.model import BIN_SECONDS, Aim, DemandModel, Step
from mooring.planning.demand.outlook import Outlook
from mooring.planning.demand.plan import DemandSnapshot, HeldFloor, plan_floor
from mooring.planning.demand.rates import STEP_SECONDS
from mooring.simulation.fleet import Fleet
from mooring.simulation.traces import HOUR, Trace

EPOCH = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday; traces begin at midnight
START_SPREAD = 0.2  # a start takes the mean, more or less so much of it
STARTS_SEED = 7  # the same starts for every floor: floors are compared, not luck


@dataclass(frozen=True)
class Setting:
    """What is played: the spec, the mean start, and how much of the trace is only learnt from."""

    demand: Demand
    start_seconds: float
    learn_seconds: float
    seconds: float
    most: int = 2000


@dataclass(frozen=True)
class Run:
    """What came of it, after the time of learning."""

    claims: int
    late: int  # waited longer than the target
    idle_hours: float
    floors: Sequence[tuple[float, int]] = field(default=(), repr=False)  # seconds and floor, by step

    @property
    def in_time(self) -> float:
        """The share of claims within the target."""
        return 1.0 - self.late / self.claims if self.claims else 1.0

    @property
    def turns_an_hour(self) -> float:
        """How often the floor changed its direction."""
        turns, last = 0, 0
        for (_, before), (_, after) in zip(self.floors, self.floors[1:], strict=False):
            direction = (after > before) - (after < before)
            turns += bool(direction and last and direction != last)
            last = direction or last
        return turns / (len(self.floors) * STEP_SECONDS / HOUR) if self.floors else 0.0


def run_fixed(trace: Trace, setting: Setting, floor: int) -> Run:
    """With a fixed floor. It learns nothing, so only the last hour before is played to fill the pool."""
    fleet = Fleet(_starts(setting), floor, setting.most)
    begin = setting.learn_seconds
    fleet.advance(max(0.0, begin - HOUR))
    for at in trace:
        if at >= begin:
            break
        if at > fleet.now:
            fleet.arrive(at)
    fleet.advance(begin)
    idle_before = fleet.idle_seconds
    for at in trace:
        if at >= begin:
            fleet.arrive(at)
    fleet.advance(setting.seconds)
    return _judge(fleet, setting, idle_before)


def run_planned(trace: Trace, setting: Setting) -> Run:
    """With the planner, from an empty model."""
    demand, model = setting.demand, DemandModel()
    aim = Aim(demand.wait_seconds, demand.late_share, demand.scale_down_seconds)
    fleet = Fleet(_starts(setting), demand.min, setting.most)
    floors: list[tuple[float, int]] = []
    held: HeldFloor | None = None
    place, at, idle_before, epoch = 0, 0.0, 0.0, EPOCH.timestamp()
    while at < setting.seconds:
        if at <= setting.learn_seconds:
            idle_before = fleet.idle_seconds
        arrivals: Counter[int] = Counter()
        while place < len(trace) and trace[place] < at + STEP_SECONDS:
            fleet.arrive(trace[place])
            arrivals[int((trace[place] - at) / BIN_SECONDS)] += 1
            place += 1
        at += STEP_SECONDS
        fleet.advance(at)
        starts = Counter(bucket_of(seconds) for seconds in fleet.take_starts())
        model.learn(Step(epoch + at, arrivals, starts), aim)
        now = datetime.fromtimestamp(epoch + at, UTC)
        outlook: Outlook = model.look(epoch + at, aim, predict=False)
        held = plan_floor(DemandSnapshot(now, demand, setting.most, outlook=outlook, held=held))
        fleet.aim(held.floor)
        if at > setting.learn_seconds:
            floors.append((at, held.floor))
    return _judge(fleet, setting, idle_before, floors)


def _starts(setting: Setting) -> Callable[[], float]:
    entropy = Entropy(STARTS_SEED)
    return lambda: setting.start_seconds * entropy.between(1 - START_SPREAD, 1 + START_SPREAD)


def _judge(fleet: Fleet, setting: Setting, idle_before: float, floors: Sequence[tuple[float, int]] = ()) -> Run:
    idle_hours = (fleet.idle_seconds - idle_before) / HOUR
    fleet.settle()
    waits = [wait for at, wait in fleet.waits if at >= setting.learn_seconds]
    late = sum(wait > setting.demand.wait_seconds for wait in waits)
    return Run(len(waits), late, idle_hours, floors)
