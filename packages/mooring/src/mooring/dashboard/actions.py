"""Actions of pages.

Release a claim, retire a worker, pause or resume an invariant. They need a session and a same-origin request.
"""

from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from litestar import Request, post
from litestar.enums import RequestEncodingType
from litestar.params import Body
from litestar.response import Redirect
from msgspec import Meta

from mooring.api.access.acts import RELEASE_CLAIM, RETIRE, SWITCH_INVARIANT
from mooring.api.access.claims import ClaimAccess
from mooring.dashboard.commands import ClaimCommands, InvariantCommands, RetirementCommands
from mooring.model.identity import actor_of

AnyRequest = Request[Any, Any, Any]


class Reason(msgspec.Struct):
    """The form."""

    reason: Annotated[str, Meta(max_length=500)] = ""


Form = Annotated[Reason, Body(media_type=RequestEncodingType.URL_ENCODED)]


@post("/actions/claims/{claim_id:str}/release", access=RELEASE_CLAIM, include_in_schema=False)
async def release(
    request: AnyRequest, claim_id: str, desk: ClaimCommands, claim_access: ClaimAccess, data: Form
) -> Redirect:
    """Take the worker back from the claim's holder."""
    claim = await claim_access.find_to_end(request.user, claim_id)
    await desk.revoke(claim.id, actor=actor_of(request.user), reason=data.reason)
    return Redirect("/claims", status_code=303)


@post("/actions/workers/{namespace:str}/{name:str}/retire", access=RETIRE, include_in_schema=False)
async def retire(
    request: AnyRequest, namespace: str, name: str, retirement: RetirementCommands, data: Form
) -> Redirect:
    """Delete a worker that no live claim holds, and have it replaced."""
    reason = data.reason or "retired on its page"
    await retirement.retire(namespace, name, actor=actor_of(request.user), reason=reason)
    return Redirect(f"/audit?subject={quote(f'{namespace}/{name}', safe='')}", status_code=303)


@post("/actions/invariants/{rule:str}/pause", access=SWITCH_INVARIANT, include_in_schema=False)
async def pause(request: AnyRequest, rule: str, invariant_commands: InvariantCommands, data: Form) -> Redirect:
    """Pause an invariant."""
    await invariant_commands.pause(rule, actor_of(request.user), data.reason)
    return Redirect("/invariants", status_code=303)


@post("/actions/invariants/{rule:str}/resume", access=SWITCH_INVARIANT, include_in_schema=False)
async def resume(request: AnyRequest, rule: str, invariant_commands: InvariantCommands, data: Form) -> Redirect:
    """Resume an invariant."""
    await invariant_commands.resume(rule, actor_of(request.user), data.reason)
    return Redirect("/invariants", status_code=303)


ACTIONS = [release, retire, pause, resume]
