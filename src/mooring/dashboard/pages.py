"""The routes of the pages, and of their `.json` and `.csv` twins."""

import csv
import io
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated, Any

import msgspec
from litestar import MediaType, Request, Response, get, post
from litestar.di import Provide
from litestar.enums import RequestEncodingType
from litestar.params import Body, QueryParameter
from litestar.response import Redirect, Stream
from litestar.types import ControllerRouterHandler

from mooring.api.auth import COOKIE, Access
from mooring.api.bounds import Before
from mooring.api.document import describe_api
from mooring.api.readmodels import AuditReading, ClaimReading, ReadSide, WorkerReading
from mooring.api.server import Pages, constant
from mooring.dashboard.actions import ACTIONS
from mooring.dashboard.live import LiveViews
from mooring.dashboard.views import (
    Selection,
    read_claims_page,
    read_fleet,
    read_invariants,
    read_tile,
    read_trail,
    render,
)
from mooring.model.errors import NotFound

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CSP,
    "Referrer-Policy": "same-origin",  # with no-referrer our own forms would come from Origin "null"
    "Cache-Control": "no-store",
}
_STATIC_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_CSV_CELLS = {"=", "+", "-", "@", "\t", "\r"}  # a spreadsheet would run these as formulas


def page_response(template: str, *, status: int = 200, **values: object) -> Response[str]:
    """A whole page with its security headers."""
    return Response(render(template, **values), status_code=status, media_type=MediaType.HTML, headers=_HEADERS)


def selection_from_query(
    pool: str = "",
    node: str = "",
    state_filter: Annotated[str, QueryParameter(name="state")] = "",
    q: str = "",
    view: str = "map",
    outcome: str = "",
    before: Before = None,
) -> Selection:
    """The state of the page, from its URL."""
    return Selection(pool, node, state_filter, q, view, outcome, before)


@get("/", include_in_schema=False)
async def fleet_page(reading: ReadSide, selection: Selection) -> Response[str]:
    """The fleet map, or its table."""
    return page_response("fleet.html", page=await read_fleet(reading, selection), selection=selection, here="fleet")


@get("/audit", include_in_schema=False)
async def audit_page(reading: ReadSide, selection: Selection) -> Response[str]:
    """The audit trail."""
    return page_response("audit.html", page=await read_trail(reading, selection), selection=selection, here="audit")


@get("/claims", include_in_schema=False)
async def claims_page(reading: ReadSide, selection: Selection) -> Response[str]:
    """Who waits, who holds, since when."""
    page = await read_claims_page(reading, selection)
    return page_response("claims.html", page=page, selection=selection, here="claims")


@get("/invariants", include_in_schema=False, sync_to_thread=False)
def invariants_page(reading: ReadSide, selection: Selection) -> Response[str]:
    """The rules, whether they hold, and their switches."""
    return page_response("invariants.html", rules=read_invariants(reading), selection=selection, here="invariants")


@get(["/claims.json", "/claims.csv"], include_in_schema=False)
async def claims_twin(reading: ReadSide, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the claims page."""
    return _twin(request, ClaimReading, (await read_claims_page(reading, selection)).claims.items)


@get("/docs", include_in_schema=False, sync_to_thread=False)
def docs_page(request: Request[Any, Any, Any]) -> Response[str]:
    """Mooring's own API, from its own OpenAPI document."""
    return page_response("docs.html", document=describe_api(request.app), selection=Selection(), here="docs")


@get("/stream", include_in_schema=False)
async def stream_page(live: LiveViews, selection: Selection, page: str = "fleet") -> Stream:
    """What changes on a page, as server-sent events."""
    return Stream(live.watch(page, selection), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@get("/cells.json", include_in_schema=False)
async def node_cells(reading: ReadSide, selection: Selection) -> Response[list[dict[str, Any]]]:
    """The workers of one tile in the order of its cells, for the tooltip."""
    workers = await read_tile(reading, selection)
    return Response([msgspec.to_builtins(worker) for worker in workers], headers={"Cache-Control": "no-store"})


@get(["/workers.json", "/workers.csv"], include_in_schema=False)
async def workers_twin(reading: ReadSide, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the fleet page."""
    return _twin(request, WorkerReading, (await read_fleet(reading, selection)).workers)


@get(["/audit.json", "/audit.csv"], include_in_schema=False)
async def audit_twin(reading: ReadSide, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the audit page."""
    return _twin(request, AuditReading, (await read_trail(reading, selection)).items)


def _twin(
    request: Request[Any, Any, Any], kind: type[msgspec.Struct], items: Sequence[msgspec.Struct]
) -> Response[Any]:
    rows = [msgspec.to_builtins(item) for item in items]
    if request.url.path.endswith(".json"):
        return Response({"items": rows})
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=[field.encode_name for field in msgspec.structs.fields(kind)])
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return Response(text.getvalue(), media_type="text/csv")


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()
    return f"'{text}" if text[:1] in _CSV_CELLS else text


class Login(msgspec.Struct):
    """The login form."""

    token: str = ""


@get("/login", include_in_schema=False, sync_to_thread=False)
def login_page(access: Access, token: str = "") -> Response[Any]:
    """The form; a link with the right token logs in at once."""
    if token and access.matches(token):
        return _logged_in(token)
    return _login_form(wrong=bool(token))


@post("/login", include_in_schema=False, sync_to_thread=False)
def login(access: Access, data: Annotated[Login, Body(media_type=RequestEncodingType.URL_ENCODED)]) -> Response[Any]:
    """Check the token and keep it in a cookie that scripts cannot read."""
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
        docs_page,
        stream_page,
        node_cells,
        workers_twin,
        audit_twin,
        login_page,
        login,
        static_file,
    ]
    handlers += ACTIONS
    return Pages(handlers, {"live": constant(live), "selection": Provide(selection_from_query, sync_to_thread=False)})
