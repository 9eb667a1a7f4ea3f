"""Routes of claims: create, read, follow, heartbeat, release."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from litestar import Request, delete, get, post
from litestar.params import Parameter, QueryParameter
from litestar.response import Stream

from mooring.api.access.acts import CLAIM, HOLD_CLAIM, READ_CLAIM, RELEASE_CLAIM, SEE_POOLS
from mooring.api.access.claims import ClaimAccess
from mooring.api.access.guard import Guard, Recheck
from mooring.api.disconnect import watched
from mooring.api.fleet import MOST_ROWS, PAGE_ROWS, pool_in
from mooring.api.parameters import Before, Epoch, EpochIfGiven, Reason
from mooring.controllers.claims.desk import ClaimDesk
from mooring.controllers.claims.stream import ClaimStream
from mooring.controllers.claims.waiting_clients import Caller
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import InvalidInput, Unavailable
from mooring.model.identity import Identity, actor_of, holder_of
from mooring.queries.claims import ClaimItems, ClaimReading, read_claim, read_claims, read_waiting
from mooring.queries.fleet import FleetQueries


@dataclass(frozen=True, slots=True)
class ClaimParts:
    """What the routes of one claim act through. One dependency: several cost a task group for each request."""

    desk: ClaimDesk
    access: ClaimAccess


class Beat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a heartbeat."""

    epoch: Epoch


@post(
    "/v1/pools/{namespace:str}/{name:str}/claims",
    access=CLAIM,
    direct=ClaimRequest,
    tags=["claims"],
    summary="Claim a worker",
    status_code=201,
)
async def create_claim(
    request: Request[Any, Any, Any],
    parts: ClaimParts,
    namespace: str,
    name: str,
    data: ClaimRequest,
) -> ClaimReading:
    """Claim a worker, now or within `wait` seconds. The same `idempotencyKey` gives the same claim.

    Without `owner` the caller is the owner. To name another one, the caller must be allowed to
    `impersonate workerpools/claims`. The caller is the claim's holder in any case.

    While it waits, the open connection is the client's sign of life. A claim without one for 20 s ends as `abandoned`,
    unless it is `detached`. A repeated request, reading the claim, or its stream is a sign of life too.
    """
    identity: Identity = request.user
    owner = await parts.access.owner_for(identity, data.owner, namespace, name)
    caller = Caller(data.wait, holder_of(identity))
    async with watched(request, caller):
        claim = await parts.desk.claim(f"{namespace}/{name}", msgspec.structs.replace(data, owner=owner), caller)
    return read_claim(claim, held=parts.access.is_held(identity, claim))


@get("/v1/claims", access=SEE_POOLS, tags=["claims"], summary="Claims, newest first")
async def list_claims(
    request: Request[Any, Any, Any],
    reading: FleetQueries,
    desk: ClaimDesk,
    claim_access: ClaimAccess,
    namespace: str = "",
    pool: str = "",
    owner: str | None = None,
    claim_state: Annotated[str | None, QueryParameter(name="state")] = None,
    key: Annotated[str | None, Parameter(min_length=1)] = None,
    limit: Annotated[int, Parameter(ge=1, le=MOST_ROWS)] = PAGE_ROWS,
    before: Before = None,
) -> ClaimItems:
    """Claims by namespace, pool (`namespace/name`, or a name), owner or state (several with commas).

    With `key`, the claim of that pool which a request with this `idempotencyKey` made: for its holder this is a sign of
    life, as reading the claim is. Cheap, however many claims there are.
    """
    namespace, pool = pool_in(namespace, pool)
    which = ClaimFilter(namespace=namespace or None, pool=pool or None, owner=owner, states=_states(claim_state))
    if key is not None:
        return ClaimItems.of(await _read_by_key(desk, reading, claim_access, request.user, which, key))
    return await read_claims(reading, which, limit, before, lambda claim: claim_access.is_held(request.user, claim))


async def _read_by_key(
    desk: ClaimDesk, reading: FleetQueries, access: ClaimAccess, identity: Identity, which: ClaimFilter, key: str
) -> ClaimReading | None:
    if which.namespace is None or which.pool is None:
        raise InvalidInput("pool", which.pool or "", "NAMESPACE/NAME: a key belongs to one pool")
    claim = await access.find_by_key(identity, which.namespace, which.pool, key)
    if claim is None or (which.owner or claim.owner) != claim.owner or claim.state not in (which.states or ClaimState):
        return None
    held = access.is_held(identity, claim)
    return await _read(desk, reading, await desk.attend(claim) if held else claim, held)


