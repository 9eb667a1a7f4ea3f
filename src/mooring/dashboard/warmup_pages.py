"""The routes of the page of warmups, and what can be asked for there."""

from typing import Any

from litestar import Request, Response, get, post
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler

from mooring.api.readmodels import WarmupReading, WarmupReadSide, WarmupRequests
from mooring.dashboard.actions import ACTOR, Form
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.views import Selection
from mooring.dashboard.warmup_views import PHASES, read_warmups


@get("/warmups", include_in_schema=False, sync_to_thread=False)
def warmups_page(warmups: WarmupReadSide, selection: Selection) -> Response[str]:
    """How warm each dataset is, where, and why not."""
    page = read_warmups(warmups, selection)
    return page_response("warmups.html", page=page, phases=PHASES, selection=selection, here="warmups")


@get(["/warmups.json", "/warmups.csv"], include_in_schema=False, sync_to_thread=False)
def warmups_twin(warmups: WarmupReadSide, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the page."""
    return twin_response(request, WarmupReading, read_warmups(warmups, selection).warmups)


@post("/actions/warmups/{namespace:str}/{name:str}/rewarm", include_in_schema=False)
async def rewarm(namespace: str, name: str, warmup_requests: WarmupRequests, data: Form) -> Redirect:
    """Fetch everything again, once."""
    reason = data.reason or "asked for on the dashboard"
    await warmup_requests.rewarm(namespace, name, actor=ACTOR, reason=reason)
    return Redirect("/warmups", status_code=303)


@post("/actions/warmups/{namespace:str}/{name:str}/close-circuit", include_in_schema=False)
async def close_circuit(namespace: str, name: str, warmup_requests: WarmupRequests, data: Form) -> Redirect:
    """Try again now."""
    reason = data.reason or "asked for on the dashboard"
    await warmup_requests.close_circuit(namespace, name, actor=ACTOR, reason=reason)
    return Redirect("/warmups", status_code=303)


WARMUP_PAGES: list[ControllerRouterHandler] = [warmups_page, warmups_twin, rewarm, close_circuit]
