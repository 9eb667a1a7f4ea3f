"""Routes of kill switches: pause and resume an invariant. Both are audited with their reason."""

from typing import Annotated, Any

import msgspec
from litestar import Request, post
from msgspec import Meta

from mooring.api.bodies import read_json
from mooring.api.parameters import ActorInBody
from mooring.controllers.invariants.commands import InvariantCommands
from mooring.queries.fleet import FleetQueries
from mooring.queries.invariants import InvariantReading


class Flip(msgspec.Struct, frozen=True):
    """The optional body: who changes the switch, and why."""

    reason: Annotated[str, Meta(max_length=500)] = ""
    actor: ActorInBody = "api"


async def read_flip(request: Request[Any, Any, Any]) -> Flip:
    """The body, if there is one."""
    body = await request.body()
    return read_json(body, Flip, "{reason, actor} as JSON in UTF-8") if body else Flip()


@post("/v1/invariants/{rule:str}/pause", tags=["invariants"], summary="Pause an invariant", status_code=200)
async def pause_invariant(
    request: Request[Any, Any, Any], rule: str, invariant_commands: InvariantCommands, reading: FleetQueries
) -> InvariantReading:
    """Pause the invariant on all replicas until it is resumed, also over restarts. Optional body: `{reason, actor}`."""
    flip = await read_flip(request)
    await invariant_commands.pause(rule, flip.actor, flip.reason)
    return reading.invariant(rule)


@post("/v1/invariants/{rule:str}/resume", tags=["invariants"], summary="Resume an invariant", status_code=200)
async def resume_invariant(
    request: Request[Any, Any, Any], rule: str, invariant_commands: InvariantCommands, reading: FleetQueries
) -> InvariantReading:
    """Resume the invariant. Optional body: `{reason, actor}`."""
    flip = await read_flip(request)
    await invariant_commands.resume(rule, flip.actor, flip.reason)
    return reading.invariant(rule)
