"""The route that creates or changes a pool, with a dry run."""

from typing import Annotated, Any

import msgspec
from litestar import Request, put
from litestar.params import QueryParameter

from mooring.api.access.acts import ORDER_POOL
from mooring.api.access.pools import PoolAccess
from mooring.api.order_query import refuse_unknown_parameters
from mooring.api.parameters import Reason
from mooring.controllers.pools.commands import PoolCommands
from mooring.model.identity import actor_of
from mooring.model.pool_order import read_pool_order

DryRun = Annotated[bool, QueryParameter(name="dryRun", description="Only answer what would change.")]


class PoolOrderBody(msgspec.Struct, frozen=True):
    """The spec of a WorkerPool, or a whole manifest."""


class PoolChanged(msgspec.Struct, frozen=True, rename="camel"):
    """What was changed, or would be."""

    namespace: str
    name: str
    action: str
    dry_run: bool
    changes: tuple[str, ...]
    new_workers: bool


@put("/v1/pools/{namespace:str}/{name:str}", access=ORDER_POOL, tags=["pools"], summary="Create or change a pool")
async def put_pool(
    request: Request[Any, Any, Any],
    pool_commands: PoolCommands,
    pool_access: PoolAccess,
    namespace: str,
    name: str,
    data: PoolOrderBody,
    dry_run: DryRun = False,
    reason: Reason = "",
) -> PoolChanged:
    """The stored spec becomes the spec that is sent. With `metadata.uid` only that pool is changed, else 409."""
    refuse_unknown_parameters(request, "dryRun", "reason")
    await pool_access.require(request.user, namespace, name)
    order = read_pool_order(namespace, name, await request.json())
    if dry_run:
        change = await pool_commands.preview(order)
    else:
        change = await pool_commands.apply(order, actor=actor_of(request.user), reason=reason)
    return PoolChanged(namespace, name, change.action, dry_run, change.changes, change.new_workers)
