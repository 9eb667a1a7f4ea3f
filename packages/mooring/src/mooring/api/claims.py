"""Routes of claims: create, read, follow, heartbeat, release."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from litestar import Request, delete, get, post
from litestar.params import Parameter, QueryParameter
from litestar.response import Stream

from mooring.api.fleet import MOST_ROWS, PAGE_ROWS, pool_in
from mooring.api.hang_up import watched
from mooring.api.parameters import Actor, Before, Epoch, EpochIfGiven, Reason
from mooring.controllers.claims.attendance import Caller
from mooring.controllers.claims.desk import ClaimDesk
from mooring.controllers.claims.stream import ClaimStream
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import InvalidInput, Unavailable
from mooring.queries.claims import ClaimItems, ClaimReading, read_claim, read_claims, read_waiting
from mooring.queries.fleet import FleetQueries


class Beat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a heartbeat."""

    epoch: Epoch


@post("/v1/pools/{namespace:str}/{name:str}/claims", tags=["claims"], summary="Claim a worker", status_code=201)
async def create_claim(
    request: Request[Any, Any, Any], desk: ClaimDesk, namespace: str, name: str, data: ClaimRequest
) -> ClaimReading:
    """Claim a worker, now or within `wait` seconds. The same `idempotencyKey` gives the same claim.

    While it waits, the open connection is the client's sign of life. A claim without one for 20 s ends as `abandoned`,
    unless it is `detached`. A repeated request, reading the claim, or its stream is a sign of life too.
    """
    caller = Caller(data.wait)
    async with watched(request, caller):
        return read_claim(await desk.claim(f"{namespace}/{name}", data, caller))


@get("/v1/claims", tags=["claims"], summary="Claims, newest first")
async def list_claims(
    reading: FleetQueries,
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
async def get_claim(desk: ClaimDesk, reading: FleetQueries, claim_id: str) -> ClaimReading:
    """A claim, by its id or by a unique beginning of it; while it waits, with its place in the queue and why."""
    return await _read(desk, reading, await desk.look(claim_id))


async def _read(desk: ClaimDesk, reading: FleetQueries, claim: Claim) -> ClaimReading:
    if claim.state is not ClaimState.QUEUED:
        return read_claim(claim)
    return read_waiting(reading, claim, await desk.position(claim.id))


@get(
    "/v1/claims/{claim_id:str}/stream",
    tags=["claims"],
    summary="One claim, as server-sent events",
    media_type="text/event-stream",
)
async def stream_claim(desk: ClaimDesk, stream: ClaimStream, reading: FleetQueries, claim_id: str) -> Stream:
    """`claim` events have the claim as `GET /v1/claims/{id}` answers it: one at once, one after each change.

    `heartbeat` every 3 s; `unavailable` with `{code, message}` while the ledger does not answer. Ends with the claim,
    or when this replica stops. While the claim waits, the stream is its client's sign of life.
    """
    claim = await desk.look(claim_id)

    async def body() -> AsyncIterator[bytes]:
        async for found in stream.follow(claim):
            yield await _encode(desk, reading, found)

    return Stream(
        body(), media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )


async def _encode(desk: ClaimDesk, reading: FleetQueries, found: Claim | Unavailable | None) -> bytes:
    """As server-sent event."""
    if found is None:
        return b"event: heartbeat\ndata: {}\n\n"
    if isinstance(found, Unavailable):
        return _event(b"unavailable", {"code": found.code, "message": found.message})
    try:
        return _event(b"claim", await _read(desk, reading, found))
    except Unavailable as error:
        return _event(b"unavailable", {"code": error.code, "message": error.message})


def _event(name: bytes, content: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name, msgspec.json.encode(content))


@delete("/v1/claims/{claim_id:str}", tags=["claims"], summary="Release a claim", status_code=200)
async def release_claim(
    desk: ClaimDesk, claim_id: str, epoch: EpochIfGiven = None, reason: Reason = "", actor: Actor = "api"
) -> ClaimReading:
    """Release a claim.

    With `epoch` it is the holder's release, and takes effect only if the claim has that epoch. Without `epoch` it is an
    operator's release: audited with `actor` and `reason`, and the holder gets the reason.
    """
    if epoch is None:
        return read_claim(await desk.revoke(claim_id, actor=actor, reason=reason))
    return read_claim(await desk.release(claim_id, epoch, reason))


@post("/v1/claims/{claim_id:str}/heartbeat", tags=["claims"], summary="Renew a claim", status_code=200)
async def beat_claim(desk: ClaimDesk, claim_id: str, data: Beat) -> ClaimReading:
    """Renew the claim; 409 `stale_epoch` if it has another epoch now."""
    return read_claim(await desk.heartbeat(claim_id, data.epoch))


CLAIM_ROUTES = [create_claim, list_claims, get_claim, stream_claim, release_claim, beat_claim]
