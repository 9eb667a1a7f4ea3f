"""The route that retires a worker."""

from typing import Annotated

import msgspec
from litestar import post
from msgspec import Meta

from mooring.api.parameters import ActorInBody
from mooring.controllers.claims.retirement import Retirement


class Retire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why the worker is retired, by whom, and whether the claims that hold it are revoked first."""

    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    actor: ActorInBody = "api"
    force: bool = False


class Retired(msgspec.Struct, frozen=True):
    """The worker that is being deleted."""

    namespace: str
    name: str
    uid: str
    pool: str
    reason: str


@post(
    "/v1/workers/{namespace:str}/{name:str}/retire",
    tags=["workers"],
    summary="Retire a worker",
    status_code=200,
)
async def retire_worker(retirement: Retirement, namespace: str, name: str, data: Retire) -> Retired:
    """Delete a worker and have it replaced. 409 `worker_claimed` while a live claim holds it, unless `force` is set."""
    worker = await retirement.retire(namespace, name, actor=data.actor, reason=data.reason, force=data.force)
    return Retired(worker.namespace, worker.name, worker.uid, worker.pool, data.reason)
