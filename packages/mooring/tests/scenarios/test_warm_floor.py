"""The whole control plane against a whole cluster, in virtual time."""

import pytest

from drydock.faults import Answer, LagEvents, LoseAnswer, Rule
from hawser.resources import NODES, PODS
from mooring.kinds.resources import WORKERPOOLS
from packages.mooring.tests.scenarios.harbour import NAMESPACE, harbour


async def test_a_new_pool_gets_its_floor_and_then_nothing_is_written_any_more(world):
    replica = world.start()
    await world.pool(warm=5, max=8)
    await world.until_idle(5)
    await world.clock.sleep(10)
    before = replica.process.mutations
    await world.clock.sleep(60)
    assert replica.process.mutations == before
    assert world.witness.added == 5


async def test_with_a_watch_that_lags_thirty_seconds_exactly_the_floor_is_created(world):
    replica = world.start(rules=[Rule(LagEvents(30.0), resource="pods", watch=True)])
    await world.pool(warm=10, max=30)
    await world.until_idle(10, within=300)
    await world.clock.sleep(120)
    assert replica.pod_creates() == 10
    assert world.witness.added == 10


async def test_a_killed_worker_is_replaced(world):
    world.start()
    await world.pool(warm=3, max=6)
    await world.until_idle(3)
    await world.client.delete(PODS, "linux-1", NAMESPACE, grace_seconds=0)

    async def replaced() -> bool:
        return world.witness.added == 4

    assert await world.until(replaced, 10, "a replacement") <= 2
    await world.until_idle(3)


@pytest.mark.world(nodes=2)
async def test_a_cordoned_node_loses_its_idle_workers_only_after_they_were_replaced(world):
    world.start()
    await world.pool(warm=6, max=20, protection={"graceSeconds": 5})
    await world.until_idle(6)
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    fewest = 6

    async def moved() -> bool:
        nonlocal fewest
        pods = [pod for pod in await world.pods() if not pod.terminating and pod.ready]
        fewest = min(fewest, len(pods))
        return len(pods) == 6 and all(pod.spec.node_name == "node-2" for pod in pods)

    await world.until(moved, 60, "all workers on node-2")
    assert fewest == 6


async def test_deleting_a_pool_removes_its_pods(world):
    world.start()
    await world.pool(warm=3, max=6, protection={"graceSeconds": 5})
    await world.until_idle(3)
    await world.client.delete(WORKERPOOLS, "linux", NAMESPACE)

    async def gone() -> bool:
        return not await world.pods()

    await world.until(gone, 60, "no pods")


async def test_a_surplus_goes_after_its_idle_time_and_the_trail_tells_why(world):
    replica = world.start()
    await world.pool(warm=5, max=8, idleSeconds=120, protection={"graceSeconds": 1})
    await world.until_idle(5)
    await world.change({"warm": 2})
    took = await world.until_idle(2, within=300)
    assert 100 <= took <= 135
    page = await replica.mooring.queries.fleet.audit(_everything(), 10, None)
    assert page.total == 3
    assert all(record.outcome == "done" and len(record.entry.evidence["proofs"]) == 2 for record in page.items)


async def test_a_template_change_rolls_idle_workers_a_few_at_a_time_without_breaking_the_floor(world):
    world.start()
    await world.pool(warm=10, max=14, protection={"graceSeconds": 1})
    await world.until_idle(10)
    template = {"spec": {"containers": [{"name": "main", "image": "worker:2"}]}}
    await world.change({"template": template})
    fewest = 10

    async def rolled() -> bool:
        nonlocal fewest
        pods = [pod for pod in await world.pods() if not pod.terminating and pod.ready]
        fewest = min(fewest, len(pods))
        return len(pods) == 10 and all(pod.spec.containers[0].image == "worker:2" for pod in pods)

    await world.until(rolled, 300, "all workers of the new template")
    assert fewest == 10
    assert world.witness.most <= 14


@pytest.mark.parametrize(
    "wrong",
    [{"image": "example.invalid/worker:1"}, {"image": "worker:1", "resources": {"requests": {"cpu": "999"}}}],
    ids=["an image that cannot be pulled", "a request that no node has"],
)
async def test_a_pool_whose_workers_never_start_is_healed_by_a_corrected_template(world, wrong):
    world.start()
    await world.pool(warm=3, max=3, template={"spec": {"containers": [{"name": "main", **wrong}]}})
    await world.clock.sleep(120)
    assert (await world.status())["idle"] == 0
    await world.change({"template": {"spec": {"containers": [{"name": "main", "image": "worker:1"}]}}})
    await world.until_idle(3, within=60)
    assert world.witness.most <= 3


async def test_refused_creates_back_off_and_explain_themselves(world):
    refusal = Answer(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: small')
    rule = Rule(refusal, methods=frozenset({"POST"}), resource="pods", until_seconds=120)
    replica = world.start(rules=[rule])
    await world.pool(warm=5, max=8)
    await world.clock.sleep(110)
    assert replica.pod_creates() < 20
    conditions = {c["type"]: c for c in (await world.status())["conditions"]}
    assert "exceeded quota" in conditions["Ready"]["message"]
    await world.until_idle(5, within=400)


async def test_a_lost_answer_to_a_create_makes_no_second_worker(world):
    lost = Rule(LoseAnswer(), methods=frozenset({"POST"}), resource="pods", nth=frozenset({1, 3, 4}))
    world.start(rules=[lost])
    await world.pool(warm=4, max=8)
    await world.until_idle(4)
    await world.clock.sleep(60)
    assert world.witness.added == 4


@pytest.mark.world(nodes=1)
async def test_an_unschedulable_pool_holds_and_explains_and_is_not_churned(world):
    world.start()
    template = {"spec": {"containers": [{"name": "main", "image": "w", "resources": {"requests": {"cpu": "999"}}}]}}
    await world.pool(warm=3, max=8, template=template)
    await world.clock.sleep(600)
    status = await world.status()
    conditions = {c["type"]: c for c in status["conditions"]}
    assert conditions["Schedulable"]["status"] == "False"
    assert "Insufficient cpu" in conditions["Schedulable"]["message"]
    assert world.witness.added == 3


async def test_two_replicas_make_no_worker_twice_and_the_second_takes_over_from_a_dead_first(world):
    first = world.start("a")
    second = world.start("b")
    await world.pool(warm=4, max=8)
    await world.until_idle(4)
    assert world.witness.added == 4
    await first.kill()
    await world.client.delete(PODS, "linux-0", NAMESPACE, grace_seconds=0)

    async def replaced() -> bool:
        return world.witness.added == 5

    assert await world.until(replaced, 60, "a worker made by the second replica") <= 25
    assert second.mooring.leadership.leading
    await world.until_idle(4)


@pytest.mark.parametrize("warm", ["-1", "9"])
async def test_the_cluster_refuses_a_pool_with_a_wrong_floor_and_names_the_field(warm):
    from hawser.errors import ObjectInvalid

    async with harbour() as world:
        with pytest.raises(ObjectInvalid) as refused:
            await world.pool(warm=int(warm), max=8)
        assert "spec.warm" in refused.value.message


def _everything():
    from mooring.ledger.records import AuditFilter

    return AuditFilter()
