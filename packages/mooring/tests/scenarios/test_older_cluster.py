"""An API server that goes on from an older etcd: what was done since is done again, and every status is right."""

import pytest

from drydock import ContainerRun, Script
from drydock.faults import LagEvents, Rule
from packages.mooring.tests.scenarios.harbour import harbour, play
from packages.mooring.tests.scenarios.submits import jobs, read, spec, submit, until_phase
from packages.testing.lanes import fast_first


def slow(_: ContainerRun) -> Script:
    """Every step takes its time, so that nothing is written meanwhile."""
    return Script(run_seconds=20.0, exit_code=0)


@pytest.mark.parametrize("seed", fast_first((4, 5, 7, 9, 10, 12, 13), 2))
def test_a_submission_whose_end_is_lost_as_soon_as_it_is_written_ends_again(seed: int) -> None:
    """In these seeds all caches read the older cluster before the leader looks at its own write again."""

    async def scenario() -> None:
        async with harbour(seed) as world:
            replica = world.start()
            await world.clock.sleep(10)
            await submit(replica, spec())
            restore = world.sandbox.storage.snapshot()
            while (await read(world)).status.phase != "Succeeded":
                await world.clock.sleep(0.05)
            restore()
            assert (await read(world)).status.phase == "" and await jobs(world) == []
            done = await until_phase(world, "Succeeded", within=30)
            assert len(await jobs(world)) == len(done.status.steps) == 4

    play(scenario, seed)


@pytest.mark.world(scripts=slow)
async def test_a_submission_of_which_the_watch_had_shown_nothing_newer_ends_again(world):
    lags = Rule(LagEvents(3600.0), resource="submissions", watch=True, since_seconds=10.0, until_seconds=95.0)
    replica = world.start(rules=[lags])
    await submit(replica, spec())
    await world.clock.sleep(12)
    restore = world.sandbox.storage.snapshot()
    await until_phase(world, "Succeeded")
    restore()
    assert (await read(world)).status.phase != "Succeeded"
    await until_phase(world, "Succeeded", within=600)
