"""The routes of claims: ask, look, beat, release."""

from typing import Annotated

import msgspec
from litestar import delete, get, post
from litestar.params import Parameter, QueryParameter

from mooring.api.bounds import Actor, Before, Epoch, EpochIfGiven, Reason
from mooring.api.readmodels import ClaimItems, ClaimReading, ReadSide, read_claim, read_claims, read_waiting
from mooring.api.reads import MOST_ROWS, PAGE_ROWS, pool_in
from mooring.control.claiming.desk import ClaimDesk
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import ClaimState
from mooring.model.errors import InvalidInput
from mooring.model.wish import Wish


class Beat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a heartbeat."""

    epoch: Epoch


@post("/v1/pools/{namespace:str}/{name:str}/claims", tags=["claims"], summary="Claim a worker", status_code=201)
async def create_claim(desk: ClaimDesk, namespace: str, name: str, data: Wish) -> ClaimReading:
    """A worker now, or within `wait` seconds. The same `idempotencyKey` gives the same claim."""
    return read_claim(await desk.claim(f"{namespace}/{name}", data))


@get("/v1/claims", tags=["claims"], summary="Claims, newest first")
async def list_claims(
    reading: ReadSide,
    namespace: str = "",
    pool: str = "",
    owner: str | None = None,
    claim_state: Annotated[str | None, QueryParameter(name="state")] = None,
    limit: Annotated[int, Parameter(ge=1, le=MOST_ROWS)] = PAGE_ROWS,
    before: Before = None,
) -> ClaimItems:
    """Claims by namespace, pool (`namespace/name`, or a name), owner or state (several with commas)."""
    namespace, pool = pool_in(namespace, pool)
    which = ClaimFilter(namespace=namespace or None, pool=pool or None, owner=owner, states=_states(claim_state))
    return await read_claims(reading, which, limit, before)


def _states(text: str | None) -> frozenset[ClaimState] | None:
    if not text:
        return None
    unknown = set(text.split(",")) - set(ClaimState)
    if unknown:
        raise InvalidInput("state", ", ".join(sorted(unknown)), f"one or more of {', '.join(ClaimState)}")
    return frozenset(ClaimState(state) for state in text.split(","))


@get("/v1/claims/{claim_id:str}", tags=["claims"], summary="One claim")
async def get_claim(desk: ClaimDesk, reading: ReadSide, claim_id: str) -> ClaimReading:
    """A claim, with its place in the queue and why nobody is free while it waits."""
    claim = await desk.get(claim_id)
    if claim.state is not ClaimState.QUEUED:
        return read_claim(claim)
    return read_waiting(reading, claim, await desk.position(claim_id))


@delete("/v1/claims/{claim_id:str}", tags=["claims"], summary="Release a claim", status_code=200)
async def release_claim(
    desk: ClaimDesk, claim_id: str, epoch: EpochIfGiven = None, reason: Reason = "", actor: Actor = "api"
) -> ClaimReading:
    """Its holder gives the worker back, with its `epoch`, and only while the claim is under that one.

    Without `epoch` it is an operator's act, whoever holds the claim: audited with `actor` and `reason`, and the holder
    is told that reason.
    """
    if epoch is None:
        return read_claim(await desk.revoke(claim_id, actor=actor, reason=reason))
    return read_claim(await desk.release(claim_id, epoch, reason))


@post("/v1/claims/{claim_id:str}/heartbeat", tags=["claims"], summary="The holder is alive", status_code=200)
async def beat_claim(desk: ClaimDesk, claim_id: str, data: Beat) -> ClaimReading:
    """Keeps the claim; 409 `stale_epoch` when it belongs to another epoch by now."""
    return read_claim(await desk.heartbeat(claim_id, data.epoch))


CLAIM_ROUTES = [create_claim, list_claims, get_claim, release_claim, beat_claim]
