"""Actions of pages: each is a question first (GET), then an act (POST) that ends on the page of its object.

They need a session and a same-origin request. What an act would do is said in the words of a dry run.
"""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post
from litestar.enums import RequestEncodingType
from litestar.params import Body
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler
from msgspec import Meta

from mooring.api.access.acts import RELEASE_CLAIM, RETIRE, SWITCH_INVARIANT
from mooring.api.access.claims import ClaimAccess
from mooring.api.dependencies import GivenClock
from mooring.dashboard.commands import ClaimCommands, InvariantCommands, RetirementCommands
from mooring.dashboard.dialogs import Dialog, release_dialog, retire_dialog, switch_dialog
from mooring.dashboard.responses import PageResponse
from mooring.dashboard.toasts import done
from mooring.ledger.records import AuditFilter
from mooring.model.errors import NotFound
from mooring.model.identity import actor_of
from mooring.queries.fleet import FleetQueries
from mooring.queries.invariants import InvariantReading

AnyRequest = Request[Any, Any, Any]
NO_REASON = "asked for on the dashboard"


class Reason(msgspec.Struct):
    """The form."""

    reason: Annotated[str, Meta(max_length=500)] = ""


Form = Annotated[Reason, Body(media_type=RequestEncodingType.URL_ENCODED)]


def ask(request: AnyRequest, dialog: Dialog) -> Response[str]:
    """The question as a part of an open page, or as a page."""
    template = "_dialog.html" if request.headers.get("HX-Request") else "dialog.html"
    return PageResponse(template, 200, {"dialog": dialog, "here": "dialog"})


@get("/actions/claims/{claim_id:str}/release", page="dialog", access=RELEASE_CLAIM, include_in_schema=False)
async def ask_release(
    request: AnyRequest, claim_id: str, claim_access: ClaimAccess, clock: GivenClock
) -> Response[str]:
    """What a release takes from whom."""
    claim = await claim_access.find_to_end(request.user, claim_id)
    return ask(request, release_dialog(claim, clock.now()))


@post("/actions/claims/{claim_id:str}/release", access=RELEASE_CLAIM, include_in_schema=False)
async def release(
    request: AnyRequest,
    claim_id: str,
    desk: ClaimCommands,
    claim_access: ClaimAccess,
    reading: FleetQueries,
    clock: GivenClock,
    data: Form,
) -> Redirect:
    """Take the worker back from the claim's holder."""
    claim = await claim_access.find_to_end(request.user, claim_id)
    await desk.revoke(claim.id, actor=actor_of(request.user), reason=data.reason)
    which = AuditFilter(kind="Claim", namespace=claim.namespace, name=claim.id)
    return await done(reading, f"/claims/{claim.id}", which, clock.now())


@get("/actions/workers/{namespace:str}/{name:str}/retire", page="dialog", access=RETIRE, include_in_schema=False)
async def ask_retire(request: AnyRequest, namespace: str, name: str, reading: FleetQueries) -> Response[str]:
    """What a retirement deletes."""
    worker = await reading.worker(namespace, name)
    if worker is None:
        raise NotFound(f"there is no worker {namespace}/{name}", fix="mooring workers")
    return ask(request, retire_dialog(worker))


@post("/actions/workers/{namespace:str}/{name:str}/retire", access=RETIRE, include_in_schema=False)
async def retire(
    request: AnyRequest,
    namespace: str,
    name: str,
    retirement: RetirementCommands,
    reading: FleetQueries,
    clock: GivenClock,
    data: Form,
) -> Redirect:
    """Delete a worker that no live claim holds, and have it replaced."""
    reason = data.reason or "retired on its page"
    worker = await retirement.retire(namespace, name, actor=actor_of(request.user), reason=reason)
    which = AuditFilter(kind="Pod", namespace=namespace, name=name, action="retire")
    return await done(reading, f"/pools/{namespace}/{worker.pool}", which, clock.now())


def _find_invariant(reading: FleetQueries, invariant: str) -> InvariantReading:
    found = next((one for one in reading.invariants() if one.id == invariant), None)
    if found is None:
        raise NotFound(f"there is no invariant {invariant!r}", fix="mooring invariants")
    return found


@get("/actions/invariants/{invariant:str}/pause", page="dialog", access=SWITCH_INVARIANT, include_in_schema=False)
async def ask_pause(request: AnyRequest, invariant: str, reading: FleetQueries) -> Response[str]:
    """What is not done while it is paused."""
    return ask(request, switch_dialog(_find_invariant(reading, invariant), "pause"))


@get("/actions/invariants/{invariant:str}/resume", page="dialog", access=SWITCH_INVARIANT, include_in_schema=False)
async def ask_resume(request: AnyRequest, invariant: str, reading: FleetQueries) -> Response[str]:
    """What it does again."""
    return ask(request, switch_dialog(_find_invariant(reading, invariant), "resume"))


@post("/actions/invariants/{invariant:str}/pause", access=SWITCH_INVARIANT, include_in_schema=False)
async def pause(
    request: AnyRequest,
    invariant: str,
    invariant_commands: InvariantCommands,
    reading: FleetQueries,
    clock: GivenClock,
    data: Form,
) -> Redirect:
    """Pause an invariant."""
    await invariant_commands.pause(invariant, actor_of(request.user), data.reason)
    return await done(reading, "/invariants", AuditFilter(name=invariant), clock.now())


@post("/actions/invariants/{invariant:str}/resume", access=SWITCH_INVARIANT, include_in_schema=False)
async def resume(
    request: AnyRequest,
    invariant: str,
    invariant_commands: InvariantCommands,
    reading: FleetQueries,
    clock: GivenClock,
    data: Form,
) -> Redirect:
    """Resume an invariant."""
    await invariant_commands.resume(invariant, actor_of(request.user), data.reason)
    return await done(reading, "/invariants", AuditFilter(name=invariant), clock.now())


ACTIONS: list[ControllerRouterHandler] = [
    ask_release,
    release,
    ask_retire,
    retire,
    ask_pause,
    ask_resume,
    pause,
    resume,
]
