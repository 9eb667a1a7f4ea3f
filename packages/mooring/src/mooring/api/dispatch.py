"""Routes of poll dispatch. Workers authenticate with their projected token, not with the token of a caller."""

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from litestar import Request, Response, get, post
from litestar.openapi.datastructures import ResponseSpec
from msgspec import Meta

from mooring.api.access.acts import READ_CLAIM, WORKER
from mooring.api.access.claims import ClaimAccess
from mooring.api.errors import ErrorBody
from mooring.api.parameters import Epoch
from mooring.controllers.claims.dispatch import MOST_WAIT_SECONDS, Dispatch, Result, WorkerDraining
from mooring.controllers.claims.identity import WorkerIdentity
from mooring.model.claim import Claim
from mooring.model.errors import Unauthorized, Unavailable
from mooring.model.worker import Worker

T = TypeVar("T")

MOST_OUTPUT_CHARACTERS = 64 * 1024


class Poll(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long to wait for a session, and whether the worker executes."""

    wait: Annotated[float, Meta(ge=0, le=MOST_WAIT_SECONDS)] = 0.0
    state: Literal["idle", "executing"] = "idle"


class Session(msgspec.Struct, frozen=True, rename="camel"):
    """A session for a worker. Delivered at most once for each epoch."""

    claim: str
    epoch: int
    owner: str
    payload: dict[str, Any] | None
    ttl_seconds: int
    protected_until: datetime | None  # after this its node may be drained


class SessionBeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A heartbeat of the worker."""

    claim: str
    epoch: Epoch


class SessionEnd(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How a session ended: the exit code of its command, and the last lines of its output."""

    claim: str
    epoch: Epoch
    exit_code: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
    output: Annotated[str, Meta(max_length=MOST_OUTPUT_CHARACTERS)] = ""


class AfterSession(msgspec.Struct, frozen=True):
    """Whether the worker is to poll again, or to exit because it is not reused."""

    again: bool


class SessionResult(msgspec.Struct, frozen=True, rename="camel"):
    """The report of a worker."""

    claim: str
    epoch: int | None
    exit_code: int
    output: str
    worker: str
    at: datetime


_NONE_OR_EXIT = {
    204: ResponseSpec(None, description="no session within the wait: poll again", generate_examples=False),
    410: ResponseSpec(ErrorBody, description="the worker drains: exit", generate_examples=False),
}


@post(
    "/v1/dispatch",
    access=WORKER,
    tags=["dispatch"],
    summary="Next session of a worker",
    status_code=200,
    responses=_NONE_OR_EXIT,
)
async def poll_dispatch(
    request: Request[Any, Any, Any], identity: WorkerIdentity, dispatching: Dispatch, data: Poll
) -> Response[Session | ErrorBody | None]:
    """200: a session; 204: none; 401 or 403: stop; 410: drain and exit; 5xx: repeat."""
    worker = await _identify(request, identity)
    polling = dispatching.next_session(worker, data.wait, executing=data.state == "executing")
    try:
        claim = await _while_connected(request, polling)
    except WorkerDraining as draining:
        return Response(ErrorBody(draining.code, draining.message, {"fix": draining.fix}), status_code=410)
    return Response(_session(claim)) if claim is not None else Response(None, status_code=204)


@post("/v1/dispatch/heartbeat", access=WORKER, tags=["dispatch"], summary="Heartbeat of a worker", status_code=200)
async def beat_session(
    request: Request[Any, Any, Any], identity: WorkerIdentity, dispatching: Dispatch, data: SessionBeat
) -> Session:
    """Renew the claim. 409: it has ended or has another epoch, so the session must be stopped."""
    worker = await _identify(request, identity)
    return _session(await dispatching.heartbeat(worker, data.claim, data.epoch))


@post("/v1/dispatch/done", access=WORKER, tags=["dispatch"], summary="Report the end of a session", status_code=200)
async def end_session(
    request: Request[Any, Any, Any], identity: WorkerIdentity, dispatching: Dispatch, data: SessionEnd
) -> AfterSession:
    """Store the result and release the claim. It may be repeated after a lost answer; the first report is kept."""
    worker = await _identify(request, identity)
    result = Result(data.exit_code, data.output)
    return AfterSession(await dispatching.finish(worker, data.claim, data.epoch, result))


@get("/v1/claims/{claim_id:str}/result", access=READ_CLAIM, tags=["claims"], summary="Result of a session")
async def get_result(
    request: Request[Any, Any, Any], dispatching: Dispatch, claim_access: ClaimAccess, claim_id: str
) -> SessionResult:
    """Exit code and last output of a session with poll dispatch; 404 `no_result` until it is reported.

    `epoch` is null unless the caller holds the claim.
    """
    claim = await claim_access.find(request.user, claim_id)
    entry = (await dispatching.result(claim.id)).entry
    return SessionResult(
        claim=claim.id,
        epoch=entry.evidence["epoch"] if claim_access.is_held(request.user, claim) else None,
        exit_code=entry.evidence["exitCode"],
        output=entry.evidence["output"],
        worker=entry.actor.removeprefix("worker/"),
        at=entry.at,
    )


DISPATCH_ROUTES = [poll_dispatch, beat_session, end_session, get_result]


def _session(claim: Claim) -> Session:
    return Session(claim.id, claim.epoch, claim.owner, claim.session_payload, claim.ttl_seconds, claim.protected_until)


async def _identify(request: Request[Any, Any, Any], identity: WorkerIdentity) -> Worker:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthorized("no token was sent", fix="send 'Authorization: Bearer' with the worker's projected token")
    return await identity.identify(token.strip())


async def _while_connected(request: Request[Any, Any, Any], work: Coroutine[Any, Any, T]) -> T:
    """Stop when the worker has disconnected: a session that is delivered then would be lost."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_until_disconnected(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Unavailable("the worker hung up")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _until_disconnected(request: Request[Any, Any, Any]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
