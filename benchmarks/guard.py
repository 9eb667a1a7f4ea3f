"""CPU of one look of the guard at a settled fleet, the read of its ledger included.

    python benchmarks/guard.py [--workers 10000] [--busy 3000]

Starts a PostgreSQL, writes a live claim for every busy worker, and looks twenty times with a guard whose cluster counts
what it is asked: nothing, when nothing changed. Prints the median milliseconds of CPU a look, and the bar.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mooring.clock import Entropy, SystemClock
from mooring.control.auditing import Auditor
from mooring.control.protecting import Guard
from mooring.control.switches import Switches
from mooring.kube.client import KubeClient
from mooring.kube.transport import Request, Response
from mooring.ledger.embedded import EmbeddedServer
from mooring.ledger.port import Ledger
from mooring.ledger.postgres import PostgresLedger
from mooring.model.claim import NewClaim, WorkerSlot
from mooring.model.node import Node
from mooring.model.worker import SHIELD_DOWN, SHIELD_UP, Worker

LOOKS = 20
BAR_MILLISECONDS = 50.0
CEILING = timedelta(hours=1)


class Counting:
    """A cluster that only counts."""

    def __init__(self) -> None:
        self.asked = 0

    async def send(self, request: Request) -> Response:
        self.asked += 1
        raise AssertionError(f"{request.method} {request.path}")


async def measure(workers: int, busy: int) -> None:
    clock, entropy = SystemClock(), Entropy(1)
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedServer(Path(folder), clock=clock, entropy=entropy)
        ledger = await PostgresLedger.open(await server.start(), clock=clock, entropy=entropy)
        try:
            await _fill(ledger, busy, clock)
            cluster = Counting()
            guard = _guard(ledger, cluster, workers, busy, clock, entropy)
            spent = [await _timed(guard) for _ in range(LOOKS)]
        finally:
            await ledger.close()
            await server.stop()
    median = statistics.median(spent) * 1e3
    verdict = "holds" if median < BAR_MILLISECONDS and not cluster.asked else "MISSED"
    print(f"{workers} workers, {busy} busy: {median:.1f} ms CPU a look, worst {max(spent) * 1e3:.1f} ms")
    print(f"asked of the API server in {LOOKS} looks: {cluster.asked}")
    print(f"bar: under {BAR_MILLISECONDS:.0f} ms and nothing asked, {verdict}")


async def _fill(ledger: Ledger, busy: int, clock: SystemClock) -> None:
    for begin in range(0, busy, 50):
        slots = range(begin, min(begin + 50, busy))
        await asyncio.gather(*(_claim(ledger, slot, clock) for slot in slots))


async def _claim(ledger: Ledger, slot: int, clock: SystemClock) -> None:
    now = clock.now()
    new = NewClaim(id=f"claim-{slot}", namespace="bench", pool="pool", owner="acme", ttl_seconds=3600)
    where = WorkerSlot(f"pool-{slot}", f"uid-{slot}", 0, "127.64.0.1", now + CEILING)
    (await ledger.claims.insert_claimed(new, where, now=now)).require()


def _guard(ledger: Ledger, cluster: Counting, workers: int, busy: int, clock: SystemClock, entropy: Entropy) -> Guard:
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
                    shield=SHIELD_UP if slot < busy else SHIELD_DOWN,
                )
                for slot in range(workers)
            }
        },
    )
    switches = Switches(ledger, clock)
    auditor = Auditor(ledger, clock, entropy, "bench", lambda: 0)
    return Guard(KubeClient(cluster), ledger, fleet, switches, auditor, lambda: True, clock, 2.0)


async def _timed(guard: Guard) -> float:
    started = time.process_time()
    await guard.look()
    return time.process_time() - started


def main() -> None:
    """Measure and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--workers", type=int, default=10_000)
    asked.add_argument("--busy", type=int, default=3_000)
    sizes = asked.parse_args()
    asyncio.run(measure(sizes.workers, sizes.busy))


if __name__ == "__main__":
    main()
