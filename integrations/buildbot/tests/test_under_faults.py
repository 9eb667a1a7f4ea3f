"""Builds while nodes are drained and replicas are killed. MOORING_BUILDS says how many; the promise is about 200."""

import asyncio
import contextlib
import os
from collections import Counter
from itertools import cycle
from pathlib import Path

import pytest

from integrations.buildbot.demo.__main__ import POOL, WORKERS, Outcome, find_fault, pool_spec, run_builds
from integrations.buildbot.demo.master import Master
from integrations.buildbot.tests.fleet import Fleet, running_fleet
from integrations.stage import Stage

BUILDS = int(os.environ.get("MOORING_BUILDS", "12"))
CALM_SECONDS = 12.0  # between two faults: replicas that live shorter than it takes to lead (10 s) never refill a pool

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


async def disturb(fleet: Fleet, stage: Stage, drained: list[str]) -> None:
    """Drain one node after the other, as an upgrade does, and kill a replica after each."""
    for node in cycle(fleet.nodes):
        await stage.drain(node)
        drained.append(node)
        await stage.uncordon(node)
        await fleet.restart(fleet.replicas[0])
        await asyncio.sleep(CALM_SECONDS)


async def build_under_faults(fleet: Fleet, stage: Stage, master: Master, drained: list[str]) -> list[Outcome]:
    disturbing = asyncio.create_task(disturb(fleet, stage, drained))
    try:
        return await run_builds(master, [f"build-{number}" for number in range(BUILDS)], 1.0)
    finally:
        disturbing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await disturbing
        runs = Counter(master.runs(f"build-{number}") for number in range(BUILDS))
        print(f"builds by how often they began: {dict(runs)}; {len(drained)} drains, {fleet.kills} kills")


async def restore(fleet: Fleet, stage: Stage) -> None:
    """A disturbance may have been cut off half way."""
    for node in fleet.nodes:
        await stage.uncordon(node)
    for replica in fleet.replicas:
        await replica.kill()
        await replica.start()
        await replica.until_ready()


async def play(folder: Path) -> None:
    drained: list[str] = []
    async with running_fleet(folder) as fleet:
        stage, master = Stage(fleet.state, POOL), Master(folder / "master", fleet.state, WORKERS)
        try:
            await stage.make(pool_spec())
            await master.start()
            outcomes = await build_under_faults(fleet, stage, master, drained)
            await restore(fleet, stage)
            master.stop()
        finally:
            master.kill()  # of a run that failed or was interrupted: nobody waits for its builds
        left = await stage.remove()
        assert find_fault(outcomes, left) == ""
        assert drained and fleet.kills, "nothing was disturbed"
        assert len(outcomes) == BUILDS


def test_no_build_is_lost_or_runs_twice_while_nodes_are_drained_and_replicas_killed(tmp_path: Path) -> None:
    asyncio.run(play(tmp_path))
