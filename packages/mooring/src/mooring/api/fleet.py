"""Routes of pools, workers, nodes, invariants and the audit trail. Lists are `{items: [...], total}`."""

from typing import Annotated, Generic, TypeVar

import msgspec
from litestar import get
from litestar.params import Parameter, QueryParameter
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_INVARIANTS, READ_POOL, SEE_AUDIT, SEE_NODES, SEE_POOLS
from mooring.api.parameters import Before
from mooring.ledger.records import AuditFilter
from mooring.model.audit import AuditOutcome
from mooring.model.errors import InvalidInput
from mooring.model.worker import WorkerState
from mooring.queries.audit import AuditItems, read_audit
from mooring.queries.fleet import FleetQueries, PoolReading, WorkerReading
from mooring.queries.invariants import InvariantReading
from mooring.queries.nodes import NodeReading

T = TypeVar("T")

PAGE_ROWS = 100
MOST_ROWS = 1000


class Items(msgspec.Struct, Generic[T], frozen=True):
    """A list and the total number of matches."""

    items: list[T]
    total: int


def pool_in(namespace: str, pool: str) -> tuple[str, str]:
    """Namespace and name of a pool that is given as `namespace/name` or as a name; both may be empty."""
    own, _, name = pool.rpartition("/")
    if own and namespace not in ("", own):
        raise InvalidInput("namespace", namespace, f"that of the pool {pool}, if it is given at all")
    return own or namespace, name


@get("/v1/pools", access=SEE_POOLS, tags=["pools"], summary="All pools", sync_to_thread=False)
def list_pools(reading: FleetQueries, namespace: str = "") -> Items[PoolReading]:
    """Every pool, or those of `namespace`, with spec, counts and conditions."""
    pools = [pool for pool in reading.pools() if namespace in ("", pool.namespace)]
    return Items(pools, len(pools))


@get(
    "/v1/pools/{namespace:str}/{name:str}",
    access=READ_POOL,
    tags=["pools"],
    summary="One pool",
    sync_to_thread=False,
)
def get_pool(reading: FleetQueries, namespace: str, name: str) -> PoolReading:
    """One pool, or 404 with the names that exist."""
    return reading.pool(namespace, name)


@get("/v1/workers", access=SEE_POOLS, tags=["workers"], summary="Workers with state and reason")
async def list_workers(
    reading: FleetQueries,
    namespace: str = "",
    pool: str = "",
    node: str = "",
    worker_state: Annotated[str, QueryParameter(name="state")] = "",
) -> Items[WorkerReading]:
    """Workers by namespace, pool (`namespace/name`, or a name), node or state. An unknown pool has none."""
    if worker_state and worker_state not in set(WorkerState):
        raise InvalidInput("state", worker_state, f"one of {', '.join(WorkerState)}")
    namespace, pool = pool_in(namespace, pool)
    workers = await reading.workers(namespace, pool, node, worker_state)
    return Items(workers, len(workers))


@get("/v1/nodes", access=SEE_NODES, tags=["nodes"], summary="Nodes and the workers on them")
async def list_nodes(reading: FleetQueries) -> Items[NodeReading]:
    """Every node, whether it is draining and why, and its workers by state.

    Without `list nodes` only the nodes of workers that the caller may see, with these workers counted.
    """
    nodes = await reading.nodes()
    return Items(nodes, len(nodes))


@get(
    "/v1/invariants",
    access=READ_INVARIANTS,
    tags=["invariants"],
    summary="Invariants and whether they hold",
    sync_to_thread=False,
)
def list_invariants(reading: FleetQueries) -> Items[InvariantReading]:
    """Every invariant; `unknown` is never shown as `holds`."""
    rules = reading.invariants()
    return Items(rules, len(rules))


@get("/v1/audit", access=SEE_AUDIT, tags=["audit"], summary="Audit trail")
async def list_audit(
    reading: FleetQueries,
    actor: str | None = None,
    action: str | None = None,
    kind: str | None = None,
    namespace: str | None = None,
    name: str | None = None,
    uid: str | None = None,
    outcome: str | None = None,
    limit: Annotated[int, Parameter(ge=1, le=MOST_ROWS)] = PAGE_ROWS,
    before: Before = None,
) -> AuditItems:
    """Acts, newest first, with their evidence."""
    if outcome is not None and outcome not in set(AuditOutcome):
        raise InvalidInput("outcome", outcome, f"one of {', '.join(AuditOutcome)}")
    which = AuditFilter(
        actor=actor,
        action=action,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=uid,
        outcome=AuditOutcome(outcome) if outcome else None,
    )
    return await read_audit(reading, which, limit, before)


FLEET_ROUTES: list[ControllerRouterHandler] = [
    list_pools,
    get_pool,
    list_workers,
    list_nodes,
    list_invariants,
    list_audit,
]
