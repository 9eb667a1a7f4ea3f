"""The floor of a pool with `spec.demand`, and why: the forecast, what it has to cover beyond it, and the bounds."""

from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from zoneinfo import ZoneInfo

from mooring.model.cron import parse_cron
from mooring.model.demand import Demand, DemandStatus
from mooring.model.moments import later
from mooring.planning.demand.model import ASSUMED_START_SECONDS, LONGEST_WINDOW
from mooring.planning.demand.outlook import Outlook

FALL_SECONDS = 30.0  # between two lowerings of the floor
FALL_SHARE = 0.1  # of the floor, at least one worker, that one lowering takes

_BASES = {"level": "the last hours", "day": "this time of day", "week": "this time of the week"}


@dataclass(frozen=True, slots=True)
class HeldFloor:
    """The floor that was decided last, and when it was lowered last."""

    floor: int
    lowered_at: datetime


@dataclass(frozen=True, slots=True)
class DemandSnapshot:
    """All that the decision may look at. Without an outlook nothing is known yet: the floor stays."""

    now: datetime
    demand: Demand
    most: int  # spec.max
    slots: int = 1
    outlook: Outlook | None = None
    held: HeldFloor | None = None


@dataclass(frozen=True, slots=True)
class DemandPlan:
    """The floor, when it was lowered last, and the status."""

    held: HeldFloor
    status: DemandStatus
    short: bool = False  # the model asks for more than `max` allows


def plan_demand(snapshot: DemandSnapshot) -> DemandPlan:
    """Up at once; down after `scaleDownAfter`, a part at a time."""
    held = plan_floor(snapshot)
    _, high, _ = compute_bounds(snapshot)
    short = snapshot.outlook is not None and _workers(snapshot, snapshot.outlook.needed) > high
    return DemandPlan(held, _status(snapshot, held.floor), short)


def plan_floor(snapshot: DemandSnapshot) -> HeldFloor:
    """The floor alone."""
    low, high, _ = compute_bounds(snapshot)
    outlook = snapshot.outlook
    needed = _within(snapshot, outlook.needed if outlook else 0)
    highest = max(needed, _within(snapshot, outlook.highest if outlook else 0))
    held = _follow(snapshot, needed, highest)
    return replace(held, floor=min(high, max(low, held.floor)))


def compute_bounds(snapshot: DemandSnapshot) -> tuple[int, int, str]:
    """The lowest and the highest floor now, and what sets the lowest."""
    demand = snapshot.demand
    high = snapshot.most if demand.max is None else min(demand.max, snapshot.most)
    low, bound = demand.min, "min"
    minutes = _minutes_until_ready(snapshot) if demand.schedules else ()
    for schedule in demand.schedules:
        cron, zone = parse_cron(schedule.cron), ZoneInfo(schedule.timezone)
        if schedule.min > low and any(cron.matches(at.astimezone(zone)) for at in minutes):
            low, bound = schedule.min, f"schedule {schedule.cron!r} ({schedule.timezone})"
    return min(low, high), high, bound


def _minutes_until_ready(snapshot: DemandSnapshot) -> tuple[datetime, ...]:
    """This minute and all within one start from now: a schedule holds that early, so that workers are ready in time."""
    start = snapshot.outlook.start_seconds if snapshot.outlook else None
    lead = min(LONGEST_WINDOW, ASSUMED_START_SECONDS if start is None else start)
    return (*(later(snapshot.now, seconds) for seconds in range(0, ceil(lead), 60)), later(snapshot.now, lead))


def _workers(snapshot: DemandSnapshot, claims: int) -> int:
    """How many serve so many claims."""
    return ceil(claims / snapshot.slots)


def _within(snapshot: DemandSnapshot, claims: int) -> int:
    """The same, within the bounds."""
    low, high, _ = compute_bounds(snapshot)
    return min(high, max(low, _workers(snapshot, claims)))


def _follow(snapshot: DemandSnapshot, needed: int, highest: int) -> HeldFloor:
    held = snapshot.held
    if held is None:
        return HeldFloor(needed, snapshot.now)
    if snapshot.outlook is None:
        return held
    if needed >= held.floor:
        return held if needed == held.floor else HeldFloor(needed, held.lowered_at)
    since_lowered = abs((snapshot.now - held.lowered_at).total_seconds())  # clocks may be set back
    if highest >= held.floor or since_lowered < FALL_SECONDS:
        return held
    part = max(1, int(held.floor * FALL_SHARE))
    return HeldFloor(max(highest, held.floor - part), snapshot.now)


def _status(snapshot: DemandSnapshot, floor: int) -> DemandStatus:
    outlook = snapshot.outlook
    if outlook is None:
        return DemandStatus(floor, because=f"{floor} idle: nothing is known of the claims of this pool yet")
    return DemandStatus(
        floor=floor,
        arrivals_per_minute=round_two(outlook.rate * 60),
        start_seconds=None if outlook.start_seconds is None else round_two(outlook.start_seconds),
        wait_p99=None if outlook.wait_p99 is None else round_two(outlook.wait_p99),
        predicted_wait_p99=round_two(outlook.predict_wait(floor * snapshot.slots)),
        because=_because(snapshot, outlook, floor),
    )


def _because(snapshot: DemandSnapshot, outlook: Outlook, floor: int) -> str:
    demand, model = snapshot.demand, _workers(snapshot, outlook.needed)
    needed, (_, _, bound) = _within(snapshot, outlook.needed), compute_bounds(snapshot)
    start = (
        f"a start takes {round_two(outlook.start_seconds):g} s"
        if outlook.start_seconds is not None
        else f"a start is assumed to take {ASSUMED_START_SECONDS:g} s until one was seen"
    )
    if outlook.quiet:
        cause = f"no claim came for {demand.scale_down_after} and none is expected"
    else:
        cause = (
            f"about {round_two(outlook.rate * 60):g} claims a minute are expected (by {_BASES[outlook.base]}"
            f"{', corrected by recent claims' if outlook.correction_rate else ''}) and {start}, so "
            f"{model} idle keep{'s' if model == 1 else ''} {demand.percentile} % of waits within {demand.wait}"
        )
    if needed > model:
        cause += f"; {bound} asks for {needed}"
    elif needed < model:
        cause += f"; max allows {needed}"
    if floor > needed:
        cause += f"; {floor} are kept until fewer were needed for {demand.scale_down_after}"
    return f"{floor} idle: {cause}"


def round_two(value: float) -> float:
    """Two significant digits: a status that changes with every claim would be written with every claim."""
    return float(f"{value:.2g}")
