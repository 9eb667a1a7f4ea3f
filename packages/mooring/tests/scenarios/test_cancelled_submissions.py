"""Submissions that somebody cancels or deletes, in virtual time."""

import pytest

from hawser.resources import CONFIGMAPS
from mooring.ledger.records import AuditFilter
from mooring.model.audit import AuditOutcome
from mooring.model.errors import Conflict
from mooring.model.submission import Cancel
from packages.mooring.tests.scenarios.harbour import NAMESPACE
from packages.mooring.tests.scenarios.submits import jobs, read, slow_batches, spec, step_of, submit, until, until_phase


@pytest.mark.parametrize("finalize", [True, False])
@pytest.mark.world(scripts=slow_batches)
async def test_cancel_deletes_what_runs_and_runs_the_finalizer_if_asked(world, finalize: bool):
    replica = world.start()
    await submit(replica, spec())
    desk = replica.mooring.submissions.commands

    async def batches_run() -> bool:
        return [step.phase for step in (await read(world)).status.steps][1:3] == ["Running", "Running"]

    await until(world, batches_run, 60)
    name = (await read(world)).metadata.name
    await desk.cancel(NAMESPACE, name, Cancel("ann", "wrong database", finalize))
    ended = await until_phase(world, "Failed")
    phases = [step.phase for step in ended.status.steps]
    assert phases == ["Succeeded", "Cancelled", "Cancelled", "Succeeded" if finalize else "Cancelled"]
    assert "cancelled by ann" in ended.status.message
    left = {step_of(job) for job in await jobs(world)}
    assert left == ({"setup", "finalizer"} if finalize else {"setup"})
    with pytest.raises(Conflict, match="already"):
        await desk.cancel(NAMESPACE, name, Cancel("ann"))


@pytest.mark.world(scripts=slow_batches)
async def test_what_people_ask_of_a_submission_is_in_the_audit_trail_under_their_name(world):
    replica = world.start()
    desk = replica.mooring.submissions.commands
    made = await submit(replica, spec())
    name = made.metadata.name
    await world.clock.sleep(1)
    again = await submit(replica, spec())
    assert again.metadata.uid == made.metadata.uid
    await desk.cancel(NAMESPACE, name, Cancel("bob", "wrong database"))
    await until_phase(world, "Failed")
    await desk.remove(NAMESPACE, name, actor="carol")
    trail = (await world.ledger.audit.list(AuditFilter(kind="Submission", namespace=NAMESPACE, name=name))).items
    acts = [(one.entry.actor, one.entry.action, one.entry.reason, one.outcome) for one in reversed(trail)]
    assert acts == [
        ("ann", "create", "", AuditOutcome.DONE),
        ("bob", "cancel", "wrong database", AuditOutcome.DONE),
        ("carol", "delete", "", AuditOutcome.DONE),
    ]


@pytest.mark.world(scripts=slow_batches)
async def test_cancelling_with_the_finalizer_ends_at_once_while_a_required_config_map_is_missing(world):
    replica = world.start()
    await world.client.create(CONFIGMAPS, {"metadata": {"name": "databases"}}, NAMESPACE)
    made = await submit(replica, spec(requires={"configMaps": ["databases"]}))

    async def batches_run() -> bool:
        return [step.phase for step in (await read(world)).status.steps][1:3] == ["Running", "Running"]

    await until(world, batches_run, 60)
    await world.client.delete(CONFIGMAPS, "databases", NAMESPACE)
    await replica.mooring.submissions.commands.cancel(NAMESPACE, made.metadata.name, Cancel("ann", finalize=True))
    ended = await until_phase(world, "Failed", within=60)
    finalizer = ended.status.steps[-1]
    assert (finalizer.phase, finalizer.why) == ("Skipped", "config-maps: missing: databases")
    assert "the finalizer skipped (config-maps: missing: databases)" in ended.status.message
    gate = next(gate for gate in ended.status.gates if gate.id == "config-maps")
    assert gate.fix == f"kubectl -n {NAMESPACE} create configmap databases --from-file=FILE"
