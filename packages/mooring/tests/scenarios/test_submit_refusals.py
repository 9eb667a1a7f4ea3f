"""Submissions that can never run: each is refused or fails with the reason, and none holds a place for ever."""

from typing import Any

import pytest

from drydock.faults import Answer, Rule, resource_of
from hawser.errors import ObjectNotFound
from hawser.resources import CONFIGMAPS, SERVICEACCOUNTS
from mooring.controllers.submissions import admission, reconciler
from mooring.kinds.resources import WARMUPS
from mooring.model.errors import InvalidInput
from mooring.model.submission import scripts_name
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.mooring.tests.scenarios.submits import gate_of, jobs, read, spec, step_of, submit, until_phase

# What only the API server can tell, and a word of what it says.
REFUSED_BY_THE_SERVER: dict[str, tuple[dict[str, Any], str]] = {
    "a mount of no volume": (
        {"volumeMounts": [{"name": "nope", "mountPath": "/x"}]},
        "volumeMounts[0].name: Not found",
    ),
    "a volume with a bad name": ({"volumes": [{"name": "X y", "emptyDir": {}}]}, "volumes[0].name"),
    "a volume that is not an object's": ({"volumes": [{"name": "x", "emptyDir": 5}]}, "emptyDir"),
    "a secret without a key": (
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a"}}}]},
        "secretKeyRef.key: Required value",
    ),
    "a request above its limit": (
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        "must be less than or equal to cpu limit",
    ),
    "an unknown operator of one batch": (
        {"batches": [{}, {"placement": {"tolerations": [{"key": "x", "operator": "Bogus"}]}}]},
        "tolerations[0].operator",
    ),
    "a volume that has our name": (
        {"scripts": {"a": "x"}, "volumes": [{"name": "mooring-scripts", "emptyDir": {}}]},
        'Duplicate value: "mooring-scripts"',
    ),
}


@pytest.mark.parametrize("case", REFUSED_BY_THE_SERVER)
async def test_what_the_api_server_would_refuse_is_refused_in_its_words_before_anything_is_made(
    world: Harbour, case: str
):
    changes, words = REFUSED_BY_THE_SERVER[case]
    replica = world.start()
    await submit(replica, spec(**changes))
    refused = await until_phase(world, "Refused", within=30)
    gate = gate_of(refused, "manifest")
    assert gate.state == "fail" and words in gate.message and gate.fix
    assert words in refused.status.message
    assert await jobs(world) == []
    with pytest.raises(ObjectNotFound):
        await world.client.get(CONFIGMAPS, scripts_name("night-1"), NAMESPACE)


async def test_refused_submissions_hold_no_place_of_the_ceiling(world: Harbour):
    replica = world.start()
    for number in range(3):
        await submit(replica, spec(f"bad-{number}", volumeMounts=[{"name": "nope", "mountPath": "/x"}]))
    await submit(replica, spec("good"))
    await until_phase(world, "Succeeded", "good")


REFUSED_AT_THE_DESK: dict[str, tuple[dict[str, Any], str]] = {
    "a quantity that is none": ({"resources": {"requests": {"cpu": "abc"}}}, "spec.resources.requests.cpu"),
    "less than nothing": ({"resources": {"limits": {"memory": "-1Gi"}}}, "spec.resources.limits.memory"),
    "a list of quantities": ({"resources": {"requests": ["cpu"]}}, "spec.resources.requests"),
    "no such part of resources": ({"resources": {"request": {"cpu": "1"}}}, "spec.resources.request"),
    "a variable from nowhere": ({"env": [{"name": "A", "valueFrom": {}}]}, "spec.env[0].valueFrom"),
    "a variable from two places": (
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {}, "secretKeyRef": {}}}]},
        "spec.env[0].valueFrom",
    ),
    "a source that is no object": (
        {"batches": [{"env": [{"name": "A", "valueFrom": {"secretKeyRef": "a/b"}}]}]},
        "spec.batches[0].env[0].valueFrom.secretKeyRef",
    ),
    "a toleration of numbers": (
        {"placement": {"tolerations": [{"key": 5}]}},
        "spec.placement.tolerations[0].key",
    ),
    "scripts beyond what a ConfigMap holds": ({"scripts": {"a": "x" * 600_000, "b": "é" * 300_000}}, "spec.scripts"),
}


