"""The routes of claims: ask, look, beat, release."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import delete, get, post
from litestar.params import Parameter

from mooring.api.given import GivenLedger
from mooring.api.reads import MOST_ROWS, PAGE_ROWS
from mooring.control.claiming.desk import ClaimDesk
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import Claim, ClaimState
from mooring.model.errors import InvalidInput
from mooring.model.wish import Wish


class WorkerOfClaim(msgspec.Struct, frozen=True):
    """Where the session runs."""

    name: str
    uid: str
    address: str


class ClaimReading(msgspec.Struct, frozen=True, rename="camel"):
    """A claim of the contract."""

    id: str
    epoch: int
    state: str
    namespace: str
    pool: str
    owner: str
    worker: WorkerOfClaim | None
    payload: dict[str, Any] | None
    priority: int
    retryable: bool
    ttl_seconds: int
    position: int | None
    protected_until: datetime | None
    created_at: datetime
    claimed_at: datetime | None
    running_at: datetime | None
    heartbeat_at: datetime | None
    ended_at: datetime | None
    wait_until: datetime | None
    rebinds: int
    reason: str


class ClaimItems(msgspec.Struct, frozen=True, rename="camel"):
    """Newest first; `nextBefore` continues the list."""

    items: list[ClaimReading]
    total: int
    next_before: int | None


class Beat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a heartbeat."""

    epoch: int


def read_claim(claim: Claim, position: int | None = None) -> ClaimReading:
    """A row as claimers see it."""
    worker = None
    if claim.pod_name is not None and claim.pod_uid is not None:
        worker = WorkerOfClaim(claim.pod_name, claim.pod_uid, claim.address)
    return ClaimReading(
        id=claim.id,
        epoch=claim.epoch,
        state=claim.state.value,
        namespace=claim.namespace,
        pool=claim.pool,
        owner=claim.owner,
        worker=worker,
        payload=claim.payload,
        priority=claim.priority,
        retryable=claim.retryable,
        ttl_seconds=claim.ttl_seconds,
        position=position,
        protected_until=claim.protected_until,
        created_at=claim.created_at,
        claimed_at=claim.claimed_at,
        running_at=claim.running_at,
        heartbeat_at=claim.heartbeat_at,
        ended_at=claim.ended_at,
        wait_until=claim.wait_until,
        rebinds=claim.rebinds,
        reason=claim.reason,
    )


@post("/v1/pools/{namespace:str}/{name:str}/claims", tags=["claims"], summary="Claim a worker", status_code=201)
async def create_claim(desk: ClaimDesk, namespace: str, name: str, data: Wish) -> ClaimReading:
    """A worker now, or within `wait` seconds. The same `idempotencyKey` gives the same claim."""
    return read_claim(await desk.claim(f"{namespace}/{name}", data))


@get("/v1/claims", tags=["claims"], summary="Claims, newest first")
async def list_claims(
    ledger: GivenLedger,
    namespace: str | None = None,
    pool: str | None = None,
    owner: str | None = None,
    claim_state: Annotated[str | None, Parameter(query="state")] = None,
    limit: Annotated[int, Parameter(ge=1, le=MOST_ROWS)] = PAGE_ROWS,
    before: Annotated[int | None, Parameter(ge=1)] = None,
) -> ClaimItems:
    """Claims by pool, owner or state (several with commas)."""
    which = ClaimFilter(namespace=namespace, pool=pool, owner=owner, states=_states(claim_state))
    page = await ledger.claims.list(which, limit=limit, before_ticket=before)
    return ClaimItems([read_claim(claim) for claim in page.items], page.total, page.next_ticket)


def _states(text: str | None) -> frozenset[ClaimState] | None:
    if not text:
        return None
    unknown = set(text.split(",")) - set(ClaimState)
    if unknown:
        raise InvalidInput("state", ", ".join(sorted(unknown)), f"of {', '.join(ClaimState)}")
    return frozenset(ClaimState(state) for state in text.split(","))


@get("/v1/claims/{claim_id:str}", tags=["claims"], summary="One claim")
async def get_claim(desk: ClaimDesk, claim_id: str) -> ClaimReading:
    """A claim, with its place in the queue while it waits."""
    claim = await desk.get(claim_id)
    position = await desk.position(claim_id) if claim.state is ClaimState.QUEUED else None
    return read_claim(claim, position)


@delete("/v1/claims/{claim_id:str}", tags=["claims"], summary="Release a claim", status_code=200)
async def release_claim(desk: ClaimDesk, claim_id: str, epoch: int | None = None) -> ClaimReading:
    """Give the worker back; with `epoch` only while the claim is under that one."""
    return read_claim(await desk.release(claim_id, epoch))


@post("/v1/claims/{claim_id:str}/heartbeat", tags=["claims"], summary="The holder is alive", status_code=200)
async def beat_claim(desk: ClaimDesk, claim_id: str, data: Beat) -> ClaimReading:
    """Keeps the claim; 409 `stale_epoch` when it belongs to another epoch by now."""
    return read_claim(await desk.heartbeat(claim_id, data.epoch))


CLAIM_ROUTES = [create_claim, list_claims, get_claim, release_claim, beat_claim]
