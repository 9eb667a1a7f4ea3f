"""The pages of a closer look: one worker with its why and its history, one node with what its going would mean."""

from litestar import Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.given import GivenClock
from mooring.api.inspections import Inspection, read_worker
from mooring.api.readmodels import ReadSide
from mooring.dashboard.responses import page_response
from mooring.dashboard.views import Selection
from mooring.model.errors import NotFound


def _missing(error: NotFound) -> Response[str]:
    return page_response("missing.html", status=404, error=error, selection=Selection(), here="fleet-detail")


@get("/workers/{namespace:str}/{name:str}", include_in_schema=False)
async def worker_page(inspection: Inspection, clock: GivenClock, namespace: str, name: str) -> Response[str]:
    """State and why, protection, health, sessions and what was done to it."""
    try:
        detail = await read_worker(inspection, namespace, name)
    except NotFound as error:
        return _missing(error)
    return page_response("worker.html", detail=detail, now=clock.now(), selection=Selection(), here="fleet-detail")


@get("/nodes/{name:str}", include_in_schema=False)
async def node_page(inspection: Inspection, reading: ReadSide, clock: GivenClock, name: str) -> Response[str]:
    """The node, its workers, and what would happen if it went now."""
    try:
        check = await inspection.drain_check(name)
    except NotFound as error:
        return _missing(error)
    node = next((node for node in await reading.nodes() if node.name == name), None)
    workers = await reading.workers(node=name)
    return page_response(
        "node.html",
        check=check,
        node=node,
        workers=workers,
        now=clock.now(),
        selection=Selection(),
        here="fleet-detail",
    )


INSPECTION_PAGES: list[ControllerRouterHandler] = [worker_page, node_page]
