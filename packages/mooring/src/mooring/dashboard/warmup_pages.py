"""Routes of the warmups page and its actions."""

from typing import Any

from litestar import Response, get, post
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import CHANGE_WARMUP, SEE_WARMUPS
from mooring.dashboard.actions import AnyRequest, Form
from mooring.dashboard.commands import WarmupCommands
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.views import Selection
from mooring.dashboard.warmup_views import PHASES, read_warmups
from mooring.model.identity import actor_of
from mooring.queries.warmups import WarmupQueries, WarmupReading


@get("/warmups", access=SEE_WARMUPS, include_in_schema=False, sync_to_thread=False)
def warmups_page(warmups: WarmupQueries, selection: Selection) -> Response[str]:
    """The datasets with the state of each shard."""
    page = read_warmups(warmups, selection)
    return page_response("warmups.html", page=page, phases=PHASES, selection=selection, here="warmups")


@get(["/warmups.json", "/warmups.csv"], access=SEE_WARMUPS, include_in_schema=False, sync_to_thread=False)
def warmups_twin(warmups: WarmupQueries, selection: Selection, request: AnyRequest) -> Response[Any]:
    """The rows of the page."""
    return twin_response(request, WarmupReading, read_warmups(warmups, selection).warmups)


@post("/actions/warmups/{namespace:str}/{name:str}/rewarm", access=CHANGE_WARMUP, include_in_schema=False)
async def rewarm(
    request: AnyRequest, namespace: str, name: str, warmup_commands: WarmupCommands, data: Form
) -> Redirect:
    """Force a re-warm."""
    reason = data.reason or "asked for on the dashboard"
    await warmup_commands.rewarm(namespace, name, actor=actor_of(request.user), reason=reason)
    return Redirect("/warmups", status_code=303)


@post("/actions/warmups/{namespace:str}/{name:str}/close-circuit", access=CHANGE_WARMUP, include_in_schema=False)
async def close_circuit(
    request: AnyRequest, namespace: str, name: str, warmup_commands: WarmupCommands, data: Form
) -> Redirect:
    """Close the circuit breaker."""
    reason = data.reason or "asked for on the dashboard"
    await warmup_commands.close_circuit(namespace, name, actor=actor_of(request.user), reason=reason)
    return Redirect("/warmups", status_code=303)


WARMUP_PAGES: list[ControllerRouterHandler] = [warmups_page, warmups_twin, rewarm, close_circuit]
