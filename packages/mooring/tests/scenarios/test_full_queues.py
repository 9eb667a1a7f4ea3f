"""`limits.maxQueued`: as many claims wait as the pool allows, and the next one is refused with the reason."""

import asyncio

import pytest

from mooring.controllers.claims.refusals import QueueFull
from mooring.model.claim import ClaimState
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE

POOL = f"{NAMESPACE}/linux"


async def test_a_full_queue_refuses_the_next_claim_and_takes_one_when_there_is_room(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always", limits={"maxQueued": 1})
    await world.until_idle(1)
    held = await desk.claim(POOL, ClaimRequest("acme"))
    waiting = asyncio.ensure_future(desk.claim(POOL, ClaimRequest("bert", wait=60)))
    await world.clock.sleep(1)
    with pytest.raises(QueueFull) as refused:
        await desk.claim(POOL, ClaimRequest("carl", wait=60))
    assert refused.value.detail["why"]["message"].startswith(f"at most 1 claims may wait for {POOL}")
    assert "limits.maxQueued" in refused.value.fix
    await desk.release(held.id, held.epoch)
    served = await waiting
    assert served.state is ClaimState.RUNNING
    next_one = asyncio.ensure_future(desk.claim(POOL, ClaimRequest("carl", wait=60)))
    await world.clock.sleep(1)
    await desk.release(served.id, served.epoch)
    assert (await next_one).state is ClaimState.RUNNING
