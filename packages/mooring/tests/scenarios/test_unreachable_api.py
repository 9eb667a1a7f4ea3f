"""Mooring's own API is down: what nobody could say there is not held against workers and holders."""

import contextlib

import pytest

from mooring.engine.own_api import DOUBT_SECONDS
from mooring.ledger.records import AuditFilter
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import MooringError
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.mooring.tests.scenarios.leaks import stamped

POOL = f"{NAMESPACE}/linux"
SILENT_SECONDS = 600
AWAY_SECONDS = DOUBT_SECONDS - 60  # longer than SILENT_SECONDS
DOWN = "Connection refused"


async def keep_polling(world: Harbour, replica: Replica) -> None:
    """Agents that poll every 20 s, whenever they reach the API."""
    while True:
        for worker in replica.mooring.fleet.workers(POOL):
            if not world.gateway.broken:
                with contextlib.suppress(MooringError):
                    await replica.mooring.claims.dispatch.next_session(worker, 0, executing=False)
        await world.clock.sleep(20)


async def keep_beating(world: Harbour, replica: Replica, claim: Claim) -> None:
    """A holder that sends heartbeats, whenever it reaches the API."""
    while True:
        if not world.gateway.broken:
            await replica.mooring.claims.desk.heartbeat(claim.id, claim.epoch)
        await world.clock.sleep(claim.ttl_seconds / 3)


@pytest.mark.slow
async def test_the_only_worker_of_a_poll_pool_outlives_an_api_that_is_away(world):
    replica = world.start()
    await world.pool(warm=1, max=1, dispatch="Poll", reuse="Always")
    await world.until_idle(1)
    world.enter(keep_polling(world, replica))
    await world.clock.sleep(120)
    before = {pod.metadata.uid for pod in await world.pods()}
    world.gateway.broken = DOWN
    await world.clock.sleep(AWAY_SECONDS)
    assert {pod.metadata.uid for pod in await world.pods()} == before
    world.gateway.broken = ""
    await world.clock.sleep(2 * SILENT_SECONDS)
    assert {pod.metadata.uid for pod in await world.pods()} == before
    acts = await replica.mooring.queries.fleet.audit(AuditFilter(action="delete"), 10, None)
    assert acts.total == 0


@pytest.mark.slow
async def test_the_only_worker_of_a_poll_pool_that_hangs_is_still_replaced(world):
    replica = world.start()
    await world.pool(warm=1, max=1, dispatch="Poll", reuse="Always")
    await world.until_idle(1)
    [worker] = replica.mooring.fleet.workers(POOL)
    await replica.mooring.claims.dispatch.next_session(worker, 0, executing=False)

    async def replaced() -> bool:
        return worker.uid not in {pod.metadata.uid for pod in await world.pods() if not pod.terminating}

    assert await world.until(replaced, SILENT_SECONDS + 70, "the hung worker is replaced") >= SILENT_SECONDS - 10


@pytest.mark.slow
async def test_a_claim_outlives_an_api_that_is_away_for_longer_than_its_ttl(world):
    replica = world.start()
    await world.pool(warm=1, max=2)
    await world.until_idle(1)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=60))
    world.enter(keep_beating(world, replica, claim))
    await world.clock.sleep(60)
    world.gateway.broken = DOWN
    await world.clock.sleep(AWAY_SECONDS)
    world.gateway.broken = ""
    await world.clock.sleep(300)
    assert (await replica.mooring.claims.desk.get(claim.id)).state is ClaimState.RUNNING
    assert await stamped(world) == {claim.pod_name}


@pytest.mark.slow
async def test_a_leak_is_not_reclaimed_while_the_api_is_away_and_is_afterwards(world):
    replica = world.start()
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("gone", ttl_seconds=30))
    await world.clock.sleep(120)
    assert not (await replica.mooring.claims.desk.get(claim.id)).live
    world.gateway.broken = DOWN
    await world.clock.sleep(AWAY_SECONDS)
    assert await stamped(world) == {claim.pod_name}
    world.gateway.broken = ""

    async def free() -> bool:
        return not await stamped(world)

    assert await world.until(free, SILENT_SECONDS + 90, "the leak is healed") >= SILENT_SECONDS


@pytest.mark.slow
async def test_a_leak_is_healed_also_where_mooring_never_reaches_itself(world):
    world.gateway.broken = DOWN
    replica = world.start()
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await replica.mooring.claims.desk.claim(POOL, ClaimRequest("gone", ttl_seconds=30))

    async def free() -> bool:
        return not await stamped(world)

    await world.until(free, DOUBT_SECONDS + SILENT_SECONDS + 200, "the leak is healed")


async def test_the_doctor_names_the_address_that_does_not_answer(world):
    replica = world.start()
    await replica.mooring.wait_synced()
    lines = {check.id: check for check in (await replica.mooring.queries.doctor.examine()).checks}
    assert lines["own-api"].status == "ok"
    world.gateway.broken = DOWN
    lines = {check.id: check for check in (await replica.mooring.queries.doctor.examine()).checks}
    found = lines["own-api"]
    assert found.status == "fail" and world.gateway.url in found.message and DOWN in found.message
    assert "MOORING_WORKER_URL" in found.fix
