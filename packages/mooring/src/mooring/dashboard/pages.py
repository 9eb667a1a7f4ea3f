"""Routes of the pages, and of their `.json` and `.csv` twins."""

from importlib.resources import files
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter
from litestar.response import Stream
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import (
    READ_INVARIANTS,
    SEE_AUDIT,
    SEE_NODES,
    SEE_PAGE,
    SEE_POOLS,
    STATIC,
)
from mooring.api.dependencies import GivenClock
from mooring.api.pages import Pages, constant
from mooring.api.parameters import Before
from mooring.dashboard.actions import ACTIONS
from mooring.dashboard.claim_pages import CLAIM_PAGES
from mooring.dashboard.diagnosis_pages import DIAGNOSIS_PAGES
from mooring.dashboard.failure_page import failure_page
from mooring.dashboard.fleet_views import read_fleet, read_nodes, read_tile, read_workers
from mooring.dashboard.inspection_pages import INSPECTION_PAGES
from mooring.dashboard.live import LiveViews
from mooring.dashboard.live_access import LiveAccess, provide_live_access
from mooring.dashboard.log_pages import LOG_PAGES
from mooring.dashboard.login import LOGIN_PAGES
from mooring.dashboard.navigation import MENU, REPLAYS
from mooring.dashboard.object_pages import OBJECT_PAGES
from mooring.dashboard.order_pages import ORDER_PAGES
from mooring.dashboard.palette import PALETTE_ROUTES
from mooring.dashboard.pool_actions import POOL_ACTIONS
from mooring.dashboard.pool_pages import POOL_PAGES
from mooring.dashboard.reader import prepare_pages, reader_of_request
from mooring.dashboard.replay_pages import REPLAY_PAGES, Replays
from mooring.dashboard.responses import GivenReadings, page_response, twin_response
from mooring.dashboard.runbook_pages import RUNBOOK_PAGES
from mooring.dashboard.service_order_pages import SERVICE_ORDER_PAGES
from mooring.dashboard.service_pages import SERVICE_PAGES
from mooring.dashboard.submission_pages import SUBMISSION_PAGES
from mooring.dashboard.usage_pages import USAGE_PAGES
from mooring.dashboard.views import (
    Selection,
    read_claims_page,
    read_invariants,
    read_trail,
)
from mooring.dashboard.warmup_pages import WARMUP_PAGES
from mooring.model.errors import NotFound
from mooring.queries.audit import AuditReading
from mooring.queries.claims import ClaimReading
from mooring.queries.fleet import FleetQueries, PoolReading, WorkerReading
from mooring.queries.invariants import InvariantReading
from mooring.queries.nodes import NodeReading
from mooring.queries.visibility import Visibility

_STATIC_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def filters_from_query(
    pool: str = "",
    node: str = "",
    state_filter: Annotated[str, QueryParameter(name="state")] = "",
    q: str = "",
    outcome: str = "",
    verdict: str = "",
) -> Selection:
    """The filters of the page, from its URL."""
    return Selection(pool=pool, node=node, state=state_filter, q=q, outcome=outcome, verdict=verdict)


def shown_from_query(
    view: str = "map",
    colour: str = "",
    tab: str = "",
    range_shown: Annotated[str, QueryParameter(name="range")] = "",
    act: str = "",
) -> Selection:
    """The options of the view, read from the URL of the page."""
    return Selection(view=view, colour=colour, tab=tab, range=range_shown, act=act)


def selection_from_query(filters: Selection, shown: Selection, before: Before = None, subject: str = "") -> Selection:
    """The whole state of the page, from its URL."""
    return msgspec.structs.replace(
        filters,
        view=shown.view,
        colour=shown.colour,
        tab=shown.tab,
        range=shown.range,
        act=shown.act,
        before=before,
        subject=subject,
    )


@get("/", access=SEE_NODES, page="fleet", include_in_schema=False)
async def fleet_page(
    all_readings: GivenReadings, visibility: Visibility, selection: Selection, clock: GivenClock
) -> Response[str]:
    """The fleet map, or its table."""
    page = await read_fleet(all_readings.within(visibility), selection, clock.now())
    return page_response("fleet.html", page=page, selection=selection, here="fleet")


@get("/audit", access=SEE_AUDIT, page="audit", include_in_schema=False)
async def audit_page(reading: FleetQueries, selection: Selection) -> Response[str]:
    """The audit trail."""
    return page_response("audit.html", page=await read_trail(reading, selection), selection=selection, here="audit")


@get("/claims", access=SEE_POOLS, page="claims", include_in_schema=False)
async def claims_page(reading: FleetQueries, selection: Selection) -> Response[str]:
    """Waiting and live claims."""
    page = await read_claims_page(reading, selection)
    return page_response("claims.html", page=page, selection=selection, here="claims")


@get("/invariants", access=READ_INVARIANTS, page="invariants", include_in_schema=False, sync_to_thread=False)
def invariants_page(reading: FleetQueries, selection: Selection) -> Response[str]:
    """The invariants, whether they hold, and their kill switches."""
    rules = read_invariants(reading, selection)
    return page_response("invariants.html", rules=rules, rest=reading.rest, selection=selection, here="invariants")


