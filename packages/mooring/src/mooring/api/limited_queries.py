"""Queries as dependencies of handlers, limited to what the caller may see. So no list can forget to be."""

from typing import Any

from litestar import Request
from litestar.di import Provide

from mooring.api.access.guard import Guard
from mooring.queries.fleet import FleetQueries
from mooring.queries.inspection import Inspection
from mooring.queries.pool_history import HistoryQueries
from mooring.queries.readings import Readings
from mooring.queries.services import ServiceQueries
from mooring.queries.sight import EVERYTHING, Sight
from mooring.queries.submissions import SubmissionQueries
from mooring.queries.warmups import WarmupQueries

AnyQueries = FleetQueries | HistoryQueries | Inspection | ServiceQueries | SubmissionQueries | WarmupQueries


def limited_queries(queries: Readings, guard: Guard) -> dict[str, Provide]:
    """The dependency `sight`, and the queries within it."""

    async def sight(request: Request[Any, Any, Any]) -> Sight:
        return await guard.sight(request)

    def limited(everything: AnyQueries) -> Provide:
        async def provide(sight: Sight) -> Any:
            return everything if sight is EVERYTHING else everything.within(sight)

        return Provide(provide)

    return {
        "sight": Provide(sight),
        "reading": limited(queries.fleet),
        "inspection": limited(queries.inspection),
        "history": limited(queries.history),
        "services": limited(queries.services),
        "submissions": limited(queries.submissions),
        "warmups": limited(queries.warmups),
    }
