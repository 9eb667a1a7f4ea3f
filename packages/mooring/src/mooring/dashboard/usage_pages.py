"""The page of use: worker-hours by day, pool and owner, and what other wait targets would cost. It is not live."""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import SEE_POOLS
from mooring.api.demand import Days, Price
from mooring.dashboard.responses import GivenReadings, page_response, twin_response
from mooring.queries.demand import TargetsReading
from mooring.queries.readings import Readings
from mooring.queries.usage import USUAL_DAYS, UsageReading, UsageReport
from mooring.queries.visibility import Visibility


class UsagePage(msgspec.Struct, frozen=True):
    """The report, and the pools with demand."""

    report: UsageReport
    targets: Sequence[TargetsReading]
    days: int
    price: float | None

    @property
    def query(self) -> str:
        """The choice, as part of an address."""
        return f"days={self.days}" + ("" if self.price is None else f"&price={self.price:g}")


async def read_usage(readings: Readings, days: int, price: float | None) -> UsagePage:
    """All that the page shows. May raise `InvalidInput`."""
    report = await readings.history.usage.report(days, price)
    followed = [one for one in readings.fleet.pools() if one.spec.demand is not None]
    targets = [
        await readings.history.demand.targets(readings.fleet.find_pool(one.namespace, one.name)) for one in followed
    ]
    return UsagePage(report, targets, days, price)


@get("/usage", page="usage", access=SEE_POOLS, include_in_schema=False)
async def usage_page(
    all_readings: GivenReadings, visibility: Visibility, days: Days = USUAL_DAYS, price: Price = None
) -> Response[str]:
    """Worker-hours, and with a price what they cost."""
    page = await read_usage(all_readings.within(visibility), days, price)
    return page_response("usage.html", page=page, here="usage")


@get(["/usage.json", "/usage.csv"], access=SEE_POOLS, include_in_schema=False)
async def usage_twin(
    all_readings: GivenReadings,
    visibility: Visibility,
    request: Request[Any, Any, Any],
    days: Days = USUAL_DAYS,
    price: Price = None,
) -> Response[Any]:
    """The rows of the page."""
    report = await all_readings.within(visibility).history.usage.report(days, price)
    return twin_response(request, UsageReading, report.items)


USAGE_PAGES: list[ControllerRouterHandler] = [usage_page, usage_twin]