@pytest.mark.parametrize("case", REFUSED_AT_THE_DESK)
async def test_a_value_that_can_be_judged_at_once_is_refused_with_its_field_and_the_fix(world: Harbour, case: str):
    changes, field = REFUSED_AT_THE_DESK[case]
    replica = world.start()
    with pytest.raises(InvalidInput) as refusal:
        await submit(replica, spec(**changes))
    assert refusal.value.field == field
    assert refusal.value.fix.startswith(f"{field} must be")


async def test_a_bug_in_the_planning_of_one_submission_is_told_in_its_status(
    world: Harbour, monkeypatch: pytest.MonkeyPatch
):
    def stumble(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    replica = world.start()
    with monkeypatch.context() as patched:
        patched.setattr(admission, "judge_gates", stumble)
        await submit(replica, spec())
        told = await until_phase(world, "Pending", within=10)
        assert "ZeroDivisionError" in told.status.message and "is retried" in told.status.message
    await until_phase(world, "Succeeded")


@pytest.mark.slow
async def test_a_pass_that_fails_while_it_runs_is_told_and_keeps_what_was_known(
    world: Harbour, monkeypatch: pytest.MonkeyPatch
):
    replica = world.start()
    await submit(replica, spec())
    known = await until_phase(world, "Running")

    def stumble(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(reconciler, "plan_submission", stumble)
        await world.clock.sleep(10)
        told = await read(world)
        assert "ZeroDivisionError" in told.status.message
        assert told.status.phase == "Running" and told.status.gates == known.status.gates
        assert [step.name for step in told.status.steps] == [step.name for step in known.status.steps]
    done = await until_phase(world, "Succeeded")
    assert "ZeroDivisionError" not in done.status.message


async def test_a_shard_beyond_those_of_the_warmup_is_refused(world: Harbour):
    replica = world.start()
    body = {"metadata": {"name": "core-nt"}, "spec": {"dataset": "core_nt", "image": "fetch", "shards": 3}}
    await world.client.create(WARMUPS, body, NAMESPACE)
    await submit(replica, spec(batches=[{"shard": 99, "placement": {"warmup": "core-nt"}}]))
    refused = await until_phase(world, "Refused", within=30)
    assert "core-nt has 3 shards, and batch-0 asks for 99" in gate_of(refused, "shards").message


def _tried(replica: Replica) -> list[str]:
    """What was sent as a dry run."""
    posts = [call for call in replica.transport.calls if call.method == "POST" and not call.mutation]
    return sorted(resource_of(call.path) for call in posts if resource_of(call.path) in ("configmaps", "jobs"))


async def test_a_spec_is_tried_once_however_long_it_waits_and_however_many_batches_are_alike(world: Harbour):
    replica = world.start()
    batches = [{"args": [f"q{n}"], "env": [{"name": "N", "value": str(n)}]} for n in range(40)]
    await submit(replica, spec(batches=batches, scripts={"a": "x"}, requires={"warmups": ["core-nt"]}))
    await world.clock.sleep(120)
    waiting = await read(world)
    assert waiting.status.phase == "Pending" and gate_of(waiting, "manifest").state == "ok"
    assert _tried(replica) == ["configmaps", "jobs"]


def _posts_of_jobs(effect: Answer, **when: Any) -> list[Rule]:
    return [Rule(effect, methods=frozenset({"POST"}), resource="jobs", **when)]


async def test_a_server_that_does_not_answer_the_trial_leaves_the_gate_unknown_until_it_does(world: Harbour):
    away = Answer(503, "ServiceUnavailable", "etcd is away")
    replica = world.start(rules=_posts_of_jobs(away, until_seconds=20))
    await submit(replica, spec())
    await world.clock.sleep(8)
    waiting = await read(world)
    assert waiting.status.phase == "Pending" and gate_of(waiting, "manifest").state == "unknown"
    await until_phase(world, "Succeeded")


INVALID = Answer(422, "Invalid", 'Job.batch "x" is invalid: spec.template: forbidden since today')


async def test_a_step_that_the_api_server_refuses_after_all_fails_with_its_words_as_evidence(world: Harbour):
    replica = world.start(rules=_posts_of_jobs(INVALID, nth=frozenset({2})))  # the first is the trial
    await submit(replica, spec())
    failed = await until_phase(world, "Failed", within=30)
    assert [step.phase for step in failed.status.steps] == ["Failed", "Skipped", "Skipped", "Skipped"]
    assert "forbidden since today" in failed.status.steps[0].why
    assert failed.status.failure is not None and "forbidden since today" in failed.status.failure.reason
    assert await jobs(world) == []


async def test_a_refused_batch_does_not_keep_the_others_and_the_finalizer_from_running(world: Harbour):
    replica = world.start(rules=_posts_of_jobs(INVALID, nth=frozenset({3})))
    await submit(replica, spec())
    failed = await until_phase(world, "Failed")
    assert [step.phase for step in failed.status.steps] == ["Succeeded", "Failed", "Succeeded", "Succeeded"]
    assert failed.status.failure is not None and "forbidden since today" in failed.status.failure.reason
    made = {step_of(job) for job in await jobs(world)}
    assert made == {"setup", "batch-1", "finalizer"}


async def test_scripts_that_the_api_server_refuses_after_all_end_the_submission(world: Harbour):
    too_long = Answer(422, "Invalid", 'ConfigMap "x" is invalid: data: Too long')
    rule = Rule(too_long, methods=frozenset({"POST"}), resource="configmaps", nth=frozenset({2}))
    replica = world.start(rules=[rule])
    await submit(replica, spec(scripts={"a": "x"}))
    failed = await until_phase(world, "Failed", within=30)
    assert failed.status.failure is not None and "Too long" in failed.status.failure.reason
    assert gate_of(failed, "scripts").state == "fail" and await jobs(world) == []


async def test_a_missing_service_account_is_refused_by_a_gate_and_runs_once_it_exists(world: Harbour):
    replica = world.start()
    order = spec(serviceAccount="searcher")
    await submit(replica, order)
    refused = await until_phase(world, "Refused", within=30)
    gate = gate_of(refused, "service-account")
    assert (gate.state, gate.message) == ("fail", "there is no ServiceAccount searcher")
    assert gate.fix == f"kubectl -n {NAMESPACE} create serviceaccount searcher" and await jobs(world) == []
    await world.client.create(SERVICEACCOUNTS, {"metadata": {"name": "searcher"}}, NAMESPACE)
    await submit(replica, order)
    assert gate_of(await until_phase(world, "Succeeded"), "service-account").state == "ok"


async def test_pods_that_are_refused_are_told_in_the_step_and_in_the_evidence_of_its_end(world: Harbour):
    replica = world.start()
    await world.client.create(SERVICEACCOUNTS, {"metadata": {"name": "searcher"}}, NAMESPACE)
    await submit(replica, spec(serviceAccount="searcher", retry={"deadlineSeconds": 120}))
    await until_phase(world, "Running")
    await world.client.delete(SERVICEACCOUNTS, "searcher", NAMESPACE)
    await world.clock.sleep(15)
    stuck = await read(world)
    batch = stuck.status.steps[1]
    assert batch.phase == "Starting" and 'serviceaccount "searcher" not found' in batch.why
    assert 'serviceaccount "searcher" not found' in stuck.status.message
    before = replica.transport.mutations
    await world.clock.sleep(60)
    assert replica.transport.mutations == before, "the same reason is no news"
    failed = await until_phase(world, "Failed", within=400)
    assert failed.status.failure is not None
    assert "DeadlineExceeded" in failed.status.failure.reason
    assert 'serviceaccount "searcher" not found' in failed.status.failure.reason


async def test_a_hindrance_that_goes_away_is_not_told_any_more(world: Harbour):
    replica = world.start()
    account = {"metadata": {"name": "searcher"}}
    await world.client.create(SERVICEACCOUNTS, account, NAMESPACE)
    await submit(replica, spec(serviceAccount="searcher"))
    await until_phase(world, "Running")
    await world.client.delete(SERVICEACCOUNTS, "searcher", NAMESPACE)
    await world.clock.sleep(15)
    assert "searcher" in (await read(world)).status.message
    await world.client.create(SERVICEACCOUNTS, account, NAMESPACE)
    done = await until_phase(world, "Succeeded", within=300)
    assert not [step.why for step in done.status.steps if step.why] and "searcher" not in done.status.message


async def test_events_are_not_read_while_every_job_has_its_pod(world: Harbour):
    replica = world.start()
    await submit(replica, spec())
    await until_phase(world, "Succeeded")
    reads = [call for call in replica.transport.calls if call.method == "GET" and call.path.endswith("/events")]
    assert reads == []
