"""Claims by one, two and three replicas, with one PostgreSQL and one API server.

    python -m benchmarks.replicas [--workers 900] [--rounds 3]

Three replicas of `mooring serve` run (`claims_stage.py`); 40 clients send claims to the first, to two or to all three,
in turns. Prints the rate, the CPU and the collisions: candidates that another replica had taken when the row was
inserted. One API server serves all, so on one machine more replicas show where the limit lies, not more claims.
"""

import argparse
import asyncio
import statistics
import sys

from benchmarks.bars import Bar, draw, judge, note
from benchmarks.claims_meter import Meter, Phase, loading
from benchmarks.claims_stage import Cores, staged

REPLICAS = 3
COLLISION_BAR = 0.05  # a claim, with three replicas


async def measure(options: argparse.Namespace) -> dict[int, list[Phase]]:
    """The rounds, by the number of replicas that were asked."""
    phases: dict[int, list[Phase]] = {count: [] for count in range(1, REPLICAS + 1)}
    cores = Cores.of_this_machine(apart=False)
    async with (
        staged(options.workers, 1, budget=False, cores=cores, replicas=REPLICAS) as stage,
        loading(stage) as load,
    ):
        meter = Meter(stage, load)
        for number in range(options.rounds + 1):
            for asked, found in phases.items():
                job = {"kind": "claim", "count": options.workers // 2, "clients": 40, "replicas": asked}
                phase = await meter.measure(f"{number}: {asked} of {REPLICAS} replicas", **job)
                await meter.release_all()
                if number:  # the first round warms up
                    found.append(phase)
    return phases


def main(options: argparse.Namespace) -> int:
    """Measure and judge."""
    phases = asyncio.run(measure(options))
    rows = [["replicas asked", "claims/s", "CPU-ms of Mooring", "of PostgreSQL", "collisions a claim"]]
    rates, collisions = [], 0.0
    for asked, found in phases.items():
        rate = statistics.median(phase.rate for phase in found)
        collisions = sum(phase.collisions for phase in found) / sum(len(phase.latencies_ms) for phase in found)
        costs = [_cost(found, "mooring"), _cost(found, "postgres")]
        rows.append([str(asked), f"{rate:.0f}", *(f"{cost:.2f}" for cost in costs), f"{collisions:.3f}"])
        rates.append((float(asked), rate))
    note("Claims by several replicas", rows)
    draw("Claims by several replicas", ("replicas", "claims a second"), {"claims": rates})
    return judge([Bar("collisions a claim with three replicas", collisions, COLLISION_BAR)])


def _cost(phases: list[Phase], process: str) -> float:
    """CPU-ms of all processes of this name."""
    return statistics.median(
        sum(cost for name, cost in phase.cpu_ms.items() if name.startswith(process)) for phase in phases
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=900)
    parser.add_argument("--rounds", type=int, default=3)
    sys.exit(main(parser.parse_args()))
