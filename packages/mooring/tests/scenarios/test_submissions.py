"""Submissions from the desk to their last Job, in virtual time."""

from typing import Any

import msgspec
import pytest

from drydock import Script
from drydock.faults import Answer, LoseAnswer, Rule
from hawser.errors import ObjectNotFound
from hawser.resources import CONFIGMAPS, JOBS, RESOURCEQUOTAS
from mooring.kinds.resources import SUBMISSIONS, WARMUPS
from mooring.kinds.views import Submission
from mooring.model.errors import InvalidInput
from mooring.model.names import STEP, SUBMISSION
from mooring.model.submission import KeyReused, job_name, name_for, scripts_name
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, harbour
from packages.mooring.tests.scenarios.submits import (
    gate_of,
    jobs,
    read,
    slow_batches,
    spec,
    step_of,
    submit,
    until,
    until_phase,
)


async def test_setup_batches_and_finalizer_run_one_after_another(world):
    replica = world.start()
    await submit(replica, spec())
    done = await until_phase(world, "Succeeded")
    assert [step.name for step in done.status.steps] == ["setup", "batch-0", "batch-1", "finalizer"]
    assert {step.phase for step in done.status.steps} == {"Succeeded"}
    assert (done.status.jobs.total, done.status.jobs.succeeded) == (4, 4)
    started = {step_of(job): job.metadata.creation_timestamp for job in await jobs(world)}
    assert started["setup"] < started["batch-0"] <= started["batch-1"] < started["finalizer"]


def _failing(step: str, code: int = 3) -> Any:
    def script(run: Any) -> Script | None:
        if run.pod["metadata"]["labels"].get(STEP) == step:
            return Script(run_seconds=2, exit_code=code, logs=("reading queries", "no such database: core_nt"))
        return None

    return script


