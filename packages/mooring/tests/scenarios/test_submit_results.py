"""Jobs that their TTL takes away: what was not read is done again, what was read is not."""

import pytest

from drydock import Script
from hawser.errors import ObjectNotFound
from hawser.resources import JOBS
from mooring.incidents.replica import Replica
from mooring.model.submission import job_name
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour
from packages.mooring.tests.scenarios.submits import read, spec, submit, until, until_phase

KEY = "night-1"


async def let_vanish(world: Harbour, step: str) -> None:
    """As soon as it has ended, by somebody's policy: ours never set a TTL."""
    patch = {"spec": {"ttlSecondsAfterFinished": 0}}
    await world.client.merge_patch(JOBS, job_name(KEY, step), patch, NAMESPACE)


async def vanished(world: Harbour, step: str) -> bool:
    try:
        await world.client.get(JOBS, job_name(KEY, step), NAMESPACE)
    except ObjectNotFound:
        return True
    return False


async def made(world: Harbour, step: str) -> bool:
    return not await vanished(world, step)


def job_creates(replica: Replica) -> int:
    return sum(
        call.mutation and call.method == "POST" and call.path.endswith("/jobs") for call in replica.process.calls
    )


@pytest.mark.world(scripts=lambda _: Script(run_seconds=5))
async def test_a_job_that_vanished_before_its_result_was_read_is_done_again_and_nothing_else_is(world):
    first = world.start("first")
    accepted = await submit(first, spec())
    await until(world, lambda: made(world, "batch-0"), 60)
    await first.kill()
    await let_vanish(world, "batch-0")
    await until(world, lambda: vanished(world, "batch-0"), 60)
    second = world.start("second")
    done = await until_phase(world, "Succeeded")
    assert done.metadata.uid == accepted.metadata.uid
    assert {step.name: step.phase for step in done.status.steps} == dict.fromkeys(
        ("setup", "batch-0", "batch-1", "finalizer"), "Succeeded"
    )
    assert job_creates(second) == 2, "batch-0 again, and the finalizer"
    again = await world.client.get(JOBS, job_name(KEY, "batch-0"), NAMESPACE)
    assert again.status.succeeded == 1


@pytest.mark.world(scripts=lambda _: Script(run_seconds=5))
async def test_a_job_that_vanishes_after_its_result_was_read_is_not_done_again(world):
    replica = world.start()
    await submit(replica, spec())
    await until(world, lambda: made(world, "setup"), 60)

    async def read_setup() -> bool:
        return any(step.name == "setup" and step.phase == "Succeeded" for step in (await read(world)).status.steps)

    await until(world, read_setup, 60)
    await let_vanish(world, "setup")
    done = await until_phase(world, "Succeeded")
    assert await vanished(world, "setup")
    assert job_creates(replica) == 4
    assert done.status.jobs.succeeded == 4
