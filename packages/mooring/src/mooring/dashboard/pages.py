"""Routes of the pages, and of their `.json` and `.csv` twins."""

from importlib.resources import files
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post
from litestar.di import Provide
from litestar.enums import RequestEncodingType
from litestar.params import Body, QueryParameter
from litestar.response import Redirect, Stream
from litestar.types import ControllerRouterHandler

from mooring.api.auth import COOKIE, Access
from mooring.api.pages import Pages, constant
from mooring.api.parameters import Before
from mooring.dashboard.actions import ACTIONS
from mooring.dashboard.diagnosis_pages import DIAGNOSIS_PAGES
from mooring.dashboard.failure_page import failure_page
from mooring.dashboard.inspection_pages import INSPECTION_PAGES
from mooring.dashboard.live import LiveViews
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.service_order_pages import SERVICE_ORDER_PAGES
from mooring.dashboard.service_pages import SERVICE_PAGES
from mooring.dashboard.submission_pages import SUBMISSION_PAGES
from mooring.dashboard.views import (
    Selection,
    read_claims_page,
    read_fleet,
    read_invariants,
    read_nodes,
    read_tile,
    read_trail,
)
from mooring.dashboard.warmup_pages import WARMUP_PAGES
from mooring.model.errors import NotFound
from mooring.queries.audit import AuditReading
from mooring.queries.claims import ClaimReading
from mooring.queries.fleet import FleetQueries, NodeReading, PoolReading, WorkerReading
from mooring.queries.invariants import InvariantReading

_STATIC_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def filters_from_query(
    pool: str = "",
    node: str = "",
    state_filter: Annotated[str, QueryParameter(name="state")] = "",
    q: str = "",
    outcome: str = "",
) -> Selection:
    """The filters of the page, from its URL."""
    return Selection(pool=pool, node=node, state=state_filter, q=q, outcome=outcome)


def selection_from_query(filters: Selection, view: str = "map", before: Before = None, subject: str = "") -> Selection:
    """The whole state of the page, from its URL."""
    return msgspec.structs.replace(filters, view=view, before=before, subject=subject)


@get("/", include_in_schema=False)
async def fleet_page(reading: FleetQueries, selection: Selection) -> Response[str]:
    """The fleet map, or its table."""
    return page_response("fleet.html", page=await read_fleet(reading, selection), selection=selection, here="fleet")


@get("/audit", include_in_schema=False)
async def audit_page(reading: FleetQueries, selection: Selection) -> Response[str]:
    """The audit trail."""
    return page_response("audit.html", page=await read_trail(reading, selection), selection=selection, here="audit")


@get("/claims", include_in_schema=False)
async def claims_page(reading: FleetQueries, selection: Selection) -> Response[str]:
    """Waiting and live claims."""
    page = await read_claims_page(reading, selection)
    return page_response("claims.html", page=page, selection=selection, here="claims")


@get("/invariants", include_in_schema=False, sync_to_thread=False)
def invariants_page(reading: FleetQueries, selection: Selection) -> Response[str]:
    """The invariants, whether they hold, and their kill switches."""
    return page_response(
        "invariants.html", rules=read_invariants(reading), rest=reading.rest, selection=selection, here="invariants"
    )


@get(["/invariants.json", "/invariants.csv"], include_in_schema=False, sync_to_thread=False)
def invariants_twin(reading: FleetQueries, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the invariants page."""
    return twin_response(request, InvariantReading, read_invariants(reading))


@get(["/claims.json", "/claims.csv"], include_in_schema=False)
async def claims_twin(reading: FleetQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the claims page."""
    return twin_response(request, ClaimReading, (await read_claims_page(reading, selection)).claims.items)


@get("/stream", include_in_schema=False)
async def stream_page(live: LiveViews, selection: Selection, page: str = "fleet") -> Stream:
    """The changes of a page, as server-sent events."""
    return Stream(live.watch(page, selection), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@get("/cells.json", include_in_schema=False)
async def node_cells(reading: FleetQueries, selection: Selection) -> Response[list[dict[str, Any]]]:
    """The workers of one tile in the order of its cells, for the tooltip."""
    workers = await read_tile(reading, selection)
    return Response([msgspec.to_builtins(worker) for worker in workers], headers={"Cache-Control": "no-store"})


@get(["/workers.json", "/workers.csv"], include_in_schema=False)
async def workers_twin(reading: FleetQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the fleet page."""
    return twin_response(request, WorkerReading, (await read_fleet(reading, selection)).workers)


@get(["/pools.json", "/pools.csv"], include_in_schema=False, sync_to_thread=False)
def pools_twin(reading: FleetQueries, request: Request[Any, Any, Any]) -> Response[Any]:
    """The pools of the fleet page, which has all of them with any filter."""
    return twin_response(request, PoolReading, reading.pools())


@get(["/nodes.json", "/nodes.csv"], include_in_schema=False)
async def nodes_twin(reading: FleetQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The nodes of the fleet page."""
    return twin_response(request, NodeReading, await read_nodes(reading, selection))


@get(["/audit.json", "/audit.csv"], include_in_schema=False)
async def audit_twin(reading: FleetQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the audit page."""
    return twin_response(request, AuditReading, (await read_trail(reading, selection)).items)


class Login(msgspec.Struct):
    """The login form."""

    token: str = ""


@get("/login", include_in_schema=False, sync_to_thread=False)
def login_page(access: Access, token: str = "") -> Response[Any]:
    """The form; a link with the correct token logs in at once."""
    if token and access.matches(token):
        return _logged_in(token)
    return _login_form(wrong=bool(token))


@post("/login", include_in_schema=False, sync_to_thread=False)
def login(access: Access, data: Annotated[Login, Body(media_type=RequestEncodingType.URL_ENCODED)]) -> Response[Any]:
    """Check the token and store it in a cookie that scripts cannot read."""
    if access.matches(data.token):
        return _logged_in(data.token)
    return _login_form(wrong=True)


def _login_form(*, wrong: bool) -> Response[str]:
    status = 401 if wrong else 200
    return page_response("login.html", status=status, wrong=wrong, selection=Selection(), here="login")


def _logged_in(token: str) -> Response[Any]:
    response: Response[Any] = Redirect("/", status_code=303)
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", path="/")
    return response


@get("/static/{path:path}", include_in_schema=False, sync_to_thread=False)
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


def build_pages(live: LiveViews) -> Pages:
    """All pages, for the application to serve."""
    handlers: list[ControllerRouterHandler] = [
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
        login_page,
        login,
        static_file,
    ]
    handlers += [
        *DIAGNOSIS_PAGES,
        *SERVICE_PAGES,
        *SERVICE_ORDER_PAGES,
        *WARMUP_PAGES,
        *SUBMISSION_PAGES,
        *INSPECTION_PAGES,
        *ACTIONS,
    ]
    dependencies = {
        "live": constant(live),
        "filters": Provide(filters_from_query, sync_to_thread=False),
        "selection": Provide(selection_from_query, sync_to_thread=False),
    }
    return Pages(handlers, dependencies, failure_page)
