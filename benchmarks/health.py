"""The cost of health checks: CPU of the checking process for each check, and how evenly checks are spread over time.

    python -m benchmarks.health [--workers 1000] [--seconds 10]

All workers are connections to one small server in another process; only the CPU of the checking process is counted.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from benchmarks.bars import Bar, judge
from hawser.clock import Entropy, SystemClock
from mooring.controllers.activity import PolledActivity
from mooring.controllers.pools.health import HealthChecks
from mooring.controllers.pools.probe import Answer, HttpProbe, Target
from mooring.model.pool import Health, Pool, PoolSpec
from mooring.model.worker import Worker
from mooring.planning.destinations import THIS_MACHINE

ADDRESS, PORT, KEY = "127.64.255.1", 8000, "bench/workers"
PERIOD_SECONDS = 2  # of the pool's health checks
CPU_BAR_MS, DONE_BAR = 0.5, 0.9


class StandingFleet:
    """A number of workers at one address, which never change."""

    def __init__(self, count: int) -> None:
        since = datetime(2026, 3, 1, tzinfo=UTC)
        self._pool = Pool("bench", "workers", "pool", 1, PoolSpec(max=count, health=Health(port=PORT)))
        known = {"pool": "workers", "pool_uid": "pool", "created_at": since, "spec_hash": "", "ready": True}
        self._workers = {
            f"uid-{n}": Worker("bench", f"workers-{n}", f"uid-{n}", "1", **known, phase="Running", address=ADDRESS)
            for n in range(count)
        }

    def subscribe(self, _: object) -> None:
        return None

    def subscribe_workers(self, listener: object) -> None:
        self.listener = listener

    def pool(self, _: str) -> Pool:
        return self._pool

    def worker(self, _: str, uid: str) -> Worker | None:
        return self._workers.get(uid)

    def arrive(self) -> None:
        for uid in self._workers:
            self.listener(KEY, uid)


@dataclass
class Counting:
    """A probe that records the time of each check and counts failures."""

    inner: HttpProbe = field(default_factory=lambda: HttpProbe(THIS_MACHINE))
    began: list[float] = field(default_factory=list)
    failed: int = 0

    async def check(self, target: Target) -> Answer:
        self.began.append(time.monotonic())
        answer = await self.inner.check(target)
        self.failed += not answer.ok
        return answer


async def measure(workers: int, seconds: float) -> list[Bar]:
    """The bars, after a few lines about the spread of checks."""
    clock, probe, fleet = SystemClock(), Counting(), StandingFleet(workers)
    checks = HealthChecks(fleet, probe, PolledActivity(clock), clock, Entropy())  # type: ignore[arg-type]
    fleet.arrive()
    running = asyncio.create_task(checks.run())
    await asyncio.sleep(2.5)
    probe.began.clear()
    before, started = time.process_time(), time.monotonic()
    await asyncio.sleep(seconds)
    spent, passed = time.process_time() - before, time.monotonic() - started
    running.cancel()
    slices = [0] * int(passed * 20 + 1)
    for moment in probe.began:
        slices[int((moment - started) * 20)] += 1
    count = len(probe.began)
    due = workers / PERIOD_SECONDS * passed
    tasks = len(asyncio.all_tasks())
    print(f"{workers} workers: {count / passed:.0f} checks/s, {spent / passed * 100:.0f} % of a core")
    print(f"fullest 50 ms: {max(slices)} checks, mean {count / len(slices):.0f}; tasks at the end: {tasks}")
    return [
        Bar("CPU-ms a check", spent / count * 1e3, CPU_BAR_MS),
        Bar("checks made over checks due", count / due, DONE_BAR, at_least=True),
        Bar("failed checks", probe.failed, 0),
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, "-m", "mooring.client.health", "--port", str(PORT)],
        env={**os.environ, "POD_IP": ADDRESS},
        stdout=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        server.stdout.readline()
        return judge(asyncio.run(measure(given.workers, given.seconds)))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
