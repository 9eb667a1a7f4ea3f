"""The sum behind a floor: its last lines are in workers, within the bounds of the moment."""

from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from mooring.model.demand import Demand, DemandStatus
from mooring.model.pool import PoolStatus
from mooring.planning.demand.outlook import Outlook
from mooring.planning.explanations.demand import explain_demand
from packages.mooring.tests.planning import fleets

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)  # a Monday
OUTLOOK = Outlook("level", 0.5, 0.0, 0.0, 40.0, 39.5, 19.75, 32, 32, 0.01, quiet=False)


def explain(floor: int, outlook: Outlook = OUTLOOK, slots: int = 1, **demand: object) -> tuple[str, ...]:
    wanted = msgspec.convert(demand, Demand)
    pool = fleets.pool(warm=0, max=100, slots=slots, demand=demand)
    pool = msgspec.structs.replace(pool, status=PoolStatus(demand=DemandStatus(floor)))
    return explain_demand(pool, wanted, outlook, NOW)


def test_the_sum_ends_with_what_was_needed_lately_the_bounds_and_the_floor() -> None:
    assert explain(32, max=50)[-3:] == (
        "bursts and errors of the forecast, as seen so far: 12 more, "
        "so that at most 1 % of claims find none: 32 needed",
        "highest of the last 300s: 32; bounds: 1 to 50",
        "floor: 32",
    )


def test_a_schedule_that_holds_now_is_the_lower_bound() -> None:
    schedule = {"cron": "* 9-17 * * 1-5", "min": 60}
    lines = explain(60, schedules=[schedule])
    assert lines[-2] == "highest of the last 300s: 32; bounds: 60 by schedule '* 9-17 * * 1-5' (UTC) to 100"


def test_with_slots_the_sum_goes_from_claims_to_workers() -> None:
    assert explain(10, replace(OUTLOOK, highest=40), slots=4)[-3:] == (
        "slots: 32 claims / 4 a worker = 8 workers needed",
        "highest of the last 300s: 10; bounds: 1 to 100",
        "floor: 10",
    )


def test_a_floor_on_its_way_down_says_so() -> None:
    assert explain(40)[-1] == "floor: 40, lowered by a tenth every 30 s"
