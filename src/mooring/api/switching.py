"""The writing routes of `/v1/invariants`: the kill switches. Every flip is audited with its reason."""

from typing import Annotated, Any

import msgspec
from litestar import Request, post
from msgspec import Meta

from mooring.api.bodies import read_json
from mooring.api.bounds import ActorInBody
from mooring.api.readmodels import InvariantReading, ReadSide
from mooring.api.switchboard import Switchboard


class Flip(msgspec.Struct, frozen=True):
    """The optional body: who flips the switch, and why."""

    reason: Annotated[str, Meta(max_length=500)] = ""
    actor: ActorInBody = "api"


async def read_flip(request: Request[Any, Any, Any]) -> Flip:
    """The body, if there is one."""
    body = await request.body()
    return read_json(body, Flip, "{reason, actor} as JSON in UTF-8") if body else Flip()


@post("/v1/invariants/{rule:str}/pause", tags=["invariants"], summary="Stop a rule from acting", status_code=200)
async def pause_invariant(
    request: Request[Any, Any, Any], rule: str, switchboard: Switchboard, reading: ReadSide
) -> InvariantReading:
    """Off for all replicas, over restarts, until resumed. Body, if any: `{reason, actor}`."""
    flip = await read_flip(request)
    await switchboard.pause(rule, flip.actor, flip.reason)
    return reading.invariant(rule)


@post("/v1/invariants/{rule:str}/resume", tags=["invariants"], summary="Let a rule act again", status_code=200)
async def resume_invariant(
    request: Request[Any, Any, Any], rule: str, switchboard: Switchboard, reading: ReadSide
) -> InvariantReading:
    """On again. Body, if any: `{reason, actor}`."""
    flip = await read_flip(request)
    await switchboard.resume(rule, flip.actor, flip.reason)
    return reading.invariant(rule)
