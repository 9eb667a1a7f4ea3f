"""Submissions from the desk to their last Job, in virtual time."""

from tests.scenarios.harbour import harbour, play
from tests.scenarios.submits import jobs, spec, submit, until_phase


def test_setup_batches_and_finalizer_run_one_after_another():
    async def scenario() -> None:
        async with harbour() as world:
            replica = world.start()
            await submit(replica, spec())
            done = await until_phase(world, "Succeeded")
            assert [step.name for step in done.status.steps] == ["setup", "batch-0", "batch-1", "finalizer"]
            assert {step.phase for step in done.status.steps} == {"Succeeded"}
            assert (done.status.jobs.total, done.status.jobs.succeeded) == (4, 4)
            started = {
                job.metadata.labels["mooring.dev/step"]: job.metadata.creation_timestamp for job in await jobs(world)
            }
            assert started["setup"] < started["batch-0"] <= started["batch-1"] < started["finalizer"]

    play(scenario)
