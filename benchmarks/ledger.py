"""The ledger alone: CPU of PostgreSQL for each claim, over time.

    python -m benchmarks.ledger [--seconds 120] [--workers 2000] [--clients 40]

Makes and ends claims through the ledger like `mooring serve` does: inserted and marked running by 40 clients, then all
ended, in rounds, on an embedded PostgreSQL. No cluster is needed. Prints the CPU-ms of PostgreSQL for each claim and
its end, in windows of 15 seconds. The table grows, and PostgreSQL collects statistics several times meanwhile: neither
may make a claim more expensive, so one bar is the last window over the first.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.bars import Bar, draw, judge
from benchmarks.processes import cpu_seconds
from hawser.clock import Entropy, SystemClock
from mooring.ledger.embedded import EmbeddedServer
from mooring.ledger.postgres import PostgresLedger
from mooring.model.claim import EndCause, NewClaim, WorkerSlot

CLOCK = SystemClock()
WINDOW_SECONDS = 15.0
CPU_BAR_MS = 0.45  # inserted, running and ended
GROWTH_BAR = 1.3


@dataclass
class Rounds:
    """Rounds of claims by several clients, on a third of the workers of one pool at a time."""

    ledger: PostgresLedger
    workers: int
    clients: int
    made: int = 0
    _free: list[int] = field(default_factory=list)

    async def run(self) -> None:
        third = self.workers // 3
        self._free = self._free if len(self._free) >= third else list(range(self.workers))
        chosen, self._free = iter(self._free[:third]), self._free[third:]
        held: list[tuple[str, int]] = []
        await asyncio.gather(*(self._claim(chosen, held) for _ in range(self.clients)))
        ending = iter(held)
        await asyncio.gather(*(self._end(ending) for _ in range(self.clients)))

    async def _claim(self, workers: Iterator[int], held: list[tuple[str, int]]) -> None:
        for worker in workers:
            self.made += 1
            new = NewClaim(
                id=f"{self.made:08x}-0000-4000-8000-000000000000",
                namespace="bench",
                pool="pool",
                owner="bench",
                ttl_seconds=3600,
                request_hash="0" * 64,
                holder="bench",
            )
            now = CLOCK.now()
            slot = WorkerSlot(f"pool-{worker}", f"uid-{worker:032}", 0, "10.0.0.1", protected_until=now)
            claim = (await self.ledger.claims.insert_claimed(new, slot, now=now)).require()
            await self.ledger.claims.mark_running(claim.id, claim.epoch, now=CLOCK.now())
            held.append((claim.id, claim.epoch))

    async def _end(self, ending: Iterator[tuple[str, int]]) -> None:
        for claim, epoch in ending:
            await self.ledger.claims.end(claim, epoch, EndCause.RELEASED, now=CLOCK.now(), reason="released")


async def measure(options: argparse.Namespace) -> list[float]:
    """CPU-ms of PostgreSQL for each claim, by window."""
    entropy, costs = Entropy(), []
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as root:
        server = EmbeddedServer(Path(root), clock=CLOCK, entropy=entropy)
        url = await server.start()
        ledger = await PostgresLedger.open(url, clock=CLOCK, entropy=entropy)
        try:
            rounds = Rounds(ledger, options.workers, options.clients)
            began = time.monotonic()
            while time.monotonic() - began < options.seconds:
                costs.append(await _window(rounds, server, time.monotonic() - began))
        finally:
            await ledger.close()
            await server.stop()
    return costs


async def _window(rounds: Rounds, server: EmbeddedServer, second: float) -> float:
    assert server.pid is not None
    pids = {"postgres": server.pid}
    made, began, used = rounds.made, time.monotonic(), cpu_seconds(pids)["postgres"]
    while time.monotonic() - began < WINDOW_SECONDS:
        await rounds.run()
    count = rounds.made - made
    cost = (cpu_seconds(pids)["postgres"] - used) / count * 1e3
    print(f"from second {second:4.0f}: {count / (time.monotonic() - began):5.0f} claims/s, {cost:.3f} CPU-ms each",
          flush=True)  # fmt: skip
    return cost


def main(options: argparse.Namespace) -> int:
    """Measure and judge."""
    costs = asyncio.run(measure(options))
    curve = [(number * WINDOW_SECONDS, cost) for number, cost in enumerate(costs)]
    draw("PostgreSQL over time", ("second", "CPU-ms a claim"), {"insert, running, end": curve})
    return judge(
        [
            Bar("CPU-ms of PostgreSQL a claim, last window", costs[-1], CPU_BAR_MS),
            Bar("CPU of PostgreSQL a claim, last window over first", costs[-1] / costs[0], GROWTH_BAR),
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--workers", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=40)
    sys.exit(main(parser.parse_args()))
