"""Claims against a real control plane, compared with plain pod patches in the same run.

    python -m benchmarks.claims [--workers 2000] [--seconds 60] [--rounds 5] [--budget] [--apart]

Starts kube-apiserver, controller-manager and scheduler (`make kubernetes`), a PostgreSQL and one `mooring serve`, fills
a pool with warm workers (`claims_stage.py`), and measures over HTTP from a separate process (`claims_load.py`):

- rounds of raw patches with 32 in flight, on pods that Mooring does not watch and with a patch as large as a claim's,
  and of claims with 40 clients;
- claims with 1 and 10 clients, and cycles of claim and release;
- arrivals at 45/s in an open loop, and bursts of 300 at once, of raw patches and of claims.

A claim cannot be faster than its patch, so the bars are ratios to raw patches. With --apart the control plane has one
half of the cores, and Mooring, its database and the clients have the other half, like on separate machines. With
--budget the pool has its PodDisruptionBudget: kube-controller-manager then writes the budget's status again whenever
workers change hands, which is a cost of Kubernetes. Prints p50/p90/p99, API writes and CPU-ms a claim by process.
"""

import argparse
import asyncio
import contextlib
import json
import re
import statistics
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.bars import Bar, judge
from benchmarks.claims_stage import NAMESPACE, POOL, TOKEN, Cores, Stage, staged, starting_on
from benchmarks.processes import cpu_seconds
from hawser.transport import Request

RATE_BAR, RATE_BAR_APART = 0.72, 0.92  # claims/s over raw patches/s
CPU_BAR_MS = 1.2  # of Mooring and PostgreSQL, a claim
STEADY_BAR = 1.6  # p50 and p99 at 45/s over those of raw patches
BURST_P50_BAR, BURST_P99_BAR = 0.9, 1.5  # of 300 at once, over those of raw patches
STEADY_RATE = 45.0
BURST = 300
_PATCHES = re.compile(r'^apiserver_request_total\{[^}]*resource="pods",[^}]*verb="PATCH"[^}]*\} (\d+)', re.MULTILINE)


@dataclass(frozen=True)
class Phase:
    """The measurements of one phase."""

    latencies_ms: list[float]
    wall_seconds: float
    writes: int
    cpu_ms: dict[str, float]  # for each request, by process

    @property
    def rate(self) -> float:
        return len(self.latencies_ms) / self.wall_seconds

    def at(self, share: float) -> float:
        ranked = sorted(self.latencies_ms)
        return ranked[min(len(ranked) - 1, int(len(ranked) * share))]


