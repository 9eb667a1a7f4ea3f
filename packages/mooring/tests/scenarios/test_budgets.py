"""The pool's disruption budget against a whole cluster: evictions wait for working pods, and for them only."""

import pytest

from hawser.errors import EvictionBlocked, ObjectNotFound
from hawser.resources import BUDGETS, PODS
from mooring.kinds.resources import WORKERPOOLS
from mooring.model import names
from mooring.model.budget import MORE_THAN_THERE_ARE
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

POOL = f"{NAMESPACE}/linux"
NAME = "linux-busy"


async def exists(world: Harbour) -> bool:
    try:
        await world.client.get(BUDGETS, NAME, NAMESPACE)
    except ObjectNotFound:
        return False
    return True


async def test_a_working_pod_is_refused_eviction_the_instant_it_is_claimed_and_an_idle_one_never_is(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=2, max=2, reuse="Always", protection={"ceilingSeconds": 60})
    await world.until_idle(2)
    await world.clock.sleep(2)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    with pytest.raises(EvictionBlocked):
        await world.client.evict(claim.pod_name, NAMESPACE)
    idle = "linux-1" if claim.pod_name == "linux-0" else "linux-0"
    await world.client.evict(idle, NAMESPACE)
    await world.clock.sleep(65)
    await world.client.evict(claim.pod_name, NAMESPACE)
    assert (await world.client.get(PODS, claim.pod_name, NAMESPACE)).terminating


async def test_the_budget_is_written_once_whatever_is_claimed_and_released(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=3, max=3, reuse="Always")
    await world.until_idle(3)
    await world.clock.sleep(5)
    budget = await world.client.get(BUDGETS, NAME, NAMESPACE)
    assert budget.spec.min_available == MORE_THAN_THERE_ARE
    assert budget.spec.selector.match_labels == {names.POOL: "linux", names.BUSY: "true"}
    assert budget.spec.unhealthy_pod_eviction_policy == ""
    for _ in range(3):
        claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
        await world.clock.sleep(5)
        await desk.release(claim.id, claim.epoch)
    again = await world.client.get(BUDGETS, NAME, NAMESPACE)
    assert again.metadata.generation == budget.metadata.generation == 1


async def test_whoever_changes_or_deletes_the_budget_finds_it_as_it_was(world):
    world.start()
    await world.pool(warm=1, max=2)
    await world.until_idle(1)
    await world.clock.sleep(2)
    changed = {"spec": {"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}}
    await world.client.merge_patch(BUDGETS, NAME, {**changed, "metadata": {"labels": None}}, NAMESPACE)
    await world.clock.sleep(70)
    budget = await world.client.get(BUDGETS, NAME, NAMESPACE)
    assert budget.spec.min_available == MORE_THAN_THERE_ARE
    assert budget.spec.unhealthy_pod_eviction_policy == ""
    assert budget.metadata.labels[names.POOL] == "linux"
    await world.client.delete(BUDGETS, NAME, NAMESPACE)
    await world.clock.sleep(5)
    assert await exists(world)


async def test_a_pool_without_a_budget_has_none_and_changes_its_mind_both_ways(world):
    world.start()
    await world.pool(warm=1, max=2, protection={"budget": False})
    await world.until_idle(1)
    assert not await exists(world)
    await world.change({"protection": {"budget": True}})
    await world.clock.sleep(2)
    assert await exists(world)
    await world.change({"protection": {"budget": False}})
    await world.clock.sleep(2)
    assert not await exists(world)


async def test_deleting_the_pool_lifts_its_budget_also_without_a_control_plane(world):
    replica = world.start()
    await world.pool(warm=1, max=2, protection={"graceSeconds": 1})
    await world.until_idle(1)
    await world.clock.sleep(2)
    assert await exists(world)
    await replica.kill()
    await world.client.delete(WORKERPOOLS, "linux", NAMESPACE)

    async def lifted() -> bool:
        return not await exists(world)

    await world.until(lifted, 30, "the budget is gone")


async def test_somebody_elses_budget_of_that_name_is_left_alone(world):
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "other"}}}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": NAME}, "spec": spec}
    await world.client.create(BUDGETS, body, NAMESPACE)
    replica = world.start()
    await world.pool(warm=1, max=2)
    await world.until_idle(1)
    await world.clock.sleep(120)
    assert (await world.client.get(BUDGETS, NAME, NAMESPACE)).spec.min_available == 1
    assert sum("/poddisruptionbudgets" in call.path and call.mutation for call in replica.transport.calls) < 10
