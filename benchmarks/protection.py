"""CPU of one protection check of a settled fleet, including its read of the ledger.

    python -m benchmarks.protection [--workers 10000] [--busy 3000]

Starts a PostgreSQL, writes a live claim for every busy worker, and checks twenty times against a cluster that counts
requests. Nothing changes, so there must be none. Prints the median milliseconds of CPU a check.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.bars import Bar, judge
from benchmarks.replica import make_replica
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.transport import Request, Response
from mooring.controllers.invariants.protection import ProtectionEnforcement
from mooring.ledger.embedded import EmbeddedServer
from mooring.ledger.port import Ledger
from mooring.ledger.postgres import PostgresLedger
from mooring.model.claim import NewClaim, WorkerSlot
from mooring.model.node import Node
from mooring.model.worker import MARKED, UNMARKED, Worker

CHECKS = 20
BAR_MILLISECONDS = 50.0
CEILING = timedelta(hours=1)


class Counting:
    """A cluster that counts requests and answers none."""

    def __init__(self) -> None:
        self.asked = 0

    async def send(self, request: Request) -> Response:
        self.asked += 1
        raise AssertionError(f"{request.method} {request.path}")


async def measure(workers: int, busy: int) -> list[Bar]:
    """The bars: CPU of a check, and requests to the API server."""
    clock, entropy = SystemClock(), Entropy(1)
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedServer(Path(folder), clock=clock, entropy=entropy)
        ledger = await PostgresLedger.open(await server.start(), clock=clock, entropy=entropy)
        try:
            await _fill(ledger, busy, clock)
            cluster = Counting()
            checks = _enforcement(ledger, cluster, workers, busy)
            spent = [await _timed(checks) for _ in range(CHECKS)]
        finally:
            await ledger.close()
            await server.stop()
    median = statistics.median(spent) * 1e3
    print(f"{workers} workers, {busy} busy: {median:.1f} ms CPU a check, worst {max(spent) * 1e3:.1f} ms")
    return [
        Bar("CPU-ms of a protection check", median, BAR_MILLISECONDS),
        Bar(f"requests in {CHECKS} checks", cluster.asked, 0),
    ]


async def _fill(ledger: Ledger, busy: int, clock: SystemClock) -> None:
    for begin in range(0, busy, 50):
        slots = range(begin, min(begin + 50, busy))
        await asyncio.gather(*(_claim(ledger, slot, clock) for slot in slots))


async def _claim(ledger: Ledger, slot: int, clock: SystemClock) -> None:
    now = clock.now()
    new = NewClaim(id=f"claim-{slot}", namespace="bench", pool="pool", owner="acme", ttl_seconds=3600)
    where = WorkerSlot(f"pool-{slot}", f"uid-{slot}", 0, "127.64.0.1", now + CEILING)
    (await ledger.claims.insert_claimed(new, where, now=now)).require()


def _enforcement(ledger: Ledger, cluster: Counting, workers: int, busy: int) -> ProtectionEnforcement:
    clock = SystemClock()
    now = clock.now()
    fleet: Any = SimpleNamespace(
        nodes={"node-1": Node("node-1", "uid-node-1")},
        fresh=True,
        worker_pools={
            "bench/pool": {
                f"uid-{slot}": Worker(
                    namespace="bench",
                    name=f"pool-{slot}",
                    uid=f"uid-{slot}",
                    resource_version=str(slot),
                    pool="pool",
                    pool_uid="pool-uid",
                    created_at=now,
                    spec_hash="current",
                    node="node-1",
                    phase="Running",
                    ready=True,
                    marks=MARKED if slot < busy else UNMARKED,
                )
                for slot in range(workers)
            }
        },
    )
    return ProtectionEnforcement(make_replica(KubeClient(cluster), ledger, clock, Entropy(1)).context, fleet)


async def _timed(checks: ProtectionEnforcement) -> float:
    started = time.process_time()
    await checks.look()
    return time.process_time() - started


def main() -> int:
    """Measure and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--workers", type=int, default=10_000)
    asked.add_argument("--busy", type=int, default=3_000)
    sizes = asked.parse_args()
    return judge(asyncio.run(measure(sizes.workers, sizes.busy)))


if __name__ == "__main__":
    sys.exit(main())
