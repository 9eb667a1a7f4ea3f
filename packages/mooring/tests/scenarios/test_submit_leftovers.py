"""half-finished-submit: leftovers in the way are removed, waited for, and never taken from a live neighbour."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from drydock import Script
from drydock.faults import FaultyTransport, LoseAnswer, Plan, Rule
from hawser.client import KubeClient
from hawser.errors import ObjectNotFound
from hawser.resources import JOBS, LEASES, PODS
from mooring.controllers.submissions.lease import LEASE, LEASE_SECONDS, NamespaceLease
from mooring.engine.context import Context
from mooring.kinds.resources import SUBMISSIONS
from mooring.ledger.records import AuditFilter
from mooring.model.names import SPEC_HASH, STEP, SUBMISSION
from mooring.model.submission import job_name, name_for
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour
from packages.mooring.tests.scenarios.submits import gate_of, jobs, read, spec, step_of, submit, until, until_phase

STEPS = ("setup", "batch-0", "batch-1", "finalizer")


async def leave_job(world: Harbour, name: str, labels: dict[str, str], owner: dict[str, Any] | None = None) -> str:
    """A Job as an earlier version left it: its template can never be changed into ours."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "old", "image": "old", "args": ["forever"]}]}
    metadata: dict[str, Any] = {"name": name, "labels": labels}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    template = {"metadata": {"labels": {"sandbox": "old"}}, "spec": pod}
    made = await world.client.create(JOBS, {"metadata": metadata, "spec": {"template": template}}, NAMESPACE)
    return made.metadata.uid


def _for_ever(run: Any) -> Script | None:
    return Script() if run.container == "old" or run.pod["metadata"]["labels"].get(STEP) == "batch-long" else None


@pytest.mark.parametrize("labels", [{SUBMISSION: "gone"}, {SUBMISSION: name_for("night-1")}], ids=["dead", "same name"])
@pytest.mark.world(scripts=_for_ever)
async def test_a_half_finished_submit_of_an_earlier_version_is_healed_by_the_next(world, labels: dict[str, str]):
    replica = world.start()
    old = [await leave_job(world, job_name("night-1", step), labels) for step in STEPS]
    await world.clock.sleep(5)
    await submit(replica, spec())
    await until_phase(world, "Succeeded", within=60)
    made = await jobs(world)
    assert sorted(step_of(job) for job in made) == sorted(STEPS)
    assert not {job.metadata.uid for job in made} & set(old)
    assert all(SPEC_HASH in job.metadata.annotations for job in made)
    assert not [pod for pod in await world.pods() if pod.spec.containers[0].name == "old"], "its pods went too"
    trail = await replica.ledger.audit.list(AuditFilter(actor="invariant/leftover-jobs"))
    assert {record.entry.subject.uid for record in trail.items} == set(old)
    assert all(len(record.entry.evidence["proofs"]) == 2 for record in trail.items)


@pytest.mark.slow
@pytest.mark.world(scripts=_for_ever)
async def test_eight_submits_at_once_heal_their_leftovers_and_never_touch_a_live_neighbour(world):
    replica = world.start()
    long = spec("neighbour", setup=None, batches=[{"name": "batch-long"}, {"name": "other"}], finalizer=None)
    await submit(replica, long)
    await until_phase(world, "Running", "neighbour")
    before = {job.metadata.uid for job in await jobs(world)}
    keys = [f"night-{number}" for number in range(8)]
    for key in keys:
        await leave_job(world, job_name(key, "setup"), {SUBMISSION: "gone"})
        await leave_job(world, job_name(key, "batch-1"), {SUBMISSION: "gone"})
    await world.clock.sleep(2)
    await asyncio.gather(*(submit(replica, spec(key)) for key in keys))
    for key in keys:
        await until_phase(world, "Succeeded", key, within=300)
    assert before <= {job.metadata.uid for job in await jobs(world)}
    assert (await read(world, "neighbour")).status.phase == "Running"
    names = [job.metadata.name for job in await jobs(world)]
    assert len(names) == len(set(names)) == 8 * 4 + 2


@pytest.mark.slow
@pytest.mark.world(scripts=_for_ever)
async def test_a_job_of_unknown_origin_is_kept_for_thirty_minutes(world):
    replica = world.start()
    uid = await leave_job(world, job_name("night-1", "setup"), {"mooring.dev/old-submit": "yes"})
    await submit(replica, spec())
    await world.clock.sleep(1500)
    waiting = await read(world)
    assert waiting.status.phase == "Pending" and "must be 1800 s" in waiting.status.message
    kept = await world.client.get(JOBS, job_name("night-1", "setup"), NAMESPACE)
    assert kept.metadata.uid == uid
    await until_phase(world, "Succeeded", within=600)


