"""Claims against a real control plane, in one run: how fast, how late, how many writes, how much CPU.

    python benchmarks/claims.py [--workers 2000] [--seconds 60] [--budget] [--apart]

Starts kube-apiserver, controller-manager and scheduler (`make kubernetes`), a PostgreSQL and one `mooring serve`, fills
a pool with warm workers (`claims_stage.py`), and measures over HTTP, from a process of its own (`claims_load.py`):
the raw rate of pod merge-patches with 32 in flight, on pods that Mooring does not watch, with a patch as large as a
claim's; claims with 1, 10 and 40 clients; claim+release cycles; arrivals at 45/s, open loop; a burst of 300,
and one of 300 raw patches: sooner than that no claim can be served on this machine.
With --apart the control plane has one half of the cores and Mooring, its database and the clients have the other, as
they share no machine in production: then the API server is what limits claims. With --budget the pool has its
PodDisruptionBudget: kube-controller-manager then counts the pool's pods and writes the budget's status again and again
while workers change hands, which is a cost of Kubernetes and not of a claim.
Prints p50/p90/p99, API writes a claim, CPU-ms a claim by process, and the bars; ends with 1 when one is missed.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from claims_stage import NAMESPACE, POOL, TOKEN, Cores, Stage, staged, starting_on

from mooring.kube.transport import Request

RATIO_BAR, CPU_BAR_MS, P50_BAR_MS, P99_BAR_MS, BURST_BAR_MS = 0.8, 2.0, 15.0, 50.0, 500.0
_TICKS = os.sysconf("SC_CLK_TCK")
_PATCHES = re.compile(r'^apiserver_request_total\{[^}]*resource="pods",[^}]*verb="PATCH"[^}]*\} (\d+)', re.MULTILINE)


@dataclass(frozen=True)
class Phase:
    """What one phase came to."""

    latencies_ms: list[float]
    wall_seconds: float
    writes: int
    cpu_ms: dict[str, float]  # a request, by process

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

    async def tell(self, words: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words).encode() + b"\n")
        await self._process.stdin.drain()

    async def run(self, **job: Any) -> tuple[list[float], float]:
        """The latencies in milliseconds, and the seconds it took."""
        assert self._process.stdout is not None
        await self.tell(job)
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
        await load.tell(
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
    """Runs phases between two readings of the counters."""

    def __init__(self, stage: Stage, load: Load) -> None:
        self._stage = stage
        self._load = load
        self._pids = {**stage.pids, "clients": load.pid}

    async def measure(self, name: str, **job: Any) -> Phase:
        writes, cpu = await self._pod_patches(), self._cpu()
        latencies, wall = await self._load.run(**job)
        used = self._cpu()
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

    def _cpu(self) -> dict[str, float]:
        """CPU seconds used so far by each process and its children."""
        families = _children()
        return {name: sum(map(_cpu_seconds, _family(pid, families))) for name, pid in self._pids.items()}


def _cpu_seconds(pid: int) -> float:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS  # own and that of children that have ended
    return 0.0


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found.setdefault(parent, []).append(int(folder.name))
    return found


def _family(pid: int, families: dict[int, list[int]]) -> list[int]:
    return [pid, *(one for child in families.get(pid, ()) for one in _family(child, families))]


def show(name: str, phase: Phase) -> None:
    """One line of the table, and one of costs."""
    count = len(phase.latencies_ms)
    print(f"{name:<24} {phase.rate:>6.0f}/s  p50 {phase.at(0.5):>7.1f}  p90 {phase.at(0.9):>7.1f}"
          f"  p99 {phase.at(0.99):>7.1f} ms  writes {phase.writes / count:.2f}  ({count} in all)")  # fmt: skip
    costs = "  ".join(f"{process.removeprefix('kube-')} {cost:.2f}" for process, cost in phase.cpu_ms.items())
    print(f"{'':<24} CPU-ms each: {costs}", flush=True)


async def run_phases(meter: Meter, stage: Stage, workers: int, seconds: int) -> int:
    """All phases, then the bars."""
    count = workers // 3
    raw = await meter.measure("raw patch, 32 in flight", kind="patch", names=stage.raw_pods, clients=32)
    claims = []
    for clients in (1, 10, 40):
        number = max(50, count if clients > 1 else count // 4)
        claims.append(await meter.measure(f"claims, {clients} clients", kind="claim", count=number, clients=clients))
        await meter.release_all()
    await meter.measure("claim+release, 20", kind="cycle", count=count, clients=20)
    steady = await meter.measure(f"45/s for {seconds} s", kind="arrivals", rate=45.0, seconds=seconds)
    await asyncio.sleep(3)
    burst = await meter.measure("burst of 300", kind="claim", count=300, clients=300)
    bare = await meter.measure("raw burst of 300", kind="patch", names=stage.raw_pods[:300], clients=300)
    best = max(claims, key=lambda phase: phase.rate)
    writes = max(phase.writes / len(phase.latencies_ms) for phase in (*claims, burst))
    bars = [
        ("claims/s over raw patches/s", best.rate / raw.rate, ">=", RATIO_BAR),
        ("CPU-ms of mooring a claim, at most", best.cpu_ms["mooring"], "<=", CPU_BAR_MS),
        ("API writes a claim, at most", writes, "<=", 1.0),
        ("p50 in ms at 45/s", steady.at(0.5), "<=", P50_BAR_MS),
        ("p99 in ms at 45/s", steady.at(0.99), "<=", P99_BAR_MS),
        ("p50 in ms of the burst", burst.at(0.5), "<=", BURST_BAR_MS),
    ]
    print()
    missed = 0
    for what, value, sign, bar in bars:
        holds = value >= bar if sign == ">=" else value <= bar
        missed += not holds
        print(f"{what:<36} {value:>8.2f}  (bar {sign} {bar:g})  {'holds' if holds else 'MISSED'}")
    print(f"{'p50 of the burst over that of raw patches':<44} {burst.at(0.5) / bare.at(0.5):.2f}")
    return 1 if missed else 0


async def main(workers: int, seconds: int, *, budget: bool, apart: bool) -> int:
    """Set the stage and measure."""
    cores = Cores.of_this_machine(apart=apart)
    async with staged(workers, workers // 3, budget=budget, cores=cores) as stage:
        with starting_on(cores.mooring):
            async with loading(stage) as load:
                return await run_phases(Meter(stage, load), stage, workers, seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--budget", action="store_true")
    parser.add_argument("--apart", action="store_true")
    arguments = parser.parse_args()
    measured = main(arguments.workers, arguments.seconds, budget=arguments.budget, apart=arguments.apart)
    sys.exit(asyncio.run(measured))
