"""A Warmup that cannot be carried out says so, with the field and the fix, and never stays silent."""

import pytest

from drydock.faults import Answer, Rule
from hawser.errors import ObjectInvalid
from hawser.resources import SERVICEACCOUNTS
from mooring.kinds.resources import WARMUPS
from packages.mooring.tests.scenarios.datasets import dataset_world
from packages.mooring.tests.scenarios.harbour import NAMESPACE


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"memoryBudget": "abc"}, ["spec.memoryBudget: 'abc'", "a quantity"]),
        ({"memoryBudget": "0"}, ["spec.memoryBudget: '0'", "more than nothing"]),
        ({"size": "big"}, ["spec.size: 'big'", "a quantity"]),
        ({"localPath": "/a:b"}, ["spec.localPath: '/a:b'", "without :, . and .."]),
    ],
)
@pytest.mark.world(nodes=3)
async def test_a_value_that_cannot_be_read_is_told_and_heals_when_it_is_right(dataset, spec, words):
    await dataset.warmup(shards=2, propagationSeconds=0, **spec)
    await dataset.until("Failed", within=10)
    status = await dataset.status()
    assert all(word in status["reason"] for word in words), status["reason"]
    await dataset.edit({"spec": dict.fromkeys(spec)})
    await dataset.until("Ready", within=60)


@pytest.mark.world(nodes=3)
async def test_a_generation_is_a_number_or_a_name_and_never_empty(dataset):
    await dataset.warmed(shards=2, generation=7)
    assert {shard["warm"] for shard in (await dataset.status())["shards"]} == {"7"}
    with pytest.raises(ObjectInvalid, match="generation"):
        await dataset.edit({"spec": {"generation": ""}})


@pytest.mark.world(nodes=4)
async def test_a_second_warmup_of_a_dataset_says_which_one_has_it(dataset):
    await dataset.warmed(shards=3)
    spec = {"dataset": "core_nt", "shards": 3, "image": "f", "command": ["fetch"], "propagationSeconds": 0}
    body = {"apiVersion": WARMUPS.api_version, "kind": "Warmup", "metadata": {"name": "late"}, "spec": spec}
    await dataset.stage.client.create(WARMUPS, body, NAMESPACE)
    await dataset.stage.clock.sleep(30)
    late = (await dataset.stage.client.get(WARMUPS, "late", NAMESPACE)).status
    assert late.phase == "Failed" and "is warmed by the Warmup core already" in late.reason
    assert (await dataset.status())["phase"] == "Ready" and len(dataset.lost()) == 0
    await dataset.stage.client.delete(WARMUPS, "core", NAMESPACE, propagation="Background")
    await dataset.stage.clock.sleep(90)
    assert (await dataset.stage.client.get(WARMUPS, "late", NAMESPACE)).status.phase == "Ready"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"env": [{"name": "A=B", "value": "x"}]}, "spec.env"),
        ({"serviceAccount": "No Such Name"}, "spec.serviceAccount"),
        ({"placement": {"tolerations": [{"key": "x", "operator": "Perhaps"}]}}, "spec.placement.tolerations"),
    ],
)
@pytest.mark.world(nodes=3)
async def test_a_job_that_the_cluster_refuses_fails_with_the_field_and_the_fix(dataset, spec, field):
    await dataset.warmup(shards=2, propagationSeconds=0, **spec)
    await dataset.until("Failed", within=30)
    status = await dataset.status()
    assert f"(fix: correct {field})" in status["shards"][0]["why"]
    assert field in status["reason"] and field in status["failure"]["reason"]
    await dataset.edit({"spec": dict.fromkeys(spec)})
    await dataset.until("Ready", within=180)
    assert not (await dataset.status()).get("failure")


@pytest.mark.world(nodes=3)
async def test_a_missing_service_account_is_named_and_waited_for(dataset):
    await dataset.warmup(shards=2, propagationSeconds=0, serviceAccount="absent")
    await dataset.stage.clock.sleep(30)
    status = await dataset.status()
    assert status["phase"] == "Warming"
    assert status["reason"].count('serviceaccount "absent" not found') == 1, "said once for all shards"
    written = status
    await dataset.stage.clock.sleep(60)
    assert await dataset.status() == written, "each attempt has another name, and the same reason"
    assert "make that ServiceAccount, or name another in spec.serviceAccount" in status["shards"][0]["why"]
    await dataset.stage.client.create(SERVICEACCOUNTS, {"metadata": {"name": "absent"}}, NAMESPACE)
    await dataset.until("Ready", within=700)


async def test_a_quota_is_told_and_healed_when_there_is_room():
    full = Answer(403, "Forbidden", "exceeded quota: few-jobs, requested: count/jobs.batch=1")
    rule = Rule(full, methods=frozenset({"POST"}), resource="jobs", nth=frozenset(range(1, 9)))
    async with dataset_world(3, rules=[rule]) as world:
        await world.warmup(shards=2, propagationSeconds=0)
        await world.stage.clock.sleep(4)
        status = await world.status()
        assert status["phase"] == "Warming" and "exceeded quota: few-jobs" in status["reason"]
        assert "give Mooring's account" not in status["reason"]
        await world.until("Ready", within=180)
