"""More claimers than workers, for thousands of claims: never a worker held twice, never one leaked.

The default size fits a build; `MOORING_SOAK=full` is the size of the promise: 10,000 claims, 20 kills, 3 restarts of
the database.
"""

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from packages.mooring.tests.soak.claimers import Claimer, Tickets
from packages.mooring.tests.soak.stage import NAMESPACE, POOL, Stage, soaking

FULL = os.environ.get("MOORING_SOAK") == "full"
WORKERS, CLAIMERS = 50, 64
CLAIMS, KILLS, RESTARTS = (10_000, 20, 3) if FULL else (300, 2, 1)
SETTLED_WITHIN_SECONDS = 180.0


@pytest.mark.realtime
async def test_nothing_is_held_twice_or_leaked(tmp_path: Path) -> None:
    await _soak(tmp_path, kills=0, restarts=0)


@pytest.mark.realtime
async def test_nothing_is_held_twice_or_leaked_while_the_control_plane_is_killed_and_the_database_restarted(
    tmp_path: Path,
) -> None:
    await _soak(tmp_path, kills=KILLS, restarts=RESTARTS)


async def _soak(folder: Path, kills: int, restarts: int) -> None:
    chance = random.Random(64)
    tickets = Tickets(CLAIMS)
    async with soaking(folder, WORKERS) as stage:
        await _settle(stage)
        began = time.perf_counter()
        trouble = asyncio.create_task(_make_trouble(stage, chance, kills, restarts))
        claimers = [
            Claimer(stage.session, f"{NAMESPACE}/{POOL}", stage.witness, random.Random(n)) for n in range(CLAIMERS)
        ]
        await asyncio.gather(*(claimer.run(tickets) for claimer in claimers))
        await trouble
        took = time.perf_counter() - began
        await stage.until_ready()
        await _settle(stage)
        healed = time.perf_counter() - began - took
        print(
            f"{stage.witness.served} claims in {took:.0f} s, {stage.control_plane.lives - 1} kills,"
            f" {stage.database.restarts} restarts of the database, settled {healed:.0f} s later"
        )
        assert stage.witness.violations == []
        assert stage.witness.served == CLAIMS
        assert stage.control_plane.lives >= kills + 1
        assert stage.database.restarts == restarts


async def _make_trouble(stage: Stage, chance: random.Random, kills: int, restarts: int) -> None:
    """At random moments of the work, none before the last one is overcome."""
    acts: list[Callable[[], Awaitable[None]]] = [lambda: _kill(stage)] * kills + [stage.restart_database] * restarts
    chance.shuffle(acts)
    moments = sorted(chance.sample(range(CLAIMS // 20, CLAIMS * 9 // 10), len(acts)))
    for moment, act in zip(moments, acts, strict=True):
        while stage.witness.served < moment:
            await asyncio.sleep(0.01)
        await act()
        await stage.until_ready()


async def _kill(stage: Stage) -> None:
    lives = stage.control_plane.lives
    stage.control_plane.kill()
    while stage.control_plane.lives == lives:
        await asyncio.sleep(0.01)


async def _settle(stage: Stage) -> None:
    """Until nothing is left over and all workers are idle."""
    deadline = time.perf_counter() + SETTLED_WITHIN_SECONDS
    while left := await stage.leftovers(WORKERS):
        assert time.perf_counter() < deadline, left
        await asyncio.sleep(0.5)
