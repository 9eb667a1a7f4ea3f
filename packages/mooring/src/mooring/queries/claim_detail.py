"""One claim with what the ledger remembers of it."""

from __future__ import annotations

import msgspec

from mooring.ledger.records import AuditFilter
from mooring.model.claim import ClaimState
from mooring.model.errors import NotFound
from mooring.queries.audit import AuditReading, read_audit
from mooring.queries.claims import ClaimReading, read_claim, read_waiting
from mooring.queries.fleet import FleetQueries

ACTS = 50


class ClaimDetail(msgspec.Struct, frozen=True, rename="camel"):
    """A claim and the acts on it, newest first. Its epoch and payload are not shown: they are its holder's."""

    claim: ClaimReading
    acts: list[AuditReading]


async def read_claim_detail(fleet: FleetQueries, claim_id: str) -> ClaimDetail:
    """The claim with this id, or `NotFound`."""
    found = await fleet.claim(claim_id)
    if found is None:
        raise NotFound(f"there is no claim {claim_id!r}", fix="'mooring claims --all' lists them")
    if found.state is ClaimState.QUEUED:
        places = await fleet.queue_places([found])
        claim = read_waiting(fleet, found, places.get(found.id), held=False)
    else:
        claim = read_claim(found, held=False)
    acts = await read_audit(fleet, AuditFilter(kind="Claim", namespace=found.namespace, name=found.id), ACTS, None)
    return ClaimDetail(claim, acts.items)