@pytest.mark.slow
@pytest.mark.world(scripts=_for_ever)
async def test_a_job_that_is_nobody_of_ours_is_never_touched_and_the_submission_says_so(world):
    replica = world.start()
    uid = await leave_job(world, job_name("night-1", "setup"), {"app": "theirs"})
    await submit(replica, spec())
    refused = await until_phase(world, "Refused")
    assert gate_of(refused, "names").state == "fail"
    await world.clock.sleep(2400)
    assert (await world.client.get(JOBS, job_name("night-1", "setup"), NAMESPACE)).metadata.uid == uid


@pytest.mark.world(scripts=_for_ever)
async def test_leftovers_go_without_any_submit_and_the_kill_switch_keeps_them(world):
    await world.pause(["leftover-jobs"])
    replica = world.start()
    await leave_job(world, "old-setup", {SUBMISSION: "gone"})
    await world.clock.sleep(120)
    assert await jobs(world)
    await replica.mooring.switches.resume("leftover-jobs", actor="test")
    await world.clock.sleep(90)
    assert await jobs(world) == []
    rule = next(one for one in replica.mooring.queries.fleet.invariants() if one.id == "leftover-jobs")
    assert rule.enforced and rule.healed == 1


@pytest.mark.world(scripts=_for_ever)
async def test_jobs_of_a_deleted_submission_are_gone_before_the_same_key_runs_again(world):
    replica = world.start()
    await submit(replica, spec(batches=[{"name": "batch-long"}, {"name": "b"}]))
    await until_phase(world, "Running")
    first = await read(world)
    await world.client.delete(SUBMISSIONS, first.metadata.name, NAMESPACE, propagation="Orphan")
    await world.clock.sleep(1)
    await submit(replica, spec(batches=[{"name": "a"}, {"name": "b"}]))
    await until_phase(world, "Succeeded", within=120)
    owners = {job.metadata.owner_references[0].uid for job in await jobs(world)}
    assert first.metadata.uid not in owners and len(owners) == 1


# --- the lease -------------------------------------------------------------------------------------------------------
def _lease(world: Harbour, name: str, *rules: Rule) -> NamespaceLease:
    client = KubeClient(FaultyTransport(world.sandbox.transport, Plan(rules), world.clock, world.entropy))
    of = {"client": client, "clock": world.clock, "entropy": world.entropy, "replica_id": name}
    return NamespaceLease(cast(Context, SimpleNamespace(**of)))


async def test_one_holds_the_lease_and_only_its_holder_releases_it(world):
    one, other = _lease(world, "one"), _lease(world, "other")
    async with one.hold(NAMESPACE) as ours:
        assert ours
        async with other.hold(NAMESPACE) as theirs:
            assert not theirs
        async with one.hold(NAMESPACE) as again:
            assert not again, "a second submit of the same process waits as well"
        held = await world.client.get(LEASES, LEASE, NAMESPACE)
        assert held.spec.holder_identity.startswith("one/")
    async with other.hold(NAMESPACE) as theirs:
        assert theirs


async def test_a_first_lease_whose_answer_is_lost_is_held_all_the_same(world):
    lost = Rule(LoseAnswer(), methods=frozenset({"POST"}), resource="leases", times=1)
    async with _lease(world, "one", lost).hold(NAMESPACE) as ours:
        assert ours
    async with _lease(world, "other").hold(NAMESPACE) as theirs:
        assert theirs


async def test_the_lease_of_the_dead_is_taken_over_when_it_expires_and_the_dead_cannot_release_it(world):
    dead, heir = _lease(world, "dead"), _lease(world, "heir")
    async with dead.hold(NAMESPACE) as ours:
        assert ours
        async with heir.hold(NAMESPACE) as early:
            assert not early
        await world.clock.sleep(LEASE_SECONDS + 1)
        async with heir.hold(NAMESPACE) as late:
            assert late
            await dead._release(NAMESPACE, "dead/of-yesterday")
            held = await world.client.get(LEASES, LEASE, NAMESPACE)
            assert held.spec.holder_identity.startswith("heir/")


async def test_a_lease_left_by_a_killed_control_plane_only_delays(world):
    spent = {"holderIdentity": "dead/1", "leaseDurationSeconds": LEASE_SECONDS}
    await world.client.create(LEASES, {"metadata": {"name": LEASE}, "spec": spent}, NAMESPACE)
    replica = world.start()
    await submit(replica, spec())
    await until_phase(world, "Succeeded", within=60)

    async def released() -> bool:
        return not (await world.client.get(LEASES, LEASE, NAMESPACE)).spec.holder_identity

    await until(world, released, 5)


async def test_what_was_removed_stays_removed(world):
    replica = world.start()
    await submit(replica, spec())
    done = await until_phase(world, "Succeeded")
    await replica.mooring.submissions.commands.remove(NAMESPACE, done.metadata.name, actor="ann")
    await world.clock.sleep(30)
    assert await jobs(world) == []
    assert not (await world.client.list(PODS, NAMESPACE)).items
    with pytest.raises(ObjectNotFound):
        await read(world)
