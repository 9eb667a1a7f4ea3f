"""Pages of one worker with its history, and of one node with its drain check."""

from litestar import Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_WORKER, SEE_NODES
from mooring.api.dependencies import GivenClock
from mooring.dashboard.responses import page_response
from mooring.dashboard.views import Selection
from mooring.model.errors import NotFound
from mooring.queries.inspection import Inspection
from mooring.queries.worker_detail import read_worker


def _missing(error: NotFound) -> Response[str]:
    return page_response("missing.html", status=404, error=error, selection=Selection(), here="missing")


@get("/workers/{namespace:str}/{name:str}", access=READ_WORKER, include_in_schema=False)
async def worker_page(inspection: Inspection, clock: GivenClock, namespace: str, name: str) -> Response[str]:
    """State and why, protection, health, sessions and history of a worker."""
    detail = await read_worker(inspection, namespace, name)
    if detail is None:
        return _missing(inspection.no_worker(namespace, name))
    subject = f"{namespace}/{name}"
    return page_response("worker.html", detail=detail, now=clock.now(), subject=subject, here="worker")


@get("/nodes/{name:str}", access=SEE_NODES, include_in_schema=False)
async def node_page(inspection: Inspection, clock: GivenClock, name: str) -> Response[str]:
    """A node, its workers, and what a drain would do."""
    look = await inspection.node(name)
    if look is None:
        return _missing(inspection.no_node(name))
    return page_response("node.html", look=look, now=clock.now(), subject=name, here="node")


INSPECTION_PAGES: list[ControllerRouterHandler] = [worker_page, node_page]
