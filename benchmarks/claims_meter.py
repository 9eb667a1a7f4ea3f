"""Phases of `claims.py`: requests by the clients' process, with the counters of all processes before and after."""

import asyncio
import contextlib
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from benchmarks.claims_stage import NAMESPACE, POOL, TOKEN, Stage
from benchmarks.processes import cpu_seconds
from hawser.transport import Request

PATCHES = "PATCH pods"
_REQUESTS = re.compile(r"^apiserver_request_total\{([^}]*)\} (\S+)$", re.MULTILINE)
_LABELS = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Phase:
    """The measurements of one phase."""

    latencies_ms: list[float]
    wall_seconds: float
    requests: dict[str, int]  # that the API server got from anybody, by verb and resource
    collisions: int  # candidates that another replica had taken
    cpu_ms: dict[str, float]  # for each request, by process

    @property
    def rate(self) -> float:
        return len(self.latencies_ms) / self.wall_seconds

    @property
    def writes(self) -> float:
        """Patches of pods for each request."""
        return self.requests.get(PATCHES, 0) / len(self.latencies_ms)

    def at(self, share: float) -> float:
        ranked = sorted(self.latencies_ms)
        return ranked[min(len(ranked) - 1, int(len(ranked) * share))]

    def finished(self, steps: int = 20) -> list[tuple[float, float]]:
        """Of requests that began together: milliseconds, and how many were answered by then."""
        ranked = sorted(self.latencies_ms)
        counts = [round(len(ranked) * step / steps) for step in range(1, steps + 1)]
        return [(0.0, 0.0), *((round(ranked[count - 1]), float(count)) for count in counts if count)]


class Load:
    """The process of the clients."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid
        self.collisions = 0  # of the last job

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
        self.collisions = answer["collisions"]
        return [seconds * 1e3 for seconds in answer["latencies"]], answer["wall"]


@contextlib.asynccontextmanager
async def loading(stage: Stage) -> AsyncIterator[Load]:
    """The clients, ready to run."""
    pipe = asyncio.subprocess.PIPE
    program = (sys.executable, "-m", "benchmarks.claims_load")
    process = await asyncio.create_subprocess_exec(*program, stdin=pipe, stdout=pipe, limit=1 << 24)
    load = Load(process)
    try:
        await load.send(
            {
                "authority": str(stage.plane.authority),
                "kubernetes_port": urlsplit(stage.plane.url).port,
                "kubernetes_token": stage.plane.token,
                "mooring_ports": stage.mooring_ports,
                "mooring_token": TOKEN,
                "claims_path": f"/v1/pools/{NAMESPACE}/{POOL}/claims",
                "pods_path": f"/api/v1/namespaces/{NAMESPACE}/pods",
                "database": stage.database,
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
        before, cpu = await self._requests(), cpu_seconds(self._pids)
        latencies, wall = await self._load.run(**job)
        used = cpu_seconds(self._pids)
        costs = {process: (used[process] - cpu[process]) / len(latencies) * 1e3 for process in used}
        requests = dict(await self._requests() - before)
        phase = Phase(latencies, wall, requests, self._load.collisions, costs)
        show(name, phase)
        return phase

    async def release_all(self) -> None:
        await self._load.run(kind="release")
        await asyncio.sleep(3)

    async def _requests(self) -> Counter[str]:
        answer = await self._stage.client._transport.send(Request("GET", "/metrics"))
        return count_requests((await answer.read()).decode())


def count_requests(metrics: str) -> Counter[str]:
    """The API server's requests so far, by verb and resource."""
    found: Counter[str] = Counter()
    for labels, count in _REQUESTS.findall(metrics):
        label = dict(_LABELS.findall(labels))
        if label["resource"]:
            part = f"/{label['subresource']}" if label["subresource"] else ""
            found[f"{label['verb']} {label['resource']}{part}"] += int(float(count))
    return found


def show(name: str, phase: Phase) -> None:
    """One line of the table, one of costs, and one of requests."""
    times = "  ".join(f"p{share * 100:.0f} {phase.at(share):>7.1f}" for share in (0.5, 0.9, 0.99))
    counts = f"writes {phase.writes:.2f}  ({len(phase.latencies_ms)} in all)"
    print(f"{name:<28} {phase.rate:>6.0f}/s  {times} ms  {counts}")
    costs = "  ".join(f"{process.removeprefix('kube-')} {cost:.2f}" for process, cost in phase.cpu_ms.items())
    print(f"{'':<28} CPU-ms each: {costs}")
    print(f"{'':<28} requests: {describe_requests(phase)}", flush=True)


def describe_requests(phase: Phase) -> str:
    """The requests that the API server got, most frequent first."""
    ranked = sorted(phase.requests.items(), key=lambda item: -item[1])
    return ", ".join(f"{kind} {count}" for kind, count in ranked)
