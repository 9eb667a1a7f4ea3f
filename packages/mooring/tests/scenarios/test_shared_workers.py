"""Workers with several slots: whatever happens to one session, its neighbours keep what is theirs."""

import asyncio

import pytest

from drydock.faults import Delay, Rule
from hawser.resources import NODES, PODS
from mooring.controllers.claims.refusals import NoIdleWorker
from mooring.kinds.resources import WORKERPOOLS
from mooring.model import names
from mooring.model.claim import Claim
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica

POOL = f"{NAMESPACE}/linux"
SECOND_STAMP_IS_SLOW = Rule(Delay(0.3), methods=frozenset({"PATCH"}), resource="pods", nth=frozenset({2}))


async def shared_pool(world: Harbour, **spec: object) -> None:
    """One worker with two slots."""
    await world.pool(warm=1, max=1, slots=2, **{"protection": {"graceSeconds": 1}, **spec})
    await world.until_idle(1)


async def neighbours(world: Harbour, replica: Replica) -> tuple[Claim, Claim]:
    """Two sessions on the one worker, the second one stamped last."""
    desk = replica.mooring.claims.desk
    first, second = [await desk.claim(POOL, ClaimRequest(owner, ttl_seconds=3600)) for owner in ("acme", "globex")]
    assert first.pod_uid == second.pod_uid and first.slot != second.slot
    await world.clock.sleep(3)
    return first, second


async def is_there(world: Harbour, claim: Claim) -> bool:
    return any(pod.metadata.uid == claim.pod_uid and not pod.terminating for pod in await world.pods())


async def is_protected(world: Harbour, claim: Claim) -> bool:
    pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    return pod.metadata.labels.get(names.BUSY) == "true" and names.DO_NOT_DISRUPT in pod.metadata.annotations


@pytest.mark.world(nodes=1)
async def test_a_claim_that_comes_too_late_to_a_doomed_worker_leaves_its_neighbour_protected(world):
    desk = world.start(rules=[SECOND_STAMP_IS_SLOW]).mooring.claims.desk
    await shared_pool(world, reuse="Always")
    working = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await world.clock.sleep(10)
    late = asyncio.create_task(desk.claim(POOL, ClaimRequest("globex", ttl_seconds=3600)))
    await world.clock.sleep(0.05)
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    with pytest.raises(NoIdleWorker):
        await late
    assert await is_protected(world, working)


@pytest.mark.parametrize("order", ["first in, first out", "last in, first out"])
async def test_a_worker_that_is_not_reused_goes_with_its_last_session(world, order):
    replica = world.start()
    await shared_pool(world, reuse="Never")
    sessions = await neighbours(world, replica)
    for claim in sessions if order == "first in, first out" else reversed(sessions):
        assert await is_there(world, claim)
        await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.clock.sleep(5)
    assert not await is_there(world, sessions[0])


async def test_fewer_slots_than_sessions_take_no_protection_away(world):
    replica = world.start()
    await shared_pool(world, reuse="Always")
    first, second = await neighbours(world, replica)
    await world.client.merge_patch(WORKERPOOLS, "linux", {"spec": {"slots": 1}}, NAMESPACE)
    await world.clock.sleep(3)
    await replica.mooring.claims.desk.release(second.id, second.epoch)
    assert await is_protected(world, first)


@pytest.mark.parametrize("lost", [1, 2], ids=["one row is lost", "all rows are lost"])
async def test_where_rows_were_lost_no_slot_is_handed_out_over_work_that_may_go_on(world, lost):
    replica = world.start()
    await shared_pool(world, reuse="Never")
    sessions = await neighbours(world, replica)
    for claim in sessions[:lost]:
        world.ledger._session.store.forget(claim.id)
    await world.ledger.meta.observe_epoch(sessions[1].epoch + 1000, now=world.clock.now())  # a pod knows more than we
    await world.clock.sleep(20)
    with pytest.raises(NoIdleWorker):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("initech"))
    if lost == 1:
        await replica.mooring.claims.desk.release(sessions[1].id, sessions[1].epoch)
        await world.clock.sleep(5)
    assert await is_there(world, sessions[0])


async def stamp(world: Harbour, claim: Claim) -> tuple[str | None, ...]:
    meta = (await world.client.get(PODS, claim.pod_name, NAMESPACE)).metadata
    return meta.labels.get(names.OWNER), meta.annotations.get(names.CLAIM), meta.annotations.get(names.EPOCH)


@pytest.mark.parametrize("reuse", ["Always", "Never"])
async def test_the_stamp_names_a_session_that_goes_on_when_the_one_it_named_is_over(world, reuse):
    replica = world.start()
    await shared_pool(world, reuse=reuse)
    first, second = await neighbours(world, replica)
    assert await stamp(world, first) == ("globex", second.id, str(second.epoch))
    await replica.mooring.claims.desk.release(second.id, second.epoch)
    assert await stamp(world, first) == ("acme", first.id, str(first.epoch))
    assert await is_protected(world, first)
    await replica.mooring.claims.desk.release(first.id, first.epoch)
    await world.clock.sleep(5)
    assert reuse == "Never" or await stamp(world, first) == (None, None, None)
    assert reuse == "Always" or not await is_there(world, first)


async def test_the_stamp_of_a_session_that_expired_is_passed_on_too(world):
    replica = world.start()
    await shared_pool(world, reuse="Always")
    desk = replica.mooring.claims.desk
    first = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    second = await desk.claim(POOL, ClaimRequest("globex", ttl_seconds=30))

    async def expired() -> bool:
        return not (await desk.get(second.id)).live

    await world.until(expired, 90, "the second session expired")
    await world.clock.sleep(11)
    assert await stamp(world, first) == ("acme", first.id, str(first.epoch))


async def test_two_neighbours_that_end_at_the_same_moment_leave_no_stamp(world):
    slow = Rule(Delay(0.0, 0.5), methods=frozenset({"PATCH", "GET"}), resource="pods")
    replica = world.start(rules=[slow])
    await shared_pool(world, reuse="Always")
    desk = replica.mooring.claims.desk
    for _ in range(20):
        sessions = await neighbours(world, replica)
        await asyncio.gather(*(desk.release(one.id, one.epoch) for one in sessions))
        await world.clock.sleep(2)
        assert await stamp(world, sessions[0]) == (None, None, None)


async def test_a_draining_node_counts_the_session_that_still_runs_there_as_busy(world):
    replica = world.start()
    await shared_pool(world, reuse="Always")
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    [node] = [pod.spec.node_name for pod in await world.pods() if pod.metadata.uid == claim.pod_uid]
    await world.client.merge_patch(NODES, node, {"spec": {"unschedulable": True}})
    await world.clock.sleep(2)
    [found] = [one for one in await replica.mooring.queries.fleet.nodes() if one.name == node]
    assert (found.workers["draining"], found.workers["busy"], found.busy) == (1, 0, 1)
