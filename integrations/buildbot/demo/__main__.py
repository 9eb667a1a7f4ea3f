"""Builds of three builders on one pool of a running `mooring up`; with --drain, nodes are drained under them.

    python -m integrations.buildbot.demo [--state DIR] [--builds N] [--drain]

Ends with 0 if every build succeeded and ran once, and nothing is left.
"""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from integrations.buildbot.demo.master import Master
from integrations.stage import Stage, polling_pool, run_demo

POOL = "ci/builders"
BUILDERS = ("unit", "lint", "package")
WARM, MOST, WORKERS = 3, 8, 4
AGENT = [sys.executable, "-m", "mooring.client.worker", "--", sys.executable, "-m", "mooring_buildbot.session"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one build ended, and how often it ran."""

    job: str
    request: int
    result: str
    runs: int


def pool_spec(warm: int = WARM, most: int = MOST) -> dict[str, object]:
    """Workers that wait for a build, run it as a real `buildbot-worker`, and are replaced."""
    return polling_pool(AGENT, warm, most)


async def run_builds(master: Master, jobs: list[str], seconds: float = 1) -> list[Outcome]:
    """All at once; Buildbot and the pool decide when each runs."""
    requests = {job: await master.force(BUILDERS[n % 3], job, seconds) for n, job in enumerate(jobs)}
    results = {job: await master.result(request, 300) for job, request in requests.items()}
    return [Outcome(job, requests[job], results[job], master.runs(job)) for job in jobs]


async def drain_under(stage: Stage, master: Master, job: str) -> str:
    """Drain the node under a running build; the build ends while the drain waits for it."""
    request = await master.force(BUILDERS[0], job, 120)
    await master.until_running(job)
    worker = next(claim.worker for claim in stage.mooring.claims(stage.pool) if claim.worker is not None)
    name = worker.name.rpartition("/")[2]
    node = await stage.node_of(name)
    print(f"draining {node} under {job} on {name}")
    draining = asyncio.create_task(stage.drain(node))
    try:
        while not draining.done() and not stage.refused:
            await asyncio.sleep(0.1)
        print(f"the drain waits: {stage.refused[0]}")
        master.finish(job)
        result = await master.result(request)
        await draining
    finally:
        draining.cancel()
        await stage.uncordon(node)
    return f"{job} ended with {result} and ran {master.runs(job)} time(s); then {node} was empty"


def find_fault(outcomes: list[Outcome], left: dict[str, int]) -> str:
    """What is wrong with the result; empty if nothing."""
    for outcome in outcomes:
        if outcome.result != "success" or outcome.runs != 1:
            return f"{outcome.job} ended with {outcome.result} and ran {outcome.runs} times"
    return f"left behind: {left}" if any(left.values()) else ""


async def play(state: Path, builds: int, drain: bool) -> int:
    """The whole demo."""
    stage = Stage(state, POOL)
    with tempfile.TemporaryDirectory(prefix="mooring-buildbot-") as folder:
        master = Master(Path(folder), state, WORKERS)
        try:
            await stage.make(pool_spec())
            await master.start()
            print(f"Buildbot is at {master.url}")
            if drain:
                print(await drain_under(stage, master, "drained"))
            outcomes = await run_builds(master, [f"build-{number}" for number in range(1, builds + 1)])
        finally:
            master.stop()
            left = await stage.remove()
    for outcome in outcomes:
        print(f"{outcome.job}  {outcome.result}  ran {outcome.runs} time(s)")
    fault = find_fault(outcomes, left)
    print(fault or f"{len(outcomes)} builds, each ran once; nothing is left")
    return 1 if fault else 0


def main() -> int:
    """Run the demo on a `mooring up`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=Path(".state"), help="the state folder of `mooring up`")
    parser.add_argument("--builds", type=int, default=6)
    parser.add_argument("--drain", action="store_true", help="drain the node under a running build first")
    options = parser.parse_args()
    return run_demo(play(options.state, options.builds, options.drain))


if __name__ == "__main__":
    sys.exit(main())
