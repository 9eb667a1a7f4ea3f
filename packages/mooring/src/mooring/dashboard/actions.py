"""Actions of pages.

Release a claim, retire a worker, pause or resume an invariant. They need the login cookie and a same-origin request.
"""

from typing import Annotated
from urllib.parse import quote

import msgspec
from litestar import post
from litestar.enums import RequestEncodingType
from litestar.params import Body
from litestar.response import Redirect
from msgspec import Meta

from mooring.dashboard.commands import ClaimCommands, InvariantCommands, RetirementCommands

ACTOR = "dashboard"


class Reason(msgspec.Struct):
    """The form."""

    reason: Annotated[str, Meta(max_length=500)] = ""


Form = Annotated[Reason, Body(media_type=RequestEncodingType.URL_ENCODED)]


@post("/actions/claims/{claim_id:str}/release", include_in_schema=False)
async def release(claim_id: str, desk: ClaimCommands, data: Form) -> Redirect:
    """Release a claim as an operator."""
    await desk.revoke(claim_id, actor=ACTOR, reason=data.reason)
    return Redirect("/claims", status_code=303)


@post("/actions/workers/{namespace:str}/{name:str}/retire", include_in_schema=False)
async def retire(namespace: str, name: str, retirement: RetirementCommands, data: Form) -> Redirect:
    """Delete a worker that no live claim holds, and have it replaced."""
    await retirement.retire(namespace, name, actor=ACTOR, reason=data.reason or "retired on its page")
    return Redirect(f"/audit?subject={quote(f'{namespace}/{name}', safe='')}", status_code=303)


@post("/actions/invariants/{rule:str}/pause", include_in_schema=False)
async def pause(rule: str, invariant_commands: InvariantCommands, data: Form) -> Redirect:
    """Pause an invariant."""
    await invariant_commands.pause(rule, ACTOR, data.reason)
    return Redirect("/invariants", status_code=303)


@post("/actions/invariants/{rule:str}/resume", include_in_schema=False)
async def resume(rule: str, invariant_commands: InvariantCommands, data: Form) -> Redirect:
    """Resume an invariant."""
    await invariant_commands.resume(rule, ACTOR, data.reason)
    return Redirect("/invariants", status_code=303)


ACTIONS = [release, retire, pause, resume]
