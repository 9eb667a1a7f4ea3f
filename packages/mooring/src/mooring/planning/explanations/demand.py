"""The sum behind a floor that follows demand, line by line."""

from collections.abc import Iterator
from datetime import datetime
from math import ceil

from mooring.model.demand import Demand
from mooring.model.pool import Pool
from mooring.planning.demand.outlook import Outlook
from mooring.planning.demand.plan import FALL_SECONDS, DemandSnapshot, compute_bounds, round_two

_BASES = {
    "level": "the level of the last half day",
    "day": "what is usual at this time of day",
    "week": "what is usual at this time of the week",
}


def explain_demand(pool: Pool, demand: Demand, outlook: Outlook, now: datetime) -> tuple[str, ...]:
    """How the floor follows: rate, correction, start, window, expected claims, what chance needs, bounds."""
    status = pool.status.demand
    lines = [f"claims expected: {_per_minute(outlook.usual_rate)} a minute, by {_BASES[outlook.base]}"]
    if outlook.correction_seconds:
        sign = "more" if outlook.correction_rate > 0 else "fewer"
        lines.append(
            f"corrected: {_per_minute(abs(outlook.correction_rate))} a minute {sign}, "
            f"by the claims of the last {outlook.correction_seconds:g} s"
        )
    start = "not seen yet, 30 s assumed" if outlook.start_seconds is None else f"{round_two(outlook.start_seconds):g} s"
    lines.append(
        f"start of a worker: {start} on average; "
        f"beyond the wait of {demand.wait}: {round_two(outlook.window_seconds):g} s"
    )
    if pool.spec.reuse == "Always" and outlook.hold_seconds is not None:
        lines.append(f"workers return: a claim is held for {round_two(outlook.hold_seconds):g} s on average")
    lines.append(
        f"within that time: {_per_minute(outlook.rate)} / 60 x {round_two(outlook.window_seconds):g} s = "
        f"{round_two(outlook.expected):g} claims"
    )
    spread = outlook.needed - outlook.expected
    if outlook.quiet:
        lines.append(f"no claim came for {demand.scale_down_after} and none is expected: 0 workers are needed")
    else:
        lines.append(
            f"bursts and errors of the forecast, as seen so far: {round_two(max(0.0, spread)):g} more, so that at most "
            f"{round_two(outlook.late_share * 100):g} % of claims find none: {outlook.needed} needed"
        )
    lines += _explain_floor(pool, demand, outlook, now)
    if status is not None and status.headroom is not None:
        room = status.headroom
        lines.append(
            f"headroom, beside the workers: {room.holding} of {room.wanted} placeholder pods hold room on nodes, "
            f"{room.waiting} wait for a node; {room.because}"
        )
    return tuple(lines)


def _explain_floor(pool: Pool, demand: Demand, outlook: Outlook, now: datetime) -> Iterator[str]:
    """From claims that need a worker to workers, within the bounds of this moment."""
    highest = ceil(outlook.highest / pool.spec.slots)
    if pool.spec.slots > 1:
        needed = ceil(outlook.needed / pool.spec.slots)
        yield f"slots: {outlook.needed} claims / {pool.spec.slots} a worker = {needed} workers needed"
    low, high, bound = compute_bounds(DemandSnapshot(now, demand, pool.spec.max, pool.spec.slots, outlook))
    by = "" if bound == "min" else f" by {bound}"
    yield f"highest of the last {demand.scale_down_after}: {highest}; bounds: {low}{by} to {high}"
    status = pool.status.demand
    floor = "not decided yet" if status is None else str(status.floor)
    falls = status is not None and status.floor > max(low, highest)
    yield f"floor: {floor}" + (f", lowered by a tenth every {FALL_SECONDS:g} s" if falls else "")


def _per_minute(rate: float) -> str:
    return f"{round_two(rate * 60):g}"