@pytest.mark.world(scripts=_failing("batch-1"))
async def test_the_finalizer_also_runs_after_a_failed_batch_and_says_so(world):
    replica = world.start()
    await submit(replica, spec(retry={"attempts": 2}))
    done = await until_phase(world, "Failed")
    steps = {step.name: step for step in done.status.steps}
    assert (steps["batch-0"].phase, steps["batch-1"].phase) == ("Succeeded", "Failed")
    assert steps["batch-1"].attempts == 2
    assert steps["finalizer"].phase == "Succeeded" and "1 of 2 batches" in steps["finalizer"].why
    assert "the finalizer ran after them" in done.status.message
    failure = done.status.failure
    assert failure is not None and failure.exit_code == 3 and failure.container == "main"
    assert failure.pod.startswith(job_name("night-1", "batch-1"))
    assert failure.logs[-1] == "no such database: core_nt"
    finalizer = await world.client.get(JOBS.raw(), job_name("night-1", "finalizer"), NAMESPACE)
    environment = finalizer["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "MOORING_FAILED_BATCHES", "value": "batch-1"} in environment


@pytest.mark.world(scripts=_failing("setup"))
async def test_after_a_failed_setup_nothing_else_is_made(world):
    replica = world.start()
    await submit(replica, spec(retry={"attempts": 1}))
    done = await until_phase(world, "Failed")
    assert {step_of(job) for job in await jobs(world)} == {"setup"}
    assert [step.phase for step in done.status.steps] == ["Failed", "Skipped", "Skipped", "Skipped"]


async def test_the_same_key_and_spec_give_the_same_submission_and_another_spec_is_refused(world):
    replica = world.start()
    first = await submit(replica, spec())
    again = await submit(replica, spec())
    assert first.metadata.uid == again.metadata.uid
    with pytest.raises(KeyReused, match="night-1"):
        await submit(replica, spec(program="other"))
    await until_phase(world, "Succeeded")
    assert (await submit(replica, spec())).metadata.uid == first.metadata.uid
    assert len(await jobs(world)) == 4


async def test_a_quote_in_an_option_never_reaches_the_cluster(world):
    replica = world.start()
    with pytest.raises(InvalidInput) as refusal:
        await submit(replica, spec(options={"-outfmt": '7 std "staxids ssciname'}))
    assert "spec.options[-outfmt]" in refusal.value.message and "free of" in refusal.value.fix
    with pytest.raises(ObjectNotFound):
        await read(world)


async def test_what_kubectl_applies_is_held_to_the_same_rules(world):
    world.start()
    wrong = {"key": "k", "program": "search", "batches": [{"args": ["-outfmt", "7; rm"]}, {"argss": []}]}
    await world.client.create(SUBMISSIONS, {"metadata": {"name": "by-hand"}, "spec": wrong}, NAMESPACE)

    async def refused() -> bool:
        return (await _by_hand(world)).status.phase == "Refused"

    await until(world, refused, 30)
    assert "argss" in (await _by_hand(world)).status.message
    assert await jobs(world) == []


async def _by_hand(world: Harbour) -> Submission:
    return await world.client.get(SUBMISSIONS, "by-hand", NAMESPACE)


# --- gates -----------------------------------------------------------------------------------------------------------
async def test_a_missing_config_map_refuses_and_the_next_submit_of_the_same_key_runs(world):
    replica = world.start()
    order = spec(requires={"configMaps": ["databases"]})
    await submit(replica, order)
    refused = await until_phase(world, "Refused")
    gate = gate_of(refused, "config-maps")
    fix = f"kubectl -n {NAMESPACE} create configmap databases --from-file=FILE"
    assert gate.state == "fail" and "databases" in gate.message and gate.fix == fix
    assert await jobs(world) == []
    await world.client.create(CONFIGMAPS, {"metadata": {"name": "databases"}}, NAMESPACE)
    await submit(replica, order)
    await until_phase(world, "Succeeded")


async def test_a_required_config_map_that_vanishes_in_mid_run_is_told_within_one_tick_and_hangs_nothing():
    def script(run: Any) -> Script | None:
        return Script(run_seconds=30) if run.pod["metadata"]["labels"].get(STEP) == "setup" else None

    async with harbour(scripts=script) as world:
        replica = world.start()
        await world.client.create(CONFIGMAPS, {"metadata": {"name": "databases"}}, NAMESPACE)
        await submit(replica, spec(requires={"configMaps": ["databases"]}))
        await until_phase(world, "Running")
        await world.client.delete(CONFIGMAPS, "databases", NAMESPACE)
        await world.clock.sleep(6)
        told = await read(world)
        assert gate_of(told, "config-maps").state == "fail" and "databases" in told.status.message
        await world.clock.sleep(60)
        assert {step_of(job) for job in await jobs(world)} == {"setup"}, "no Job was made that would hang"
        await world.client.create(CONFIGMAPS, {"metadata": {"name": "databases"}}, NAMESPACE)
        await until_phase(world, "Succeeded")


async def test_the_scripts_of_a_submission_are_made_again_when_somebody_deletes_them(world):
    replica = world.start()
    order = spec(scripts={"split.py": "print('$(HOME)')\n"})
    await submit(replica, order)
    await until_phase(world, "Running")
    await world.client.delete(CONFIGMAPS, scripts_name("night-1"), NAMESPACE)
    await until_phase(world, "Succeeded")
    again = await world.client.get(CONFIGMAPS, scripts_name("night-1"), NAMESPACE)
    assert again.data == {"split.py": "print('$(HOME)')\n"}


EDITS: dict[str, Any] = {
    "another text": {"data": {"split.py": "rm -r /"}},
    "one more file": {"data": {"more.py": "x"}},
    "a file less": {"data": {"split.py": None}},
    "another text, without its label": {"data": {"split.py": "x"}, "metadata": {"labels": {SUBMISSION: None}}},
    "its label alone": {"metadata": {"labels": {SUBMISSION: None}}},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
async def test_the_scripts_of_a_submission_are_set_right_when_somebody_edits_them(edit: Any):
    def script(run: Any) -> Script | None:
        return Script(run_seconds=30) if run.pod["metadata"]["labels"].get(STEP) == "setup" else None

    async with harbour(scripts=script) as world:
        replica = world.start()
        await submit(replica, spec(scripts={"split.py": "print(1)", "merge.py": "print(2)"}))
        await until_phase(world, "Running")
        name = scripts_name("night-1")
        before = await world.client.get(CONFIGMAPS, name, NAMESPACE)
        await world.client.merge_patch(CONFIGMAPS, name, edit, NAMESPACE)
        await world.clock.sleep(6)
        after = await world.client.get(CONFIGMAPS, name, NAMESPACE)
        assert after.data == {"split.py": "print(1)", "merge.py": "print(2)"}
        assert after.metadata.uid == before.metadata.uid and SUBMISSION in after.metadata.labels
        done = await until_phase(world, "Succeeded")
        assert gate_of(done, "scripts").state == "ok"


async def test_a_key_stays_with_the_submission_that_used_it_also_after_its_end(world):
    world.start()
    body = {"spec": msgspec.to_builtins(spec())}
    await world.client.create(SUBMISSIONS, {**body, "metadata": {"name": "by-hand"}}, NAMESPACE)

    async def ended() -> bool:
        return (await _by_hand(world)).status.phase == "Succeeded"

    await until(world, ended, 120)
    await world.client.create(SUBMISSIONS, {**body, "metadata": {"name": name_for("night-1")}}, NAMESPACE)
    refused = await until_phase(world, "Refused", within=30)
    gate = gate_of(refused, "key")
    assert gate.message == "the key 'night-1' belongs to the submission by-hand, which is Succeeded"
    assert "another key" in gate.fix and len(await jobs(world)) == 4


async def test_a_cold_warmup_is_waited_for_or_refused_as_asked(world):
    replica = world.start()
    body = {"metadata": {"name": "core-nt"}, "spec": {"dataset": "core_nt", "image": "fetch", "shards": 500}}
    await world.client.create(WARMUPS, body, NAMESPACE)
    await submit(replica, spec("patient", requires={"warmups": ["core-nt"]}))
    await submit(replica, spec("hasty", requires={"warmups": ["core-nt"], "warmupPolicy": "Refuse"}))
    refused = await until_phase(world, "Refused", "hasty")
    assert "core-nt" in refused.status.message
    waiting = await until_phase(world, "Pending", "patient")
    assert gate_of(waiting, "warmups").state == "fail"


async def test_a_quota_without_room_refuses_before_anything_is_made(world):
    replica = world.start()
    quota = {"metadata": {"name": "small"}, "spec": {"hard": {"count/jobs.batch": "3"}}}
    await world.client.create(RESOURCEQUOTAS, quota, NAMESPACE)
    await submit(replica, spec())
    refused = await until_phase(world, "Refused")
    assert "3 count/jobs.batch, 4 are needed" in gate_of(refused, "quota").message


async def test_a_gate_that_cannot_be_read_is_unknown_and_never_ok(world):
    blind = [Rule(Answer(503, "ServiceUnavailable", "etcd is away"), path="/configmaps/databases")]
    replica = world.start(rules=blind)
    await world.client.create(CONFIGMAPS, {"metadata": {"name": "databases"}}, NAMESPACE)
    await submit(replica, spec(requires={"configMaps": ["databases"]}))
    await world.clock.sleep(60)
    waiting = await read(world)
    assert waiting.status.phase == "Pending"
    assert gate_of(waiting, "config-maps").state == "unknown"
    assert await jobs(world) == []


async def test_three_run_in_a_namespace_and_the_others_wait_in_their_order(world):
    replica = world.start()
    keys = [f"run-{number}" for number in range(6)]
    for key in keys:
        await submit(replica, spec(key))
        await world.clock.sleep(1.1)
    ended: list[str] = []
    most = 0
    for _ in range(2000):
        phases = {key: (await read(world, key)).status.phase for key in keys}
        most = max(most, sum(phase in ("Submitting", "Running") for phase in phases.values()))
        ended += [key for key in keys if phases[key] == "Succeeded" and key not in ended]
        if len(ended) == 6:
            break
        await world.clock.sleep(0.25)
    assert most == 3
    assert sorted(ended[:3]) == keys[:3] and sorted(ended[3:]) == keys[3:]


# --- trouble ---------------------------------------------------------------------------------------------------------
TROUBLE = {
    "answers are lost": LoseAnswer(),
    "the server is overloaded": Answer(429, "TooManyRequests", "slow down", retry_after_seconds=2),
    "the server fails after the effect": Answer(500, "InternalError", "etcd leader changed", after_effect=True),
    "the server fails": Answer(503, "ServiceUnavailable", "no endpoints"),
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE.keys())
async def test_every_job_is_made_once_when(world, trouble: Any):
    # Every second create of a Job or a Submission goes wrong.
    odd = frozenset(range(1, 60, 2))
    rules = [
        Rule(trouble, methods=frozenset({"POST"}), resource="jobs", nth=odd),
        Rule(trouble, methods=frozenset({"POST"}), resource="submissions", nth=odd),
    ]
    replica = world.start(rules=rules)
    await submit(replica, spec())
    await until_phase(world, "Succeeded")
    assert sorted(step_of(job) for job in await jobs(world)) == ["batch-0", "batch-1", "finalizer", "setup"]
    assert all(job.status.succeeded == 1 for job in await jobs(world))


@pytest.mark.world(scripts=slow_batches)
async def test_a_result_that_was_written_down_survives_the_loss_of_its_job(world):
    replica = world.start()
    await submit(replica, spec())

    async def set_up() -> bool:
        steps = (await read(world)).status.steps
        return bool(steps) and steps[0].phase == "Succeeded"

    await until(world, set_up, 60)
    await world.client.delete(JOBS, job_name("night-1", "setup"), NAMESPACE, propagation="Background")
    await until_phase(world, "Succeeded")
    assert {step_of(job) for job in await jobs(world)} == {"batch-0", "batch-1", "finalizer"}


async def test_an_ended_submission_is_quiet(world):
    replica = world.start()
    await submit(replica, spec())
    await until_phase(world, "Succeeded")
    await world.clock.sleep(5)
    before = replica.transport.mutations
    await world.clock.sleep(600)
    assert replica.transport.mutations == before
