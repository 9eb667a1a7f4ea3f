"""Clocks that are wrong: set forward or back under a running control plane, or never right.

Leases, heartbeats and confirmations are measured, never read off a wall clock.
"""

import asyncio

import pytest

from hawser.resources import NODES, PODS
from mooring.model.claim import Claim, ClaimState, NewClaim, WorkerSlot
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import MooringError
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"
HOUR = 3600
TTL = 60
JUMPS = pytest.mark.parametrize("seconds", fast_first([HOUR, -HOUR, TTL, -TTL], 2), ids="{:+}".format)


async def claim_one(replica: Replica) -> Claim:
    return await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=TTL))


async def beat(world: Harbour, replica: Replica, claim: Claim, times: int) -> None:
    """As a holder does: three times within the ttl."""
    for _ in range(times):
        await world.clock.sleep(TTL / 3)
        await replica.mooring.claims.desk.heartbeat(claim.id, claim.epoch)


@JUMPS
async def test_a_jump_changes_neither_the_leader_nor_an_epoch(world, seconds):
    first = world.start("first")
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    second = world.start("second")
    await world.clock.sleep(12)
    epochs = [replica.mooring.leadership.epoch for replica in (first, second)]
    for replica in (first, second):
        alive = set(world.witness.alive)
        replica.clock.jump(seconds)
        for _ in range(60):
            assert first.mooring.leadership.leading and not second.mooring.leadership.leading
            await world.clock.sleep(1)
        assert [other.mooring.leadership.epoch for other in (first, second)] == epochs
        assert world.witness.alive == alive


@JUMPS
async def test_whatever_the_clocks_say_a_holder_that_beats_is_kept_and_one_that_is_silent_expires_in_time(
    world, seconds
):
    first = world.start("first")
    await world.pool(warm=2, max=4, reuse="Always")
    await world.until_idle(2)
    second = world.start("second")
    await world.clock.sleep(12)
    claim, dead = await claim_one(second), await claim_one(second)
    for holder in (claim, dead):
        await second.mooring.claims.desk.heartbeat(holder.id, holder.epoch)
    for replica in (first, second):
        replica.clock.jump(seconds)
        await beat(world, second, claim, 6)
        kept = await first.mooring.claims.desk.get(claim.id)
        assert (kept.state, kept.epoch) == (ClaimState.RUNNING, claim.epoch)
        assert (await first.mooring.claims.desk.get(dead.id)).state is ClaimState.EXPIRED


@JUMPS
async def test_after_a_jump_a_drained_node_is_still_left_and_the_floor_kept(world, seconds):
    replica = world.start()
    await world.pool(warm=2, max=4, protection={"graceSeconds": 1})
    await world.until_idle(2)
    leaving, _ = await world.pods()
    await world.client.merge_patch(NODES, leaving.spec.node_name, {"spec": {"unschedulable": True}})
    await world.clock.sleep(1.5)  # its worker was seen there once, and waits to be confirmed
    replica.clock.jump(seconds)
    assert leaving.metadata.uid in world.witness.alive

    async def moved() -> bool:
        return leaving.metadata.uid not in world.witness.alive and len(world.witness.alive) == 2

    await world.until(moved, 60, "the worker is replaced elsewhere")
    await world.client.delete(PODS, (await world.pods())[0].metadata.name, NAMESPACE, grace_seconds=0)
    await world.until_idle(2, within=60)


@pytest.mark.parametrize("seconds", [HOUR, -HOUR], ids="{:+}".format)
async def test_a_successor_whose_clock_is_an_hour_off_takes_over_in_time_and_keeps_every_claim(world, seconds):
    first = world.start("first")
    await world.pool(warm=2, max=4, reuse="Always")
    await world.until_idle(2)
    second = world.start("second")
    second.clock.jump(seconds)
    await world.clock.sleep(12)
    claim = await claim_one(first)
    await first.kill()

    async def leads() -> bool:
        return second.mooring.leadership.leading

    assert await world.until(leads, 40, "the second leads") <= 26
    await beat(world, second, claim, 6)
    assert (await second.mooring.claims.desk.get(claim.id)).state is ClaimState.RUNNING
    assert (await claim_one(second)).epoch > claim.epoch


@JUMPS
async def test_a_wait_lasts_as_long_as_asked_whatever_the_clocks_of_the_replicas_say(world, seconds):
    first = world.start("first")
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    second = world.start("second")
    await world.clock.sleep(12)
    first.clock.jump(seconds)
    second.clock.jump(-seconds)
    await claim_one(second)
    waiting = asyncio.create_task(second.mooring.claims.desk.claim(POOL, ClaimRequest("acme", wait=60)))
    await world.clock.sleep(50)
    assert [claim.state for claim in await world.ledger.claims.queue(NAMESPACE, "linux")] == [ClaimState.QUEUED]
    await world.clock.sleep(20)
    assert isinstance(waiting.exception(), MooringError)
    assert await world.ledger.claims.queue(NAMESPACE, "linux") == ()
    assert abs(first.mooring.clock.now() - second.mooring.clock.now()).total_seconds() < 1


@pytest.mark.parametrize("seconds", [HOUR, -HOUR], ids="{:+}".format)
async def test_a_claim_that_another_machine_is_handing_over_is_not_taken_for_stuck(world, seconds):
    """`claim-progresses` compares the moment that one replica stored with the clock of another."""
    first = world.start("first")
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    second = world.start("second")
    second.clock.jump(seconds)
    await world.clock.sleep(12)
    meta = (await world.pods())[0].metadata
    new = NewClaim(id=world.entropy.uuid(), namespace=NAMESPACE, pool="linux", owner="acme", ttl_seconds=TTL)
    now = second.mooring.clock.now()
    claim = (await second.ledger.claims.insert_claimed(new, WorkerSlot(meta.name, meta.uid), now=now)).require()
    await world.clock.sleep(world.timeouts.claim_progress - 20)
    assert (await first.mooring.claims.desk.get(claim.id)).state is ClaimState.CLAIMED
    await world.clock.sleep(60)
    assert (await first.mooring.claims.desk.get(claim.id)).state is ClaimState.FAILED
