"""The route of a pool's history."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from mooring.api.access.acts import READ_POOL
from mooring.model.duration import parse_duration
from mooring.model.errors import InvalidInput
from mooring.queries.fleet import FleetQueries
from mooring.queries.pool_history import HistoryQueries, PoolHistory

Range = Annotated[str, QueryParameter(name="range", description="How far back, as `30m`, `24h`; at most 720h.")]
Step = Annotated[str, QueryParameter(name="step", description="Seconds of one point, as `10s`, `5m`; empty: as fits.")]


@get("/v1/pools/{namespace:str}/{name:str}/history", access=READ_POOL, tags=["pools"], summary="A pool over time")
async def get_history(
    reading: FleetQueries, history: HistoryQueries, namespace: str, name: str, back: Range = "1h", step: Step = ""
) -> PoolHistory:
    """Workers by state, queue, claims, and the percentiles of their wait and hold in seconds.

    Samples of 10 s are kept for a day, of 5 min for 30 days. A step in which nothing was recorded is left out.
    """
    reading.pool(namespace, name)
    return await history.of_pool(namespace, name, _seconds("range", back), _seconds("step", step) if step else 0)


def _seconds(field: str, text: str) -> int:
    seconds = parse_duration(text)
    if seconds is None:
        raise InvalidInput(field, text, "a duration such as 30m, 24h or 1h30m")
    return seconds
