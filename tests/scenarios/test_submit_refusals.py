"""Submissions that can never run: each is refused or fails with the reason, and none holds a place for ever."""

from typing import Any

import pytest

from mooring.kube.errors import ObjectNotFound
from mooring.kube.resources import CONFIGMAPS
from mooring.model.submission import scripts_name
from mooring.sandbox.faults import Answer, Rule
from mooring.sandbox.faults.plan import resource_of
from tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour, plays_in
from tests.scenarios.submits import gate_of, jobs, read, spec, step_of, submit, until_phase

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
@plays_in(harbour)
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


@plays_in(harbour)
async def test_refused_submissions_hold_no_place_of_the_ceiling(world: Harbour):
    replica = world.start()
    for number in range(3):
        await submit(replica, spec(f"bad-{number}", volumeMounts=[{"name": "nope", "mountPath": "/x"}]))
    await submit(replica, spec("good"))
    await until_phase(world, "Succeeded", "good")


def _tried(replica: Replica) -> list[str]:
    """What was sent as a dry run."""
    posts = [call for call in replica.transport.calls if call.method == "POST" and not call.mutation]
    return sorted(resource_of(call.path) for call in posts if resource_of(call.path) in ("configmaps", "jobs"))


@plays_in(harbour)
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


@plays_in(harbour)
async def test_a_server_that_does_not_answer_the_trial_leaves_the_gate_unknown_until_it_does(world: Harbour):
    away = Answer(503, "ServiceUnavailable", "etcd is away")
    replica = world.start(rules=_posts_of_jobs(away, until_seconds=20))
    await submit(replica, spec())
    await world.clock.sleep(8)
    waiting = await read(world)
    assert waiting.status.phase == "Pending" and gate_of(waiting, "manifest").state == "unknown"
    await until_phase(world, "Succeeded")


INVALID = Answer(422, "Invalid", 'Job.batch "x" is invalid: spec.template: forbidden since today')


@plays_in(harbour)
async def test_a_step_that_the_api_server_refuses_after_all_fails_with_its_words_as_evidence(world: Harbour):
    replica = world.start(rules=_posts_of_jobs(INVALID, nth=frozenset({2})))  # the first is the trial
    await submit(replica, spec())
    failed = await until_phase(world, "Failed", within=30)
    assert [step.phase for step in failed.status.steps] == ["Failed", "Skipped", "Skipped", "Skipped"]
    assert "forbidden since today" in failed.status.steps[0].why
    assert failed.status.failure is not None and "forbidden since today" in failed.status.failure.reason
    assert await jobs(world) == []


@plays_in(harbour)
async def test_a_refused_batch_does_not_keep_the_others_and_the_finalizer_from_running(world: Harbour):
    replica = world.start(rules=_posts_of_jobs(INVALID, nth=frozenset({3})))
    await submit(replica, spec())
    failed = await until_phase(world, "Failed")
    assert [step.phase for step in failed.status.steps] == ["Succeeded", "Failed", "Succeeded", "Succeeded"]
    assert failed.status.failure is not None and "forbidden since today" in failed.status.failure.reason
    made = {step_of(job) for job in await jobs(world)}
    assert made == {"setup", "batch-1", "finalizer"}


@plays_in(harbour)
async def test_scripts_that_the_api_server_refuses_after_all_end_the_submission(world: Harbour):
    too_long = Answer(422, "Invalid", 'ConfigMap "x" is invalid: data: Too long')
    rule = Rule(too_long, methods=frozenset({"POST"}), resource="configmaps", nth=frozenset({2}))
    replica = world.start(rules=[rule])
    await submit(replica, spec(scripts={"a": "x"}))
    failed = await until_phase(world, "Failed", within=30)
    assert failed.status.failure is not None and "Too long" in failed.status.failure.reason
    assert gate_of(failed, "scripts").state == "fail" and await jobs(world) == []
