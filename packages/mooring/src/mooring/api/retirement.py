"""The route that retires a worker."""

from typing import Annotated, Any

import msgspec
from litestar import Request, post
from msgspec import Meta

from mooring.api.access.acts import END_CLAIM, RETIRE
from mooring.api.access.authorization import Authorization
from mooring.controllers.claims.retirement import Retirement
from mooring.model.identity import actor_of


class Retire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why the worker is retired, and whether the claims that hold it are revoked first."""

    reason: Annotated[str, Meta(min_length=1, max_length=500)]
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
    access=RETIRE,
    tags=["workers"],
    summary="Retire a worker",
    status_code=200,
)
async def retire_worker(
    request: Request[Any, Any, Any],
    retirement: Retirement,
    authorization: Authorization,
    namespace: str,
    name: str,
    data: Retire,
) -> Retired:
    """Delete a worker and have it replaced. 409 `worker_claimed` while a live claim holds it, unless `force` is set.

    `force` also needs `delete workerpools/claims`.
    """
    if data.force:  # it ends claims of others
        await authorization.require(request.user, END_CLAIM.access(namespace))
    actor = actor_of(request.user)
    worker = await retirement.retire(namespace, name, actor=actor, reason=data.reason, force=data.force)
    return Retired(worker.namespace, worker.name, worker.uid, worker.pool, data.reason)
