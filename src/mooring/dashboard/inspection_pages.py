"""The pages of a closer look: one worker with its why and its history, one node with what its going would mean."""

from litestar import Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.given import GivenClock
from mooring.api.inspections import Inspection, read_worker
from mooring.dashboard.responses import page_response
from mooring.dashboard.views import Selection
from mooring.model.errors import NotFound


def _missing(error: NotFound) -> Response[str]:
    return page_response("missing.html", status=404, error=error, selection=Selection(), here="missing")


@get("/workers/{namespace:str}/{name:str}", include_in_schema=False)
async def worker_page(inspection: Inspection, clock: GivenClock, namespace: str, name: str) -> Response[str]:
    """State and why, protection, health, sessions and what was done to it."""
    detail = await read_worker(inspection, namespace, name)
    if detail is None:
        return _missing(inspection.no_worker(namespace, name))
    subject = f"{namespace}/{name}"
    return page_response("worker.html", detail=detail, now=clock.now(), subject=subject, here="worker")


@get("/nodes/{name:str}", include_in_schema=False)
async def node_page(inspection: Inspection, clock: GivenClock, name: str) -> Response[str]:
    """The node, its workers, and what would happen if it went now."""
    look = await inspection.node(name)
    if look is None:
        return _missing(inspection.no_node(name))
    return page_response("node.html", look=look, now=clock.now(), subject=name, here="node")


INSPECTION_PAGES: list[ControllerRouterHandler] = [worker_page, node_page]
