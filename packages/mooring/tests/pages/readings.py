"""Readings made by hand, for pages that no cluster would show on demand."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from mooring.model.pool import Pool, PoolSpec, PoolStatus
from mooring.model.why import Why
from mooring.planning.explanations.pool_verdicts import compute_verdict
from mooring.planning.explanations.pools import PoolView, explain_pool
from mooring.queries.fleet import PoolReading, WorkerReading
from mooring.queries.nodes import NodeReading
from mooring.queries.visibility import Visibility

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def worker(name: str = "linux-0", **changes: Any) -> WorkerReading:
    plain = WorkerReading(
        namespace="runners",
        name=name,
        uid=f"uid-of-{name}",
        pool="linux",
        node="work-01",
        state="idle",
        reason="ready and waiting for a claim",
        owner="",
        claims=(),
        protected_until=None,
        address="127.64.0.1",
        why=Why("idle", "ready and waiting for a claim", NOON),
        since=NOON,
        created_at=NOON,
        restarts=0,
        protected=False,
    )
    return msgspec.structs.replace(plain, **changes)


def node(name: str = "work-01", **changes: Any) -> NodeReading:
    plain = NodeReading(
        name=name,
        uid=f"uid-of-{name}",
        ready=True,
        schedulable=True,
        draining="",
        system=False,
        taints=(),
        labels={},
        created_at=NOON,
        quarantine=None,
        workers={},
        why=Why("open", "Ready and open for work", NOON),
    )
    return msgspec.structs.replace(plain, **changes)


def pool(name: str = "linux", **status: Any) -> PoolReading:
    of = Pool("runners", name, "pool-uid", 1, PoolSpec(warm=8, max=20), PoolStatus(**status), created_at=NOON)
    return PoolReading(
        "runners",
        name,
        of.spec,
        of.status,
        generation=1,
        terminating=False,
        why=explain_pool(PoolView(of)),
        verdict=compute_verdict(of, (), NOON),
    )


class EmptyFleet:
    """A fleet without pools, whose invariants nobody may read."""

    sees_invariants = False

    def pools(self) -> list[PoolReading]:
        return []


class AnyReadings:
    """For views that read nothing: the same, whatever a reader may see."""

    fleet = EmptyFleet()

    def within(self, _: Visibility) -> "AnyReadings":
        return self


async def always() -> bool:
    """A reader whose rights do not change."""
    return True
