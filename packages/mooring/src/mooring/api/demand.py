"""Routes of demand and use: why a floor has its size, and what workers cost."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_POOL, SEE_POOLS
from mooring.queries.demand import DemandReading
from mooring.queries.fleet import FleetQueries
from mooring.queries.pool_history import Arrivals, HistoryQueries
from mooring.queries.usage import USUAL_DAYS, UsageReport

Days = Annotated[int, QueryParameter(name="days", description="How many days, today included; from 1 to 400.")]
Price = Annotated[float | None, QueryParameter(name="price", description="Price of one worker-hour; adds `cost`.")]


@get("/v1/pools/{namespace:str}/{name:str}/demand", access=READ_POOL, tags=["pools"], summary="Demand of a pool")
async def get_demand(reading: FleetQueries, history: HistoryQueries, namespace: str, name: str) -> DemandReading:
    """The floor that follows from `spec.demand`, the sum behind it line by line, and what other targets would take.

    404 if the floor of the pool is fixed.
    """
    return await history.demand.of_pool(reading.find_pool(namespace, name))


@get("/v1/pools/{namespace:str}/{name:str}/arrivals", access=READ_POOL, tags=["pools"], summary="Arrivals of claims")
async def get_arrivals(reading: FleetQueries, history: HistoryQueries, namespace: str, name: str) -> Arrivals:
    """When claims came in the last day, in half seconds, for `mooring demand simulate`."""
    reading.pool(namespace, name)
    return await history.arrivals(namespace, name)


@get("/v1/usage", access=SEE_POOLS, tags=["usage"], summary="Worker-hours by day, pool and owner")
async def get_usage(history: HistoryQueries, days: Days = USUAL_DAYS, price: Price = None) -> UsageReport:
    """Idle, busy and starting worker-hours of the last days (UTC) of the pools that the caller may list.

    A worker that serves several claims is shared among their owners. With a price, also what the hours cost.
    """
    return await history.usage.report(days, price)


DEMAND_ROUTES: list[ControllerRouterHandler] = [get_demand, get_arrivals, get_usage]
