"""The sum behind a floor that follows demand, line by line."""

from mooring.model.demand import Demand
from mooring.model.pool import Pool
from mooring.planning.demand.outlook import Outlook
from mooring.planning.demand.plan import round_two

_BASES = {
    "level": "the level of the last half day",
    "day": "what is usual at this time of day",
    "week": "what is usual at this time of the week",
}


def explain_demand(pool: Pool, demand: Demand, outlook: Outlook) -> tuple[str, ...]:
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
    if pool.spec.slots > 1:
        lines.append(f"slots: {pool.spec.slots} claims a worker")
    lines.append(
        f"highest of the last {demand.scale_down_after}: {outlook.highest}; bounds: {demand.min} to "
        f"{pool.spec.max if demand.max is None else demand.max}"
    )
    lines.append(f"floor: {status.floor if status is not None else 'not decided yet'}")
    if status is not None and status.headroom is not None:
        room = status.headroom
        lines.append(
            f"headroom, beside the workers: {room.holding} of {room.wanted} placeholder pods hold room on nodes, "
            f"{room.waiting} wait for a node; {room.because}"
        )
    return tuple(lines)


def _per_minute(rate: float) -> str:
    return f"{round_two(rate * 60):g}"
