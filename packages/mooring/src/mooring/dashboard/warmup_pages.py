"""Routes of the warmups page and its actions."""

from typing import Any

from litestar import Response, get, post
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import CHANGE_WARMUP, SEE_WARMUPS
from mooring.api.dependencies import GivenClock
from mooring.dashboard.actions import NO_REASON, AnyRequest, Form, ask
from mooring.dashboard.commands import WarmupCommands
from mooring.dashboard.dialogs import close_circuit_dialog, rewarm_dialog
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.toasts import done
from mooring.dashboard.views import Selection
from mooring.dashboard.warmup_views import PHASES, read_warmups
from mooring.ledger.records import AuditFilter
from mooring.model.identity import actor_of
from mooring.queries.fleet import FleetQueries
from mooring.queries.warmups import WarmupQueries, WarmupReading


@get("/warmups", page="warmups", access=SEE_WARMUPS, include_in_schema=False, sync_to_thread=False)
def warmups_page(warmups: WarmupQueries, selection: Selection) -> Response[str]:
    """The datasets with the state of each shard."""
    page = read_warmups(warmups, selection)
    return page_response("warmups.html", page=page, phases=PHASES, selection=selection, here="warmups")


@get(["/warmups.json", "/warmups.csv"], access=SEE_WARMUPS, include_in_schema=False, sync_to_thread=False)
def warmups_twin(warmups: WarmupQueries, selection: Selection, request: AnyRequest) -> Response[Any]:
    """The rows of the page."""
    return twin_response(request, WarmupReading, read_warmups(warmups, selection).warmups)


@get("/actions/warmups/{namespace:str}/{name:str}/rewarm", page="dialog", access=CHANGE_WARMUP, include_in_schema=False)
async def ask_rewarm(request: AnyRequest, namespace: str, name: str, warmups: WarmupQueries) -> Response[str]:
    """What a re-warm fetches."""
    return ask(request, rewarm_dialog(warmups.warmup(namespace, name)))


@get(
    "/actions/warmups/{namespace:str}/{name:str}/close-circuit",
    page="dialog",
    access=CHANGE_WARMUP,
    include_in_schema=False,
)
async def ask_close_circuit(request: AnyRequest, namespace: str, name: str, warmups: WarmupQueries) -> Response[str]:
    """What is tried again."""
    return ask(request, close_circuit_dialog(warmups.warmup(namespace, name)))


@post("/actions/warmups/{namespace:str}/{name:str}/rewarm", access=CHANGE_WARMUP, include_in_schema=False)
async def rewarm(
    request: AnyRequest,
    namespace: str,
    name: str,
    warmup_commands: WarmupCommands,
    reading: FleetQueries,
    clock: GivenClock,
    data: Form,
) -> Redirect:
    """Force a re-warm."""
    reason = data.reason or NO_REASON
    await warmup_commands.rewarm(namespace, name, actor=actor_of(request.user), reason=reason)
    which = AuditFilter(namespace=namespace, name=name)
    return await done(reading, f"/warmups/{namespace}/{name}", which, clock.now())


@post("/actions/warmups/{namespace:str}/{name:str}/close-circuit", access=CHANGE_WARMUP, include_in_schema=False)
async def close_circuit(
    request: AnyRequest,
    namespace: str,
    name: str,
    warmup_commands: WarmupCommands,
    reading: FleetQueries,
    clock: GivenClock,
    data: Form,
) -> Redirect:
    """Close the circuit breaker."""
    reason = data.reason or NO_REASON
    await warmup_commands.close_circuit(namespace, name, actor=actor_of(request.user), reason=reason)
    which = AuditFilter(namespace=namespace, name=name)
    return await done(reading, f"/warmups/{namespace}/{name}", which, clock.now())


WARMUP_PAGES: list[ControllerRouterHandler] = [
    warmups_page,
    warmups_twin,
    ask_rewarm,
    ask_close_circuit,
    rewarm,
    close_circuit,
]
