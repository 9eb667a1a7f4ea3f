"""Workers with several slots: whatever happens to one session, its neighbours keep what is theirs."""

import asyncio

import pytest

from mooring.control.claiming.refusals import NoIdleWorker
from mooring.kube.resources import NODES, PODS, WORKERPOOLS
from mooring.model import names
from mooring.model.claim import Claim
from mooring.model.wish import Wish
from mooring.sandbox.faults import Delay, Rule
from tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour, plays_in

POOL = f"{NAMESPACE}/linux"
SECOND_STAMP_IS_SLOW = Rule(Delay(0.3), methods=frozenset({"PATCH"}), resource="pods", nth=frozenset({2}))


async def shared_pool(world: Harbour, **spec: object) -> None:
    """One worker with two slots."""
    await world.pool(warm=1, max=1, slots=2, **{"protection": {"graceSeconds": 1}, **spec})
    await world.until_idle(1)


async def neighbours(world: Harbour, replica: Replica) -> tuple[Claim, Claim]:
    """Two sessions on the one worker, the second one stamped last."""
    desk = replica.mooring.desk
    first, second = [await desk.claim(POOL, Wish(owner, ttl_seconds=3600)) for owner in ("acme", "globex")]
    assert first.pod_uid == second.pod_uid and first.slot != second.slot
    await world.clock.sleep(3)
    return first, second


async def is_there(world: Harbour, claim: Claim) -> bool:
    return any(pod.metadata.uid == claim.pod_uid and not pod.terminating for pod in await world.pods())


async def is_protected(world: Harbour, claim: Claim) -> bool:
    pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    return pod.metadata.labels.get(names.BUSY) == "true" and names.DO_NOT_DISRUPT in pod.metadata.annotations


@plays_in(harbour, nodes=1)
async def test_a_claim_that_comes_too_late_to_a_doomed_worker_leaves_its_neighbour_protected(world):
    desk = world.start(rules=[SECOND_STAMP_IS_SLOW]).mooring.desk
    await shared_pool(world, reuse="Always")
    working = await desk.claim(POOL, Wish("acme", ttl_seconds=3600))
    await world.clock.sleep(10)
    late = asyncio.create_task(desk.claim(POOL, Wish("globex", ttl_seconds=3600)))
    await world.clock.sleep(0.05)
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    with pytest.raises(NoIdleWorker):
        await late
    assert await is_protected(world, working)


@pytest.mark.parametrize("order", ["first in, first out", "last in, first out"])
@plays_in(harbour)
async def test_a_worker_that_is_not_reused_goes_with_its_last_session(world, order):
    replica = world.start()
    await shared_pool(world, reuse="Never")
    sessions = await neighbours(world, replica)
    for claim in sessions if order == "first in, first out" else reversed(sessions):
        assert await is_there(world, claim)
        await replica.mooring.desk.release(claim.id, claim.epoch)
    await world.clock.sleep(5)
    assert not await is_there(world, sessions[0])


@plays_in(harbour)
async def test_fewer_slots_than_sessions_take_no_protection_away(world):
    replica = world.start()
    await shared_pool(world, reuse="Always")
    first, second = await neighbours(world, replica)
    await world.client.merge_patch(WORKERPOOLS, "linux", {"spec": {"slots": 1}}, NAMESPACE)
    await world.clock.sleep(3)
    await replica.mooring.desk.release(second.id, second.epoch)
    assert await is_protected(world, first)


@pytest.mark.parametrize("lost", [1, 2], ids=["one row is lost", "all rows are lost"])
@plays_in(harbour)
async def test_where_rows_were_lost_no_slot_is_handed_out_over_work_that_may_go_on(world, lost):
    replica = world.start()
    await shared_pool(world, reuse="Never")
    sessions = await neighbours(world, replica)
    for claim in sessions[:lost]:
        world.ledger._session.store.forget(claim.id)
    await world.ledger.meta.observe_epoch(sessions[1].epoch + 1000, now=world.clock.now())  # a pod knows more than we
    await world.clock.sleep(20)
    with pytest.raises(NoIdleWorker):
        await replica.mooring.desk.claim(POOL, Wish("initech"))
    if lost == 1:
        await replica.mooring.desk.release(sessions[1].id, sessions[1].epoch)
        await world.clock.sleep(5)
    assert await is_there(world, sessions[0])
