"""What a claim ended of is a fact in its row: one scenario for each cause, in virtual time."""

import asyncio

import pytest

from drydock import Drain, DrainPolicy
from hawser.resources import PODS
from mooring.controllers.claims.mint import MintFailed
from mooring.controllers.claims.refusals import WaitTimedOut
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

POOL = f"{NAMESPACE}/linux"
IMPATIENT = DrainPolicy(deadline_seconds=5, retry_seconds=1, waits_for_protected=False)


async def ended(world: Harbour, claim: Claim, within: float = 60) -> Claim:
    async def over() -> bool:
        found = await world.ledger.claims.get(claim.id)
        return found is not None and not found.live

    await world.until(over, within, "the claim is over")
    found = await world.ledger.claims.get(claim.id)
    assert found is not None
    return found


async def drain(world: Harbour, claim: Claim) -> None:
    node = (await world.client.get(PODS, claim.pod_name, NAMESPACE)).spec.node_name
    await Drain(world.client, world.clock, node, IMPATIENT).run()


@pytest.mark.world(nodes=3)
async def test_a_claim_whose_node_was_drained_and_one_whose_pod_vanished_are_told_apart(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=3, max=6, protection={"graceSeconds": 1})
    await world.until_idle(3)
    drained, vanished = [await desk.claim(POOL, ClaimRequest(owner, ttl_seconds=3600)) for owner in ("one", "other")]
    await world.client.delete(PODS, vanished.pod_name, NAMESPACE, grace_seconds=0)
    lost = await ended(world, vanished)
    assert (lost.state, lost.cause) == (ClaimState.LOST, EndCause.WORKER_LOST)
    await drain(world, drained)
    lost = await ended(world, drained)
    assert (lost.state, lost.cause) == (ClaimState.LOST, EndCause.DRAINED)


@pytest.mark.world(nodes=3)
async def test_a_claim_that_is_tried_again_after_a_drain_still_knows_what_it_lost_its_first_worker_to(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=2, max=6, protection={"graceSeconds": 1})
    await world.until_idle(2)
    first = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600, retryable=True))
    await drain(world, first)

    async def runs_again() -> bool:
        found = await desk.get(first.id)
        return found.state is ClaimState.RUNNING and found.epoch > first.epoch

    await world.until(runs_again, 60, "it runs again")
    assert (await desk.get(first.id)).cause is EndCause.DRAINED


async def test_a_holder_gives_back_an_operator_revokes_and_silence_expires(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=3, max=3, reuse="Always")
    await world.until_idle(3)
    claims = [await desk.claim(POOL, ClaimRequest(f"o{n}", ttl_seconds=20)) for n in range(3)]
    assert {claim.cause for claim in claims} == {None}
    assert (await desk.release(claims[0].id, claims[0].epoch)).cause is EndCause.RELEASED
    assert (await desk.revoke(claims[1].id, actor="ana", reason="")).cause is EndCause.REVOKED
    assert (await ended(world, claims[2])).cause is EndCause.EXPIRED


@pytest.mark.parametrize("alone", [True, False])
async def test_a_wait_that_is_over_is_told_whoever_notices_first(world, alone):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await desk.claim(POOL, ClaimRequest("holder", ttl_seconds=3600))
    waiting = asyncio.create_task(desk.claim(POOL, ClaimRequest("patient", wait=10)))
    await world.clock.sleep(1)
    if alone:
        waiting.cancel()
    else:
        with pytest.raises(WaitTimedOut):
            await waiting
    (queued,) = (await world.ledger.claims.list(ClaimFilter(owner="patient"))).items

    async def told() -> bool:
        found = await desk.get(queued.id)
        return (found.state, found.cause) == (ClaimState.EXPIRED, EndCause.WAIT_OVER)

    await world.until(told, 30, "its wait is over")


async def test_a_claim_that_could_not_be_set_up_never_started(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, mint={"url": "http://127.0.0.1:1/mint"})
    await world.until_idle(1)
    world.mint.failing = 1
    with pytest.raises(MintFailed):
        await desk.claim(POOL, ClaimRequest("acme"))
    (failed,) = (await world.ledger.claims.list(ClaimFilter(owner="acme"))).items
    assert (failed.state, failed.cause) == (ClaimState.FAILED, EndCause.NOT_STARTED)