@get(["/invariants.json", "/invariants.csv"], access=READ_INVARIANTS, include_in_schema=False, sync_to_thread=False)
def invariants_twin(reading: FleetQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the invariants page."""
    return twin_response(request, InvariantReading, read_invariants(reading, selection))


@get(["/claims.json", "/claims.csv"], access=SEE_POOLS, include_in_schema=False)
async def claims_twin(reading: FleetQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the claims page."""
    return twin_response(request, ClaimReading, (await read_claims_page(reading, selection)).claims.items)


@get("/stream", access=SEE_PAGE, include_in_schema=False)
async def stream_page(
    request: Request[Any, Any, Any],
    live: LiveViews,
    live_access: LiveAccess,
    selection: Selection,
    page: str = "fleet",
) -> Stream:
    """The changes of a page, as server-sent events."""
    view = await live_access.require(request.user, page, selection)
    messages = live.watch(view, live_access.recheck(request, view))
    return Stream(messages, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@get("/cells.json", access=SEE_NODES, include_in_schema=False)
async def node_cells(reading: FleetQueries, selection: Selection) -> Response[list[dict[str, Any]]]:
    """The workers of one tile in the order of its cells, for the tooltip."""
    workers = await read_tile(reading, selection)
    return Response([msgspec.to_builtins(worker) for worker in workers], headers={"Cache-Control": "no-store"})


@get(["/workers.json", "/workers.csv"], access=SEE_NODES, include_in_schema=False)
async def workers_twin(reading: FleetQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the fleet page."""
    return twin_response(request, WorkerReading, await read_workers(reading, selection))


@get(["/pools.json", "/pools.csv"], access=SEE_POOLS, include_in_schema=False, sync_to_thread=False)
def pools_twin(reading: FleetQueries, request: Request[Any, Any, Any]) -> Response[Any]:
    """The pools of the fleet page, which has all of them with any filter."""
    return twin_response(request, PoolReading, reading.pools())


@get(["/nodes.json", "/nodes.csv"], access=SEE_NODES, include_in_schema=False)
async def nodes_twin(reading: FleetQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The nodes of the fleet page."""
    return twin_response(request, NodeReading, await read_nodes(reading, selection))


@get(["/audit.json", "/audit.csv"], access=SEE_AUDIT, include_in_schema=False)
async def audit_twin(reading: FleetQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the audit page."""
    return twin_response(request, AuditReading, (await read_trail(reading, selection)).items)


@get("/static/{path:path}", access=STATIC, include_in_schema=False, sync_to_thread=False)
def static_file(path: str) -> Response[bytes]:
    """The style sheet, the scripts, the icon."""
    name = path.lstrip("/")
    suffix = name[name.rfind(".") :]
    folder = files("mooring.dashboard") / "static"
    if suffix not in _STATIC_TYPES or ".." in name.split("/"):
        raise NotFound(f"there is no file {name!r}")
    resource = folder.joinpath(*name.split("/"))
    if not resource.is_file():
        raise NotFound(f"there is no file {name!r}")
    return Response(resource.read_bytes(), media_type=_STATIC_TYPES[suffix], headers={"Cache-Control": "max-age=300"})


PAGES: list[ControllerRouterHandler] = [
    fleet_page,
    audit_page,
    claims_page,
    claims_twin,
    invariants_page,
    invariants_twin,
    stream_page,
    node_cells,
    workers_twin,
    pools_twin,
    nodes_twin,
    audit_twin,
    *LOGIN_PAGES,
    static_file,
    *DIAGNOSIS_PAGES,
    *RUNBOOK_PAGES,
    *USAGE_PAGES,
    *SERVICE_PAGES,
    *SERVICE_ORDER_PAGES,
    *WARMUP_PAGES,
    *SUBMISSION_PAGES,
    *INSPECTION_PAGES,
    *POOL_PAGES,
    *CLAIM_PAGES,
    *OBJECT_PAGES,
    *LOG_PAGES,
    *ACTIONS,
    *POOL_ACTIONS,
    *ORDER_PAGES,
    *PALETTE_ROUTES,
]


def build_pages(live: LiveViews, replays: Replays | None = None) -> Pages:
    """All pages, for the application to serve; those of replays where there are recordings."""
    dependencies = {
        "live": constant(live),
        "all_readings": constant(live.readings),
        "reader": Provide(reader_of_request),
        "shown": Provide(shown_from_query, sync_to_thread=False),
        "live_access": Provide(provide_live_access, use_cache=True),
        "filters": Provide(filters_from_query, sync_to_thread=False),
        "selection": Provide(selection_from_query, sync_to_thread=False),
    }
    if replays is None:
        return Pages(PAGES, dependencies, failure_page, prepare_pages(live.readings, MENU))
    prepare = prepare_pages(live.readings, (*MENU, REPLAYS))
    return Pages([*PAGES, *REPLAY_PAGES], {**dependencies, "replays": constant(replays)}, failure_page, prepare)
