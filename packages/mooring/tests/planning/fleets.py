"""Small fleets for planner tests: every part with a sensible default, so that a test names only what matters."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec

from mooring.controllers.pools.classification_cache import ClassificationCache
from mooring.model.claim import Claim, ClaimState
from mooring.model.node import Node
from mooring.model.pool import Pool, PoolSpec
from mooring.model.worker import Stamp, Worker
from mooring.planning.placement import Placed
from mooring.planning.pools.plan import PoolPlan
from mooring.planning.pools.snapshot import PoolSnapshot

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HASH = "current"
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}


def pool(**spec: object) -> Pool:
    wanted = {"warm": 3, "max": 6, "template": TEMPLATE, **spec}
    return Pool("runners", "linux", "pool-uid", 1, msgspec.convert(wanted, PoolSpec))


def node(name: str = "node-1", **changes: object) -> Node:
    return Node(name=name, uid=f"{name}-uid", **changes)  # type: ignore[arg-type]


def worker(slot: int, **changes: object) -> Worker:
    """An idle worker, ready for ten minutes."""
    base = Worker(
        namespace="runners",
        name=f"linux-{slot}",
        uid=f"uid-{slot}",
        resource_version="100",
        pool="linux",
        pool_uid="pool-uid",
        created_at=NOW - timedelta(minutes=11),
        spec_hash=HASH,
        node="node-1",
        phase="Running",
        ready=True,
        ready_since=NOW - timedelta(minutes=10),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def starting(slot: int, **changes: object) -> Worker:
    return worker(slot, **{"ready": False, "ready_since": None, "phase": "Pending", "node": "", **changes})


def stamped(slot: int, **changes: object) -> Worker:
    return worker(slot, stamp=Stamp("acme", f"claim-{slot}", 7, NOW - timedelta(seconds=60)), **changes)


def terminating(slot: int, **changes: object) -> Worker:
    return worker(slot, terminating_since=NOW - timedelta(seconds=5), **changes)


def claim(name: str = "c1", **changes: object) -> Claim:
    """A session of acme, claimed two minutes ago, that runs for a minute."""
    known: dict[str, object] = {field.name: None for field in msgspec.structs.fields(Claim)}
    known |= {"id": name, "namespace": "runners", "pool": "linux", "owner": "acme", "state": ClaimState.RUNNING}
    known |= {"epoch": 7, "pod_uid": "uid-0", "pod_name": "linux-0", "slot": 0, "retryable": False, "reason": ""}
    known |= {"created_at": NOW - timedelta(minutes=3), "claimed_at": NOW - timedelta(minutes=2), "ttl_seconds": 60}
    known |= {"running_at": NOW - timedelta(minutes=1), "protected_until": NOW + timedelta(minutes=5), "rebinds": 0}
    return Claim(**{**known, **changes})  # type: ignore[arg-type]


def snapshot(of: Pool, *workers: Worker, **changes: object) -> PoolSnapshot:
    base = PoolSnapshot(
        now=NOW,
        pool=of,
        spec_hash=HASH,
        workers=workers,
        classified=(),
        nodes={"node-1": node()},
        placed=Placed(nodes=1),
    )
    return classified(replace(base, **changes))  # type: ignore[arg-type]


def classified(of: PoolSnapshot) -> PoolSnapshot:
    """The snapshot with the states of its workers, as a controller takes it."""
    return replace(of, classified=ClassificationCache().classify(of.workers, of.nodes, of.held, of.unhealthy))


def created(plan: PoolPlan) -> list[str]:
    return [action.name for action in plan.creates]


def retired(plan: PoolPlan) -> list[str]:
    return [action.worker.name for action in plan.retires]
