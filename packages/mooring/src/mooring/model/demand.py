"""`spec.demand` and `status.demand` of a WorkerPool: a floor that follows from a wait target."""

from zoneinfo import ZoneInfo

import msgspec

from mooring.model.cron import CronError, parse_cron
from mooring.model.duration import parse_duration, parse_short_duration
from mooring.model.errors import InvalidInput
from mooring.model.headroom import Headroom, HeadroomStatus, check_headroom

MOST_WORKERS = 10_000
MOST_WAIT_SECONDS = 600.0
MOST_SCALE_DOWN_SECONDS = 3600


class Schedule(msgspec.Struct, rename="camel", frozen=True):
    """A lowest floor that holds in every minute that the cron expression matches."""

    cron: str
    min: int
    timezone: str = "UTC"


class Demand(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """How long claims may wait, and within which bounds the floor follows."""

    wait: str = "500ms"
    percentile: int = 99
    min: int = 1
    max: int | None = None
    scale_down_after: str = "300s"
    schedules: tuple[Schedule, ...] = ()
    dry_run: bool = False
    headroom: Headroom | None = None

    @property
    def wait_seconds(self) -> float:
        return parse_short_duration(self.wait) or 0.0

    @property
    def scale_down_seconds(self) -> float:
        return float(parse_duration(self.scale_down_after) or 0)

    @property
    def late_share(self) -> float:
        """The share of claims that may wait longer."""
        return 1.0 - self.percentile / 100


class DemandStatus(msgspec.Struct, rename="camel", frozen=True):
    """The floor, what it follows from, and why in one sentence. What is not known yet is None."""

    floor: int = 0
    arrivals_per_minute: float | None = None
    start_seconds: float | None = None
    wait_p99: float | None = msgspec.field(default=None, name="waitP99")
    predicted_wait_p99: float | None = msgspec.field(default=None, name="predictedWaitP99")
    because: str = ""
    headroom: HeadroomStatus | None = None


def check_demand(demand: Demand, most: int) -> list[InvalidInput]:
    """All errors of `spec.demand`, each with its field. `most` is `spec.max`."""
    problems: list[InvalidInput] = []
    wait = parse_short_duration(demand.wait)
    if wait is None or not 0 <= wait <= MOST_WAIT_SECONDS:
        problems.append(InvalidInput("spec.demand.wait", demand.wait, "a duration up to 10m, such as 500ms or 2s"))
    after = parse_duration(demand.scale_down_after)
    if after is None or not 10 <= after <= MOST_SCALE_DOWN_SECONDS:
        rule = "a duration from 10s to 1h, such as 300s"
        problems.append(InvalidInput("spec.demand.scaleDownAfter", demand.scale_down_after, rule))
    bounds = {
        "spec.demand.percentile": (demand.percentile, 50, 99),
        "spec.demand.min": (demand.min, 0, MOST_WORKERS),
        "spec.demand.max": (demand.max if demand.max is not None else most, 0, MOST_WORKERS),
    }
    for field, (value, low, high) in bounds.items():
        if not low <= value <= high:
            problems.append(InvalidInput(field, value, f"between {low} and {high}"))
    upper = most if demand.max is None else min(most, demand.max)
    if demand.max is not None and demand.max > most:
        problems.append(InvalidInput("spec.demand.max", demand.max, f"at most spec.max ({most})"))
    if demand.min > upper:
        problems.append(InvalidInput("spec.demand.min", demand.min, f"at most the largest floor ({upper})"))
    for place, schedule in enumerate(demand.schedules):
        problems += _check_schedule(f"spec.demand.schedules[{place}]", schedule, upper)
    return problems + check_headroom(demand.headroom, most)


def _check_schedule(field: str, schedule: Schedule, upper: int) -> list[InvalidInput]:
    problems: list[InvalidInput] = []
    try:
        parse_cron(schedule.cron)
    except CronError as error:
        problems.append(InvalidInput(f"{field}.cron", schedule.cron, str(error)))
    try:
        ZoneInfo(schedule.timezone)
    except (KeyError, ValueError, OSError):
        problems.append(InvalidInput(f"{field}.timezone", schedule.timezone, "a time zone such as Europe/Berlin"))
    if not 0 <= schedule.min <= upper:
        problems.append(InvalidInput(f"{field}.min", schedule.min, f"between 0 and the largest floor ({upper})"))
    return problems
