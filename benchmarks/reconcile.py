"""Planning time by the size of a pool: 1,000, 10,000 and 50,000 workers.

    python -m benchmarks.reconcile

Prints the CPU time of one call of `plan_pool` (best of several rounds, in which the sizes take turns), and the growth
of the time for each worker relative to the smallest size: near 1.0 the time is linear. The garbage collector is set as
in `mooring serve`. A large fleet does not fit into the processor's cache: the floor of the growth is what it would be
if only one loop over six fields of each worker became slower.
"""

import math
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec

from benchmarks.bars import Bar, Floor, draw, judge
from mooring.cli.launch.process import tune_garbage_collection
from mooring.controllers.pools.classification_cache import ClassificationCache
from mooring.model.node import Node
from mooring.model.pool import Pool, PoolSpec
from mooring.model.worker import Stamp, Worker
from mooring.planning.placement import Placed
from mooring.planning.pools.plan import plan_pool
from mooring.planning.pools.snapshot import PoolSnapshot

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SIZES = (1_000, 10_000, 50_000)
BAR_MILLISECONDS = 100.0  # for 10,000 workers
ROUNDS = 5
GROWTH_BAR = 1.3  # time for each worker at the largest size over that at the smallest


def fleet(size: int) -> PoolSnapshot:
    """A mixed fleet: a third busy, some starting, some of an old template, on one node for every twenty workers."""
    nodes = {f"node-{n}": Node(f"node-{n}", f"uid-{n}", unschedulable=n % 50 == 0) for n in range(size // 20)}
    names = list(nodes)
    workers = []
    for slot in range(size):
        ready = slot % 10 != 0
        workers.append(
            Worker(
                namespace="bench",
                name=f"pool-{slot}",
                uid=f"pod-{slot}",
                resource_version=str(slot),
                pool="pool",
                pool_uid="pool-uid",
                created_at=NOW - timedelta(minutes=30),
                spec_hash="old" if slot % 7 == 0 else "current",
                node=names[slot % len(names)],
                phase="Running",
                ready=ready,
                ready_since=NOW - timedelta(seconds=slot % 900) if ready else None,
                stamp=Stamp("acme", f"claim-{slot}", slot, NOW) if slot % 3 == 0 else None,
            )
        )
    spec = msgspec.convert({"warm": size // 3, "max": size * 2, "template": {}}, PoolSpec)
    pool = Pool("bench", "pool", "pool-uid", 1, spec)
    return PoolSnapshot(NOW, pool, "current", tuple(workers), (), nodes, Placed(nodes=len(nodes)))


def main() -> int:
    """Measure and print."""
    print(f"{'workers':>8}  {'ms a plan':>10}  {'µs a worker':>12}  {'growth':>6}")
    fleets = {size: fleet(size) for size in SIZES}
    tune_garbage_collection()
    each, looks = dict.fromkeys(SIZES, math.inf), dict.fromkeys(SIZES, math.inf)
    for _ in range(ROUNDS):
        for size, snapshot in fleets.items():
            for _ in range(SIZES[-1] // size if size < SIZES[1] else 1):  # a small one as long as the largest
                each[size] = min(each[size], _timed(snapshot) / size * 1e6)
                looks[size] = min(looks[size], _looked(snapshot) / size * 1e6)
    small, large = SIZES[0], SIZES[-1]
    for size in SIZES:
        print(f"{size:>8}  {each[size] * size / 1e3:>10.1f}  {each[size]:>12.2f}  {each[size] / each[small]:>6.2f}")
    misses = looks[large] - looks[small]
    floor = Floor((each[small] + misses) / each[small], "the same, if only one read of each worker cost more")
    draw("Planning by the size of a pool", ("workers", "µs a worker"), {"plan_pool": list(each.items())})
    return judge(
        [
            Bar("CPU-ms of a plan for 10,000 workers", each[10_000] * 10, BAR_MILLISECONDS),
            Bar("time a worker at 50,000 over that at 1,000", each[large] / each[small], GROWTH_BAR, floor=floor),
        ]
    )


def _timed(snapshot: PoolSnapshot) -> float:
    """With the first classification of all workers, which later plans only repeat for workers that changed."""
    started = time.process_time()
    classified = ClassificationCache().classify(snapshot.workers, snapshot.nodes, snapshot.held, snapshot.unhealthy)
    plan_pool(replace(snapshot, classified=classified))
    return time.process_time() - started


def _looked(snapshot: PoolSnapshot) -> float:
    """A loop that decides nothing."""
    started = time.process_time()
    for worker in snapshot.workers:
        _ = (worker.uid, worker.node, worker.phase, worker.ready_since, worker.stamp, worker.spec_hash)
    return time.process_time() - started


if __name__ == "__main__":
    sys.exit(main())
