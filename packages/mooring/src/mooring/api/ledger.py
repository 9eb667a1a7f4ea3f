"""`/v1/ledger`: whether its rows may be used as proofs, and the route that declares them complete."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Request, get, post
from msgspec import Meta

from mooring.api.access.acts import READ_LEDGER, SWITCH_INVARIANT
from mooring.controllers.invariants.commands import InvariantCommands
from mooring.ledger.records import Incarnation
from mooring.model.identity import actor_of


class LedgerReading(msgspec.Struct, frozen=True):
    """The ledger's incarnation. Unless it is armed, no invariant uses a missing row as a proof."""

    incarnation: str
    cause: str  # created, restored, failed_over, went_back
    since: datetime
    armed: bool


class Arming(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The incarnation to arm, and the reason."""

    incarnation: Annotated[str, Meta(min_length=1, max_length=253)]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]


@get("/v1/ledger", access=READ_LEDGER, tags=["ledger"], summary="Incarnation of the ledger")
async def read_ledger(invariant_commands: InvariantCommands) -> LedgerReading:
    """The incarnation of the ledger, why it began, and whether it is armed."""
    return _reading(await invariant_commands.incarnation())


@post(
    "/v1/ledger/arm",
    access=SWITCH_INVARIANT,
    tags=["ledger"],
    summary="Declare the ledger complete",
    status_code=200,
)
async def arm_ledger(
    request: Request[Any, Any, Any], invariant_commands: InvariantCommands, data: Arming
) -> LedgerReading:
    """Let invariants act again, on all replicas. It may be repeated; a past incarnation is refused with 409."""
    return _reading(await invariant_commands.arm(data.incarnation, actor_of(request.user), data.reason))


def _reading(found: Incarnation) -> LedgerReading:
    return LedgerReading(found.id, found.cause.value, found.since, found.armed)
