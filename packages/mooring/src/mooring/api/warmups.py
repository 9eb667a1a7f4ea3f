"""Routes of warmups: their state, forced re-warms and the circuit breaker."""

from typing import Any

from litestar import Request, get, post

from mooring.api.access.acts import CHANGE_WARMUP, READ_WARMUP, SEE_WARMUPS
from mooring.api.fleet import Items
from mooring.api.invariants import read_flip
from mooring.controllers.warmups.commands import Asked, WarmupCommands
from mooring.model.identity import actor_of
from mooring.queries.warmups import WarmupQueries, WarmupReading


@get("/v1/warmups", access=SEE_WARMUPS, tags=["warmups"], summary="All warmups", sync_to_thread=False)
def list_warmups(warmups: WarmupQueries, namespace: str = "") -> Items[WarmupReading]:
    """Every Warmup, or those of `namespace`, with shards, last release, circuit breaker and failure."""
    found = [warmup for warmup in warmups.warmups() if namespace in ("", warmup.namespace)]
    return Items(found, len(found))


@get(
    "/v1/warmups/{namespace:str}/{name:str}",
    access=READ_WARMUP,
    tags=["warmups"],
    summary="One warmup",
    sync_to_thread=False,
)
def get_warmup(warmups: WarmupQueries, namespace: str, name: str) -> WarmupReading:
    """One Warmup, or 404 with the names that exist."""
    return warmups.warmup(namespace, name)


@post(
    "/v1/warmups/{namespace:str}/{name:str}/rewarm",
    access=CHANGE_WARMUP,
    tags=["warmups"],
    summary="Force a re-warm",
    status_code=202,
)
async def rewarm(request: Request[Any, Any, Any], warmup_commands: WarmupCommands, namespace: str, name: str) -> Asked:
    """Fetch everything again, once, when nodes are Ready.

    The request is stored at once. Optional body: `{reason}`.
    """
    flip = await read_flip(request)
    return await warmup_commands.rewarm(namespace, name, actor=actor_of(request.user), reason=flip.reason)


@post(
    "/v1/warmups/{namespace:str}/{name:str}/close-circuit",
    access=CHANGE_WARMUP,
    tags=["warmups"],
    summary="Close the circuit breaker",
    status_code=202,
)
async def close_circuit(
    request: Request[Any, Any, Any], warmup_commands: WarmupCommands, namespace: str, name: str
) -> Asked:
    """Close the circuit breaker at the next reconcile.

    The request is stored at once. Optional body: `{reason}`.
    """
    flip = await read_flip(request)
    return await warmup_commands.close_circuit(namespace, name, actor=actor_of(request.user), reason=flip.reason)


WARMUP_ROUTES = (list_warmups, get_warmup, rewarm, close_circuit)
