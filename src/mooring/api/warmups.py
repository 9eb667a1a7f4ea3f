"""The routes of `/v1/warmups`: how far each dataset is, and what a person may ask of it."""

from typing import Any

from litestar import Request, get, post

from mooring.api.readmodels import Asked, WarmupReading, WarmupReadSide, WarmupRequests
from mooring.api.reads import Items
from mooring.api.switching import read_flip


@get("/v1/warmups", tags=["warmups"], summary="All datasets and how warm they are", sync_to_thread=False)
def list_warmups(warmups: WarmupReadSide, namespace: str = "") -> Items[WarmupReading]:
    """Every Warmup, or those of `namespace`, with shards, last release, circuit and failure."""
    found = [warmup for warmup in warmups.warmups() if namespace in ("", warmup.namespace)]
    return Items(found, len(found))


@get("/v1/warmups/{namespace:str}/{name:str}", tags=["warmups"], summary="One dataset", sync_to_thread=False)
def get_warmup(warmups: WarmupReadSide, namespace: str, name: str) -> WarmupReading:
    """One Warmup, or 404 naming those that exist."""
    return warmups.warmup(namespace, name)


@post(
    "/v1/warmups/{namespace:str}/{name:str}/rewarm", tags=["warmups"], summary="Fetch everything again", status_code=202
)
async def rewarm(request: Request[Any, Any, Any], warmup_requests: WarmupRequests, namespace: str, name: str) -> Asked:
    """Written down at once, fires once, when nodes are Ready. Body, if any: `{reason, actor}`."""
    flip = await read_flip(request)
    return await warmup_requests.rewarm(namespace, name, actor=flip.actor, reason=flip.reason)


@post(
    "/v1/warmups/{namespace:str}/{name:str}/close-circuit",
    tags=["warmups"],
    summary="Try again after too many failures",
    status_code=202,
)
async def close_circuit(
    request: Request[Any, Any, Any], warmup_requests: WarmupRequests, namespace: str, name: str
) -> Asked:
    """Written down at once; the circuit is closed at the next pass. Body, if any: `{reason, actor}`."""
    flip = await read_flip(request)
    return await warmup_requests.close_circuit(namespace, name, actor=flip.actor, reason=flip.reason)


WARMUP_ROUTES = (list_warmups, get_warmup, rewarm, close_circuit)
