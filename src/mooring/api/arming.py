"""`/v1/ledger`: whether its rows may be taken as proof, and the declaration of a person that they may again."""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import get, post
from msgspec import Meta

from mooring.api.bounds import ActorInBody
from mooring.api.switchboard import Switchboard
from mooring.ledger.records import Incarnation


class LedgerReading(msgspec.Struct, frozen=True):
    """The ledger about itself. Unless it is armed, no rule takes the absence of a row for a proof."""

    incarnation: str
    cause: str  # created, restored, failed_over, went_back
    since: datetime
    armed: bool


class Arming(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which incarnation is complete, as far as who knows, and why he thinks so."""

    incarnation: Annotated[str, Meta(min_length=1, max_length=253)]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    actor: ActorInBody = "api"


@get("/v1/ledger", tags=["ledger"], summary="The ledger's incarnation")
async def read_ledger(switchboard: Switchboard) -> LedgerReading:
    """Which ledger this is, how it came about, and whether it is armed."""
    return _reading(await switchboard.incarnation())


@post("/v1/ledger/arm", tags=["ledger"], summary="Declare the ledger complete", status_code=200)
async def arm_ledger(switchboard: Switchboard, data: Arming) -> LedgerReading:
    """Rules act again, on all replicas. Audited; arming twice is fine, arming an incarnation that is past is not."""
    return _reading(await switchboard.arm(data.incarnation, data.actor, data.reason))


def _reading(found: Incarnation) -> LedgerReading:
    return LedgerReading(found.id, found.cause.value, found.since, found.armed)
