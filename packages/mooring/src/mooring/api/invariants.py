"""Routes of kill switches: pause and resume an invariant. Both are audited with their reason."""

from typing import Annotated, Any

import msgspec
from litestar import Request, post
from msgspec import Meta

from mooring.api.access.acts import SWITCH_INVARIANT
from mooring.api.bodies import read_json
from mooring.controllers.invariants.commands import InvariantCommands
from mooring.model.identity import actor_of
from mooring.queries.fleet import FleetQueries
from mooring.queries.invariants import InvariantReading


class Flip(msgspec.Struct, frozen=True):
    """The optional body, with a reason."""

    reason: Annotated[str, Meta(max_length=500, pattern=r"^[^\x00]*$")] = ""


async def read_flip(request: Request[Any, Any, Any]) -> Flip:
    """The body, if there is one."""
    body = await request.body()
    return read_json(body, Flip, "{reason} as JSON in UTF-8") if body else Flip()


@post(
    "/v1/invariants/{invariant:str}/pause",
    access=SWITCH_INVARIANT,
    tags=["invariants"],
    summary="Pause an invariant",
    status_code=200,
)
async def pause_invariant(
    request: Request[Any, Any, Any], invariant: str, invariant_commands: InvariantCommands, reading: FleetQueries
) -> InvariantReading:
    """Pause the invariant on all replicas until it is resumed, also over restarts. Optional body: `{reason}`."""
    flip = await read_flip(request)
    await invariant_commands.pause(invariant, actor_of(request.user), flip.reason)
    return reading.invariant(invariant)


@post(
    "/v1/invariants/{invariant:str}/resume",
    access=SWITCH_INVARIANT,
    tags=["invariants"],
    summary="Resume an invariant",
    status_code=200,
)
async def resume_invariant(
    request: Request[Any, Any, Any], invariant: str, invariant_commands: InvariantCommands, reading: FleetQueries
) -> InvariantReading:
    """Resume the invariant. Optional body: `{reason}`."""
    flip = await read_flip(request)
    await invariant_commands.resume(invariant, actor_of(request.user), flip.reason)
    return reading.invariant(invariant)