class Load:
    """The process of the clients."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    async def send(self, words: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words).encode() + b"\n")
        await self._process.stdin.drain()

    async def run(self, **job: Any) -> tuple[list[float], float]:
        """The latencies in milliseconds, and the total time in seconds."""
        assert self._process.stdout is not None
        await self.send(job)
        line = await self._process.stdout.readline()
        if not line:
            raise SystemExit("the clients failed")
        answer = json.loads(line)
        return [seconds * 1e3 for seconds in answer["latencies"]], answer["wall"]


@contextlib.asynccontextmanager
async def loading(stage: Stage) -> AsyncIterator[Load]:
    script = str(Path(__file__).with_name("claims_load.py"))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, script, stdin=pipe, stdout=pipe, limit=1 << 24)
    load = Load(process)
    try:
        await load.send(
            {
                "authority": str(stage.plane.authority),
                "kubernetes_port": urlsplit(stage.plane.url).port,
                "kubernetes_token": stage.plane.token,
                "mooring_port": stage.mooring_port,
                "mooring_token": TOKEN,
                "claims_path": f"/v1/pools/{NAMESPACE}/{POOL}/claims",
                "pods_path": f"/api/v1/namespaces/{NAMESPACE}/pods",
            }
        )
        yield load
    finally:
        process.terminate()
        await process.wait()


class Meter:
    """Runs phases and reads the counters before and after."""

    def __init__(self, stage: Stage, load: Load) -> None:
        self._stage = stage
        self._load = load
        self._pids = {**stage.pids, "clients": load.pid}

    async def measure(self, name: str, **job: Any) -> Phase:
        writes, cpu = await self._pod_patches(), cpu_seconds(self._pids)
        latencies, wall = await self._load.run(**job)
        used = cpu_seconds(self._pids)
        count = len(latencies)
        costs = {process: (used[process] - cpu[process]) / count * 1e3 for process in used}
        phase = Phase(latencies, wall, await self._pod_patches() - writes, costs)
        show(name, phase)
        return phase

    async def release_all(self) -> None:
        await self._load.run(kind="release")
        await asyncio.sleep(3)

    async def _pod_patches(self) -> int:
        answer = await self._stage.client._transport.send(Request("GET", "/metrics"))
        return sum(int(count) for count in _PATCHES.findall((await answer.read()).decode()))


def show(name: str, phase: Phase) -> None:
    """One line of the table, and one of costs."""
    count = len(phase.latencies_ms)
    print(f"{name:<24} {phase.rate:>6.0f}/s  p50 {phase.at(0.5):>7.1f}  p90 {phase.at(0.9):>7.1f}"
          f"  p99 {phase.at(0.99):>7.1f} ms  writes {phase.writes / count:.2f}  ({count} in all)")  # fmt: skip
    costs = "  ".join(f"{process.removeprefix('kube-')} {cost:.2f}" for process, cost in phase.cpu_ms.items())
    print(f"{'':<24} CPU-ms each: {costs}", flush=True)


@dataclass(frozen=True)
class Measured:
    """All phases that the bars are about."""

    rounds: list[tuple[Phase, Phase]]  # raw patches, claims
    steady: tuple[Phase, Phase]
    burst: tuple[Phase, Phase]

    def bars(self, *, apart: bool) -> list[Bar]:
        """The ratios to raw patches, the CPU and the writes."""
        claims = [claim for _, claim in self.rounds]
        rate = statistics.median(claim.rate / raw.rate for raw, claim in self.rounds)
        cpu = statistics.median(claim.cpu_ms["mooring"] + claim.cpu_ms["postgres"] for claim in claims)
        writes = max(phase.writes / len(phase.latencies_ms) for phase in (*claims, self.burst[1]))
        return [
            Bar("claims/s over raw patches/s", rate, RATE_BAR_APART if apart else RATE_BAR, at_least=True),
            Bar("CPU-ms of Mooring and PostgreSQL a claim", cpu, CPU_BAR_MS),
            Bar("API writes a claim", writes, 1.0),
            _ratio("p50 at 45/s over raw patches", self.steady, 0.5, STEADY_BAR),
            _ratio("p99 at 45/s over raw patches", self.steady, 0.99, STEADY_BAR),
            _ratio("p50 of a burst of 300 over raw patches", self.burst, 0.5, BURST_P50_BAR),
            _ratio("p99 of a burst of 300 over raw patches", self.burst, 0.99, BURST_P99_BAR),
        ]


def _ratio(what: str, pair: tuple[Phase, Phase], share: float, bar: float) -> Bar:
    raw, claim = pair
    return Bar(what, claim.at(share) / raw.at(share), bar)


async def run_phases(meter: Meter, stage: Stage, options: argparse.Namespace) -> Measured:
    """All phases, one after another."""
    count, raw_pods, seconds = options.workers // 3, stage.raw_pods, options.seconds
    rounds = []
    for number in range(1, options.rounds + 1):
        raw = await meter.measure(f"{number}: raw, 32 in flight", kind="patch", names=raw_pods, clients=32)
        claims = await meter.measure(f"{number}: claims, 40 clients", kind="claim", count=count, clients=40)
        await meter.release_all()
        rounds.append((raw, claims))
    for clients, share in ((1, 4), (10, 1)):
        number = max(50, count // share)
        await meter.measure(f"claims, {clients} clients", kind="claim", count=number, clients=clients)
        await meter.release_all()
    await meter.measure("claim+release, 20", kind="cycle", count=count, clients=20)
    pace = {"rate": STEADY_RATE, "seconds": seconds}
    steady_raw = await meter.measure(f"raw, 45/s for {seconds} s", kind="patch arrivals", names=raw_pods, **pace)
    steady = await meter.measure(f"claims, 45/s for {seconds} s", kind="arrivals", **pace)
    await asyncio.sleep(3)
    burst_raw = await meter.measure("raw, burst of 300", kind="patch", names=_some(raw_pods), clients=BURST)
    burst = await meter.measure("claims, burst of 300", kind="claim", count=BURST, clients=BURST)
    return Measured(rounds, (steady_raw, steady), (burst_raw, burst))


def _some(names: list[str]) -> list[str]:
    """As many pods as the burst has; some of them twice if there are fewer."""
    return [names[number % len(names)] for number in range(BURST)]


async def main(options: argparse.Namespace) -> int:
    """Start everything and measure."""
    cores = Cores.of_this_machine(apart=options.apart)
    async with staged(options.workers, options.workers // 3, budget=options.budget, cores=cores) as stage:
        with starting_on(cores.mooring):
            async with loading(stage) as load:
                measured = await run_phases(Meter(stage, load), stage, options)
    print()
    return judge(measured.bars(apart=options.apart))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", action="store_true")
    parser.add_argument("--apart", action="store_true")
    sys.exit(asyncio.run(main(parser.parse_args())))
