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
from mooring.queries.submissions import SubmissionQueries
from mooring.queries.visibility import EVERYTHING, Visibility
from mooring.queries.warmups import WarmupQueries

AnyQueries = FleetQueries | HistoryQueries | Inspection | ServiceQueries | SubmissionQueries | WarmupQueries


def limited_queries(queries: Readings, guard: Guard) -> dict[str, Provide]:
    """The dependency `visibility`, and the queries within it."""

    async def visibility(request: Request[Any, Any, Any]) -> Visibility:
        return await guard.visibility(request)

    def limited(everything: AnyQueries) -> Provide:
        async def provide(visibility: Visibility) -> Any:
            return everything if visibility is EVERYTHING else everything.within(visibility)

        return Provide(provide)

    return {
        "visibility": Provide(visibility),
        "reading": limited(queries.fleet),
        "inspection": limited(queries.inspection),
        "history": limited(queries.history),
        "services": limited(queries.services),
        "submissions": limited(queries.submissions),
        "warmups": limited(queries.warmups),
    }
