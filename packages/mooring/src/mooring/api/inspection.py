"""Routes of one worker with its history, and of the drain check."""

from litestar import get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_WORKER, SEE_NODES
from mooring.planning.drain_check import DrainCheck
from mooring.queries.inspection import Inspection
from mooring.queries.worker_detail import WorkerDetail, read_worker


@get(
    "/v1/workers/{namespace:str}/{name:str}",
    access=READ_WORKER,
    tags=["workers"],
    summary="One worker with its history",
)
async def get_worker(inspection: Inspection, namespace: str, name: str) -> WorkerDetail:
    """State and why, health checks, sessions, acts and a timeline, newest first."""
    detail = await read_worker(inspection, namespace, name)
    if detail is None:
        raise inspection.no_worker(namespace, name)
    return detail


@get("/v1/drain-check/{node:str}", access=SEE_NODES, tags=["nodes"], summary="What a drain of a node would do")
async def check_drain(inspection: Inspection, node: str) -> DrainCheck:
    """What would happen to each session and worker if the node were drained now, and how long the drain would take."""
    return await inspection.drain_check(node)


INSPECTION_ROUTES: list[ControllerRouterHandler] = [get_worker, check_drain]
