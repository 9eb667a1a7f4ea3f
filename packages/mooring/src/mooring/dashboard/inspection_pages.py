"""Pages of one worker with its history, and of one node with its drain check."""

from litestar import Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_WORKER, SEE_NODES
from mooring.api.dependencies import GivenClock
from mooring.dashboard.inspection_views import worker_values
from mooring.dashboard.log_pages import offered_log
from mooring.dashboard.reader import GivenReader
from mooring.dashboard.responses import GivenReadings, PageResponse, page_response
from mooring.dashboard.views import Selection
from mooring.model.errors import NotFound
from mooring.queries.inspection import Inspection
from mooring.queries.pods import LogRequest
from mooring.queries.worker_detail import read_worker


def _missing(error: NotFound) -> Response[str]:
    return page_response("missing.html", status=404, error=error, selection=Selection(), here="missing")


@get("/workers/{namespace:str}/{name:str}", page="worker", access=READ_WORKER, include_in_schema=False)
async def worker_page(
    all_readings: GivenReadings,
    reader: GivenReader,
    namespace: str,
    name: str,
    container: str = "",
    previous: bool = False,
) -> Response[str]:
    """State and why, protection, health, sessions, history and log of a worker."""
    inspection = all_readings.inspection
    detail = await read_worker(inspection, namespace, name)
    if detail is None:
        return _missing(inspection.no_worker(namespace, name))
    log = await offered_log(all_readings.pods, reader, LogRequest(namespace, name, container, previous))
    values = {**worker_values(detail, inspection.clock.now(), reader.may), "part": log}
    subject = f"{namespace}/{name}"
    return PageResponse("worker.html", 200, values | {"subject": subject, "here": "worker", "section": "fleet"})


@get("/nodes/{name:str}", page="node", access=SEE_NODES, include_in_schema=False)
async def node_page(inspection: Inspection, clock: GivenClock, name: str) -> Response[str]:
    """A node, its workers, and what a drain would do."""
    look = await inspection.node(name)
    if look is None:
        return _missing(inspection.no_node(name))
    return page_response("node.html", look=look, now=clock.now(), subject=name, here="node", section="fleet")


INSPECTION_PAGES: list[ControllerRouterHandler] = [worker_page, node_page]
