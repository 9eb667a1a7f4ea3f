"""Claims of two versions of Mooring, in turns, in one run.

    python -m benchmarks.compare OTHER/.venv/bin/python [--workers 900] [--rounds 10]

Both versions run at the same time, each with its own control plane and PostgreSQL (`claims_stage.py`). Rounds of claims
with 40 clients alternate between them, so that noise of the machine meets both. OTHER is a work tree of the other
version after `make setup`. Prints the rate and the CPU of each round, and the medians of this version over the other.
"""

import argparse
import asyncio
import statistics
import sys
from contextlib import AsyncExitStack

from benchmarks.bars import Bar, judge
from benchmarks.claims_meter import Meter, Phase, loading
from benchmarks.claims_stage import SERVE, Cores, staged

RATE_BAR, CPU_BAR = 0.95, 1.05  # "no slower": within the noise that is left


async def measure(options: argparse.Namespace) -> dict[str, list[Phase]]:
    """The rounds of both versions."""
    versions = {"other": (options.python, *SERVE[1:]), "this": SERVE}
    phases: dict[str, list[Phase]] = {version: [] for version in versions}
    async with AsyncExitStack() as stack:
        meters = {}
        for version, serve in versions.items():
            cores = Cores.of_this_machine(apart=False)
            stage = await stack.enter_async_context(staged(options.workers, 1, budget=False, cores=cores, serve=serve))
            meters[version] = Meter(stage, await stack.enter_async_context(loading(stage)))
        for number in range(options.rounds + 1):
            for version, meter in meters.items():
                count = options.workers // 2
                phase = await meter.measure(f"{number}: {version}", kind="claim", count=count, clients=40)
                await meter.release_all()
                if number:  # the first round warms up
                    phases[version].append(phase)
    return phases


def _median_ratio(phases: dict[str, list[Phase]], cost: str = "") -> float:
    """The median over the rounds of this version's rate, or CPU, over the other's."""

    def value(phase: Phase) -> float:
        return phase.cpu_ms[cost] if cost else phase.rate

    return statistics.median(
        value(this) / value(other) for this, other in zip(phases["this"], phases["other"], strict=True)
    )


def main(options: argparse.Namespace) -> int:
    """Measure and judge."""
    phases = asyncio.run(measure(options))
    print()
    return judge(
        [
            Bar("claims/s, this over other", _median_ratio(phases), RATE_BAR, at_least=True),
            Bar("CPU of Mooring a claim, this over other", _median_ratio(phases, "mooring"), CPU_BAR),
            Bar("CPU of PostgreSQL a claim, this over other", _median_ratio(phases, "postgres"), CPU_BAR),
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the Python of the other version's environment")
    parser.add_argument("--workers", type=int, default=900)
    parser.add_argument("--rounds", type=int, default=10)
    sys.exit(main(parser.parse_args()))