def _states(text: str | None) -> frozenset[ClaimState] | None:
    if not text:
        return None
    unknown = set(text.split(",")) - set(ClaimState)
    if unknown:
        raise InvalidInput("state", ", ".join(sorted(unknown)), f"one or more of {', '.join(ClaimState)}")
    return frozenset(ClaimState(state) for state in text.split(","))


@get("/v1/claims/{claim_id:str}", access=READ_CLAIM, tags=["claims"], summary="One claim")
async def get_claim(
    request: Request[Any, Any, Any], desk: ClaimDesk, reading: FleetQueries, claim_access: ClaimAccess, claim_id: str
) -> ClaimReading:
    """A claim, by its id or by a unique beginning of it; while it waits, with its place in the queue and why.

    `epoch` and `payload` are null unless the caller holds the claim.
    """
    claim = await claim_access.find(request.user, claim_id)
    held = claim_access.is_held(request.user, claim)
    return await _read(desk, reading, await desk.attend(claim) if held else claim, held)


async def _read(desk: ClaimDesk, reading: FleetQueries, claim: Claim, held: bool) -> ClaimReading:
    if claim.state is not ClaimState.QUEUED:
        return read_claim(claim, held=held)
    return read_waiting(reading, claim, await desk.position(claim), held=held)


@get(
    "/v1/claims/{claim_id:str}/stream",
    access=HOLD_CLAIM,
    tags=["claims"],
    summary="One claim, as server-sent events",
    media_type="text/event-stream",
)
async def stream_claim(
    request: Request[Any, Any, Any],
    desk: ClaimDesk,
    stream: ClaimStream,
    reading: FleetQueries,
    claim_access: ClaimAccess,
    guard: Guard,
    claim_id: str,
) -> Stream:
    """For the holder: `claim` events have the claim as `GET /v1/claims/{id}` answers it, at once and after each change.

    `heartbeat` every 3 s; `unavailable` with `{code, message}` while the ledger does not answer. Ends with the claim,
    or when this replica stops. While the claim waits, the stream is its client's sign of life.
    """
    found = await claim_access.find(request.user, claim_id)
    await claim_access.require_holder(request.user, found.id)
    claim = await desk.attend(found)

    async def body() -> AsyncIterator[bytes]:
        permission = Recheck(guard, request)
        async for found in stream.follow(claim):
            if not await permission.holds():
                return
            yield await _encode(desk, reading, found)

    return Stream(
        body(), media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )


async def _encode(desk: ClaimDesk, reading: FleetQueries, found: Claim | Unavailable | None) -> bytes:
    """As server-sent event, for the holder."""
    if found is None:
        return b"event: heartbeat\ndata: {}\n\n"
    if isinstance(found, Unavailable):
        return _event(b"unavailable", {"code": found.code, "message": found.message})
    try:
        return _event(b"claim", await _read(desk, reading, found, held=True))
    except Unavailable as error:
        return _event(b"unavailable", {"code": error.code, "message": error.message})


def _event(name: bytes, content: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name, msgspec.json.encode(content))


@delete("/v1/claims/{claim_id:str}", access=RELEASE_CLAIM, tags=["claims"], summary="Release a claim", status_code=200)
async def release_claim(
    request: Request[Any, Any, Any],
    parts: ClaimParts,
    claim_id: str,
    epoch: EpochIfGiven = None,
    reason: Reason = "",
) -> ClaimReading:
    """Release a claim.

    With `epoch` it is the holder's release, and takes effect only if the claim has that epoch. Without `epoch` it is
    taken from its holder: audited with the caller and `reason`, and the holder gets the reason.
    """
    identity: Identity = request.user
    if epoch is not None:
        await parts.access.require_holder(identity, claim_id)
        return read_claim(await parts.desk.release(claim_id, epoch, reason), held=True)
    claim = await parts.access.find_to_end(identity, claim_id)
    ended = await parts.desk.revoke(claim.id, actor=actor_of(identity), reason=reason)
    return read_claim(ended, held=parts.access.is_held(identity, claim))


@post(
    "/v1/claims/{claim_id:str}/heartbeat",
    access=HOLD_CLAIM,
    direct=Beat,
    tags=["claims"],
    summary="Renew a claim",
    status_code=200,
)
async def beat_claim(request: Request[Any, Any, Any], parts: ClaimParts, claim_id: str, data: Beat) -> ClaimReading:
    """Renew the claim; 409 `stale_epoch` if it has another epoch now, 403 if the caller does not hold it."""
    await parts.access.require_holder(request.user, claim_id)
    return read_claim(await parts.desk.heartbeat(claim_id, data.epoch), held=True)


CLAIM_ROUTES = [create_claim, list_claims, get_claim, stream_claim, release_claim, beat_claim]
