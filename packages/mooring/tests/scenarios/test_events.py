"""What happens to our objects is in their Events, so that `kubectl describe` shows it."""

import pytest

from hawser.resources import EVENTS, PODS
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

POOL = f"{NAMESPACE}/linux"


async def events_of(world: Harbour, kind: str = "WorkerPool") -> list[tuple[str, str, str]]:
    found = (await world.client.list(EVENTS.raw(), NAMESPACE)).items
    return [(e["type"], e["reason"], e["message"]) for e in found if e["involvedObject"]["kind"] == kind]


async def test_a_pool_reports_its_start_a_replaced_worker_and_a_spec_that_is_wrong(world):
    world.start()
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    await world.client.delete(PODS, "linux-0", NAMESPACE)
    await world.until_idle(2)
    await world.clock.sleep(5)
    seen = await events_of(world)
    assert ("Normal", "FloorHeld", "at least 2 idle") in seen
    assert sum(reason == "WorkersCreated" for _, reason, _ in seen) >= 2
    assert all("linux-" in message for _, reason, message in seen if reason == "WorkersCreated")


async def test_a_pool_reports_the_workers_that_it_retires_and_why(world):
    world.start()
    await world.pool(warm=2, max=4, idleSeconds=60)
    await world.until_idle(2)
    await world.client.merge_patch(WORKERPOOLS, "linux", {"spec": {"warm": 1}}, NAMESPACE)
    await world.clock.sleep(600)
    [retired] = [message for _, reason, message in await events_of(world) if reason == "WorkersRetired"]
    assert "linux-" in retired and "idle" in retired


async def test_a_leaked_worker_that_is_removed_is_an_event_on_its_pool(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=2, reuse="Never")
    await world.until_idle(1)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=60))
    await world.clock.sleep(120)
    expired = [message for type_, reason, message in await events_of(world) if reason == "ClaimExpired"]
    assert len(expired) == 1
    assert claim.id in expired[0]


@pytest.mark.slow
async def test_a_settled_pool_writes_no_events(world):
    world.start()
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    await world.clock.sleep(30)
    before = await events_of(world)
    await world.clock.sleep(1200)
    assert await events_of(world) == before
