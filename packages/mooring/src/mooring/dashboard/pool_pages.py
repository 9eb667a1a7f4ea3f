"""Routes of the page of one pool."""

import msgspec
from litestar import Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_POOL
from mooring.dashboard.pool_views import pool_values, read_pool_page
from mooring.dashboard.reader import GivenReader
from mooring.dashboard.responses import GivenReadings, PageResponse
from mooring.dashboard.views import Selection


@get("/pools/{namespace:str}/{name:str}", page="pool", access=READ_POOL, include_in_schema=False)
async def pool_page(
    all_readings: GivenReadings, reader: GivenReader, selection: Selection, namespace: str, name: str
) -> Response[str]:
    """Verdict, history, workers, queue and owners of a pool."""
    asked = msgspec.structs.replace(selection, subject=f"{namespace}/{name}")
    page = await read_pool_page(all_readings, asked, reader)
    values = pool_values(page, asked, reader) | {"subject": asked.subject, "here": "pool", "section": "fleet"}
    return PageResponse("pool.html", 200, values)


POOL_PAGES: list[ControllerRouterHandler] = [pool_page]
