"""Where the slowest claims spend their time: a trace of the slowest 1 % beside that of the median.

    python -m benchmarks.tail [--workers 1500] [--rate 45] [--seconds 30]

Claims arrive in an open loop, as in `claims.py`, at a `mooring serve` that notes the time of each step
(`traced_serve.py`): waiting for its turn, the row in the ledger, the stamp on the pod, the row that says it runs, and
everything else between the route and the answer. "blocked" is the time in which the event loop of Mooring ran something
else, "collector" the part of it in which it collected garbage. Tracing costs CPU itself; compare shares, not times.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bars import note
from benchmarks.claims_meter import Meter, loading
from benchmarks.claims_stage import Cores, staged

STEPS = ("turn", "row", "stamp", "running", "else", "blocked", "collector")
SLOWEST = 0.01

Times = dict[str, float]
"""Milliseconds of one claim by step."""


async def measure(options: argparse.Namespace) -> list[Times]:
    """Run the claims; the trace of those that were measured."""
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as folder:
        trace = Path(folder) / "trace"
        os.environ["MOORING_TRACE"] = str(trace)
        cores = Cores.of_this_machine(apart=False)
        serve = (sys.executable, "-m", "benchmarks.traced_serve", "serve")
        async with (
            staged(options.workers, 1, budget=False, cores=cores, serve=serve) as stage,
            loading(stage) as load,
        ):
            meter = Meter(stage, load)
            await meter.measure("warm up", kind="claim", count=options.workers // 3, clients=40)
            await meter.release_all()
            seconds = min(options.seconds, options.workers * 0.9 / options.rate)
            phase = await meter.measure(
                f"claims, {options.rate}/s", kind="claim arrivals", rate=options.rate, seconds=seconds
            )
        found = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    return sorted(found, key=lambda times: times["at"])[-len(phase.latencies_ms) :]


def split(claims: Sequence[Times]) -> dict[str, list[Times]]:
    """The slowest, and those around the median."""
    ranked = sorted(claims, key=lambda times: times["all"])
    slowest = max(1, round(len(ranked) * SLOWEST))
    middle, half = len(ranked) // 2, max(1, len(ranked) // 20)
    return {"median": ranked[middle - half : middle + half], f"slowest {SLOWEST:.0%}": ranked[-slowest:]}


def describe(claims: Sequence[Times]) -> list[str]:
    """The mean of each step in milliseconds."""

    def mean(step: str) -> float:
        if step == "else":
            return statistics.fmean(times["all"] - sum(times.get(one, 0.0) for one in STEPS[:4]) for times in claims)
        return statistics.fmean(times.get(step, 0.0) for times in claims)

    return [f"{statistics.fmean(times['all'] for times in claims):.1f}", *(f"{mean(step):.1f}" for step in STEPS)]


def main(options: argparse.Namespace) -> int:
    """Measure and print."""
    groups = split(asyncio.run(measure(options)))
    rows = [["claims", "ms in Mooring", *STEPS], *([name, *describe(group)] for name, group in groups.items())]
    note("The slowest claims", rows)
    for row in rows:
        print("  ".join(f"{cell:>13}" for cell in row))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1500)
    parser.add_argument("--rate", type=int, default=45)
    parser.add_argument("--seconds", type=float, default=30.0)
    sys.exit(main(parser.parse_args()))
