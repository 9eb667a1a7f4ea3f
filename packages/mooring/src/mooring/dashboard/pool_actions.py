"""Actions on a pool: scale it, and claim one of its workers by hand."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.enums import RequestEncodingType
from litestar.params import Body
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler
from msgspec import Meta

from mooring.api.access.acts import CHANGE_POOL, CLAIM
from mooring.api.access.claims import ClaimAccess
from mooring.api.dependencies import GivenClock
from mooring.dashboard.actions import NO_REASON, AnyRequest, ask
from mooring.dashboard.commands import ClaimCommands, PoolCommands
from mooring.dashboard.dialogs import claim_dialog, scale_dialog
from mooring.dashboard.toasts import done
from mooring.ledger.records import AuditFilter
from mooring.model.claim_request import ClaimRequest
from mooring.model.identity import actor_of, holder_of, owner_of
from mooring.model.pool_order import KIND
from mooring.queries.fleet import FleetQueries

_CLAIM_WAIT_SECONDS = 5.0


class ScaleForm(msgspec.Struct):
    """How many idle workers to keep."""

    warm: int
    reason: Annotated[str, Meta(max_length=500)] = ""


class ClaimForm(msgspec.Struct):
    """Whose session it is, and how long the claim lasts without heartbeats."""

    owner: str = ""
    minutes: Annotated[int, Meta(ge=1, le=1440)] = 15
    reason: Annotated[str, Meta(max_length=500)] = ""


@get("/actions/pools/{namespace:str}/{name:str}/scale", page="dialog", access=CHANGE_POOL, include_in_schema=False)
async def ask_scale(request: AnyRequest, namespace: str, name: str, reading: FleetQueries) -> Response[str]:
    """What the floor is now."""
    return ask(request, scale_dialog(reading.pool(namespace, name)))


@post("/actions/pools/{namespace:str}/{name:str}/scale", access=CHANGE_POOL, include_in_schema=False)
async def scale(
    request: AnyRequest,
    namespace: str,
    name: str,
    pool_commands: PoolCommands,
    reading: FleetQueries,
    clock: GivenClock,
    data: Annotated[ScaleForm, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Redirect:
    """Change the floor of the pool."""
    actor, reason = actor_of(request.user), data.reason or NO_REASON
    await pool_commands.scale(namespace, name, data.warm, actor=actor, reason=reason)
    which = AuditFilter(kind=KIND, namespace=namespace, name=name)
    return await done(reading, f"/pools/{namespace}/{name}", which, clock.now())


@get("/actions/pools/{namespace:str}/{name:str}/claim", page="dialog", access=CLAIM, include_in_schema=False)
async def ask_claim(request: AnyRequest, namespace: str, name: str, reading: FleetQueries) -> Response[str]:
    """What a claim takes."""
    return ask(request, claim_dialog(reading.pool(namespace, name), owner_of(request.user)))


@post("/actions/pools/{namespace:str}/{name:str}/claim", access=CLAIM, include_in_schema=False)
async def claim(
    request: AnyRequest,
    namespace: str,
    name: str,
    desk: ClaimCommands,
    claim_access: ClaimAccess,
    data: Annotated[ClaimForm, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Redirect:
    """Claim a worker; the page of the claim says where it is."""
    owner = await claim_access.owner_for(request.user, data.owner, namespace, name)
    wanted = ClaimRequest(owner=owner, ttl_seconds=data.minutes * 60, wait=_CLAIM_WAIT_SECONDS)
    made: Any = await desk.claim_for(f"{namespace}/{name}", wanted, holder_of(request.user))
    return Redirect(f"/claims/{made.id}", status_code=303)


POOL_ACTIONS: list[ControllerRouterHandler] = [ask_scale, scale, ask_claim, claim]
