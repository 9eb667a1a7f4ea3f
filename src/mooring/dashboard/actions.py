"""What can be done from a page: release a claim, flip a switch. Wants the login cookie and one of our own pages."""

from typing import Annotated

import msgspec
from litestar import post
from litestar.enums import RequestEncodingType
from litestar.params import Body
from litestar.response import Redirect
from msgspec import Meta

from mooring.api.given import ClaimDesk
from mooring.api.switchboard import Switchboard

ACTOR = "dashboard"


class Reason(msgspec.Struct):
    """The form."""

    reason: Annotated[str, Meta(max_length=500)] = ""


Form = Annotated[Reason, Body(media_type=RequestEncodingType.URL_ENCODED)]


@post("/actions/claims/{claim_id:str}/release", include_in_schema=False)
async def release(claim_id: str, desk: ClaimDesk, data: Form) -> Redirect:
    """Take a worker back from its holder."""
    await desk.revoke(claim_id, actor=ACTOR, reason=data.reason)
    return Redirect("/claims", status_code=303)


@post("/actions/invariants/{rule:str}/pause", include_in_schema=False)
async def pause(rule: str, switchboard: Switchboard, data: Form) -> Redirect:
    """Stop a rule from acting."""
    await switchboard.pause(rule, ACTOR, data.reason)
    return Redirect("/invariants", status_code=303)


@post("/actions/invariants/{rule:str}/resume", include_in_schema=False)
async def resume(rule: str, switchboard: Switchboard, data: Form) -> Redirect:
    """Let a rule act again."""
    await switchboard.resume(rule, ACTOR, data.reason)
    return Redirect("/invariants", status_code=303)


ACTIONS = [release, pause, resume]
