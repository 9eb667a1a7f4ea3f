"""Owners kept apart: one owner a worker, workers that return to their owner, idle workers kept for an owner."""

import asyncio
from collections import defaultdict
from typing import Any

import pytest

from drydock.faults import LagEvents, Rule
from hawser.errors import ObjectInvalid
from mooring.controllers.claims.mint import MintFailed
from mooring.controllers.claims.refusals import NoIdleWorker
from mooring.ledger.faults import Fault
from mooring.ledger.records import AuditFilter
from mooring.model import names
from mooring.model.audit import AuditOutcome
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import MooringError
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"
LAGGING = [Rule(LagEvents(8.0), resource="pods", watch=True)]


async def open_pool(world: Harbour, idle: int, **spec: Any) -> None:
    await world.pool(**{"warm": idle, "max": idle, "reuse": "Always", "protection": {"graceSeconds": 1}, **spec})
    await world.until_idle(idle)


async def claim(replica: Replica, owner: str, **wish: Any) -> Claim:
    return await replica.mooring.claims.desk.claim(POOL, ClaimRequest(owner, **{"ttl_seconds": 3600, **wish}))


async def release(world: Harbour, replica: Replica, *claims: Claim) -> None:
    for one in claims:
        await replica.mooring.claims.desk.release(one.id, one.epoch)
    await world.clock.sleep(1)


async def waits(world: Harbour, replica: Replica, owner: str, **wish: Any) -> asyncio.Task[Claim]:
    task = asyncio.create_task(claim(replica, owner, **{"wait": 300, **wish}))
    await world.clock.sleep(0.5)
    assert not task.done()
    return task


# -- sharing: PerOwner


async def test_a_worker_with_several_slots_serves_one_owner_until_it_is_empty(world):
    replica = world.start()
    await open_pool(world, 2, slots=3, sharing="PerOwner")
    acme = [await claim(replica, "acme") for _ in range(3)]
    globex = await claim(replica, "globex")
    assert len({one.pod_uid for one in acme}) == 1 and globex.pod_uid != acme[0].pod_uid
    with pytest.raises(NoIdleWorker) as refused:
        await claim(replica, "initech")
    assert any("for the owner of their sessions" in line for line in refused.value.detail["why"]["blockers"])
    await release(world, replica, *acme)
    assert (await claim(replica, "initech")).pod_uid == acme[0].pod_uid


async def test_an_owner_comes_back_to_the_worker_it_used_last(world):
    replica = world.start()
    await open_pool(world, 3, slots=2, sharing="PerOwner")
    acme, globex = await claim(replica, "acme"), await claim(replica, "globex")
    await release(world, replica, globex, acme)
    assert (await claim(replica, "globex")).pod_uid == globex.pod_uid
    assert (await claim(replica, "initech")).pod_uid not in (acme.pod_uid, globex.pod_uid)
    assert (await claim(replica, "acme")).pod_uid == acme.pod_uid


async def test_an_owner_fills_its_worker_past_those_who_wait_for_another_one(world):
    replica = world.start()
    await open_pool(world, 1, slots=3, sharing="PerOwner")
    first = await claim(replica, "acme")
    globex = await waits(world, replica, "globex")
    second = await claim(replica, "acme")
    third = await claim(replica, "acme", wait=60)
    assert first.pod_uid == second.pod_uid == third.pod_uid
    await release(world, replica, first, second)
    assert not globex.done()
    await release(world, replica, third)
    assert (await globex).pod_uid == first.pod_uid


async def test_a_waiting_claim_that_fits_is_served_past_one_that_does_not(world):
    replica = world.start()
    await open_pool(world, 1, slots=2, sharing="PerOwner")
    acme = [await claim(replica, "acme") for _ in range(2)]
    globex = await waits(world, replica, "globex", priority=5)
    more = await waits(world, replica, "acme")
    await release(world, replica, acme[0])
    assert (await more).pod_uid == acme[1].pod_uid
    await release(world, replica, acme[1], await more)
    assert (await globex).pod_uid == acme[0].pod_uid


@pytest.mark.parametrize("seed", fast_first(range(4), 1))
async def test_replicas_with_lagging_views_never_mix_owners_on_a_worker(seed):
    async with harbour(seed) as world:
        replicas = [world.start("a"), world.start("b", LAGGING), world.start("c", LAGGING)]
        await open_pool(world, 4, slots=3, sharing="PerOwner")
        await world.clock.sleep(10)
        served = 0

        async def customer(number: int) -> None:
            nonlocal served
            replica = replicas[number % 3]
            for _ in range(4):
                try:
                    held = await claim(replica, f"owner-{number % 5}", wait=60)
                except MooringError:
                    continue
                await world.clock.sleep(1 + number % 4)
                await replica.mooring.claims.desk.release(held.id, held.epoch)
                served += 1

        async def witness() -> None:
            while True:
                owners = defaultdict(set)
                for one in (await world.ledger.claims.live()).claims:
                    owners[one.pod_uid].add(one.owner)
                assert all(len(found) == 1 for found in owners.values()), owners
                await world.clock.sleep(0.1)

        watch = asyncio.create_task(witness())
        await asyncio.gather(*(customer(number) for number in range(15)))
        assert not watch.done(), watch.exception()
        watch.cancel()
        assert served >= 40


# -- reuse: SameOwner


async def test_a_returned_worker_goes_to_its_owner_and_to_nobody_else(world):
    replica = world.start()
    await open_pool(world, 1, max=3, reuse="SameOwner")
    acme = await claim(replica, "acme")
    await world.until_idle(1)
    await release(world, replica, acme)
    globex = await claim(replica, "globex")
    assert globex.pod_uid != acme.pod_uid
    again = await claim(replica, "acme")
    assert (again.pod_uid, again.pod_name) == (acme.pod_uid, acme.pod_name)


async def test_returned_workers_do_not_count_for_the_floor(world):
    replica = world.start()
    await open_pool(world, 2, max=6, reuse="SameOwner")
    held = [await claim(replica, "acme") for _ in range(2)]
    await world.until_idle(2)
    await release(world, replica, *held)
    await world.clock.sleep(5)
    status = await world.status()
    assert status["idle"] == 4  # two for anyone, two for acme
    others = [await claim(replica, "globex") for _ in range(2)]
    assert {one.pod_uid for one in others}.isdisjoint(one.pod_uid for one in held)


@pytest.mark.parametrize("waiting", [True, False], ids=["a claim waits", "the floor is short"])
async def test_at_max_a_returned_worker_is_replaced_for_others_through_the_rails(world, waiting):
    replica = world.start()
    await open_pool(world, 1, max=1, reuse="SameOwner", idleSeconds=86_400)
    acme = await claim(replica, "acme")
    await release(world, replica, acme)
    if waiting:
        globex = await claim(replica, "globex", wait=120)
    else:
        await world.clock.sleep(60)
        globex = await claim(replica, "globex")
    assert globex.pod_uid != acme.pod_uid
    rows = (await world.ledger.audit.list(AuditFilter(action="delete", uid=acme.pod_uid))).items
    assert [row.outcome for row in rows] == [AuditOutcome.DONE]
    assert "kept for acme" in rows[0].entry.reason and len(rows[0].entry.evidence["proofs"]) == 2


async def test_a_returned_worker_is_deleted_after_its_idle_time(world):
    replica = world.start()
    await open_pool(world, 1, max=3, reuse="SameOwner", idleSeconds=60)
    acme = await claim(replica, "acme")
    await world.until_idle(1)
    await world.clock.sleep(200)
    await release(world, replica, acme)
    await world.clock.sleep(50)
    assert acme.pod_uid in {pod.metadata.uid for pod in await world.pods()}
    await world.clock.sleep(30)
    assert acme.pod_uid not in {pod.metadata.uid for pod in await world.pods()}


async def test_whose_worker_it_is_survives_the_control_plane(world):
    first = world.start("first")
    await open_pool(world, 1, max=3, reuse="SameOwner")
    acme = await claim(first, "acme")
    await world.until_idle(1)
    await release(world, first, acme)
    await first.kill()
    second = world.start("second")
    await second.mooring.wait_synced()
    await world.clock.sleep(30)
    assert (await claim(second, "globex")).pod_uid != acme.pod_uid
    assert (await claim(second, "acme")).pod_uid == acme.pod_uid


async def test_a_replica_whose_view_lags_does_not_hand_an_owners_worker_to_another(world):
    fresh, stale = world.start("fresh"), world.start("stale", LAGGING)
    await open_pool(world, 1, max=1, reuse="SameOwner", idleSeconds=86_400)
    await world.clock.sleep(20)
    acme = await claim(fresh, "acme")
    await fresh.mooring.claims.desk.release(acme.id, acme.epoch)
    with pytest.raises(NoIdleWorker):
        await claim(stale, "globex")
    [pod] = [pod for pod in await world.pods() if pod.metadata.uid == acme.pod_uid]
    assert pod.metadata.annotations[names.TENANT] == "acme" and names.OWNER not in pod.metadata.labels


@pytest.mark.slow
@pytest.mark.parametrize("seed", fast_first(range(4), 1))
async def test_replicas_with_lagging_views_never_give_a_worker_to_a_second_owner(seed):
    async with harbour(seed) as world:
        replicas = [world.start("a"), world.start("b", LAGGING), world.start("c", LAGGING)]
        await open_pool(world, 2, max=5, reuse="SameOwner", idleSeconds=30)
        await world.clock.sleep(10)
        owners: dict[str, set[str]] = defaultdict(set)
        again = 0

        async def customer(number: int) -> None:
            nonlocal again
            owner, replica = f"owner-{number % 4}", replicas[number % 3]
            for _ in range(5):
                try:
                    held = await claim(replica, owner, wait=120)
                except MooringError:
                    continue
                again += owner in owners[held.pod_uid]
                owners[held.pod_uid].add(owner)
                await world.clock.sleep(1 + number % 3)
                await replica.mooring.claims.desk.release(held.id, held.epoch)
                await world.clock.sleep(number % 2 * 5)

        await asyncio.gather(*(customer(number) for number in range(12)))
        assert all(len(found) == 1 for found in owners.values()), owners
        assert again >= 5, "workers are used again"
        assert world.witness.most <= 5


async def test_a_crash_between_row_and_pod_hands_the_worker_to_nobody_else(world):
    first = world.start("first", fault=lambda call: Fault.CRASH_AFTER if call.path == "claims.end" else Fault.NONE)
    await open_pool(world, 1, max=1, reuse="SameOwner")
    acme = await claim(first, "acme")
    with pytest.raises(BaseException, match=r"claims\.end"):
        await release(world, first, acme)
    await first.kill()
    world.words.otherwise = False
    second = world.start("second")
    await second.mooring.wait_synced()
    globex = await claim(second, "globex", wait=1200)
    assert globex.state is ClaimState.RUNNING and globex.pod_uid != acme.pod_uid


async def test_a_worker_on_which_nothing_ran_belongs_to_nobody(world):
    replica = world.start()
    await open_pool(world, 1, max=1, reuse="SameOwner", mint={"url": "http://127.0.0.1:1/mint"})
    world.mint.failing = 1
    with pytest.raises(MintFailed):
        await claim(replica, "acme")
    await world.clock.sleep(1)
    created = world.witness.added
    assert (await claim(replica, "globex")).state is ClaimState.RUNNING
    assert world.witness.added == created


async def test_shared_slots_and_one_owner_go_together(world):
    replica = world.start()
    await open_pool(world, 1, max=3, slots=2, sharing="PerOwner", reuse="SameOwner")
    one, two = await claim(replica, "acme"), await claim(replica, "acme")
    await world.until_idle(1)
    await release(world, replica, one, two)
    assert (await claim(replica, "globex")).pod_uid != one.pod_uid
    assert (await claim(replica, "acme")).pod_uid == one.pod_uid


# -- reserve


async def test_idle_workers_are_kept_for_an_owner_while_others_are_refused(world):
    replica = world.start()
    await open_pool(world, 3, reserve={"acme": 2})
    assert (await claim(replica, "globex")).state is ClaimState.RUNNING
    with pytest.raises(NoIdleWorker) as refused:
        await claim(replica, "globex")
    assert "kept idle: 2 for acme" in refused.value.detail["why"]["blockers"]
    assert [(await claim(replica, "acme")).state for _ in range(2)] == [ClaimState.RUNNING] * 2


async def test_an_owner_with_a_reserve_may_use_the_others_too(world):
    replica = world.start()
    await open_pool(world, 3, reserve={"acme": 1})
    assert len({(await claim(replica, "acme")).pod_uid for _ in range(3)}) == 3


async def test_who_waits_behind_a_reserve_is_served_when_the_pool_grows_and_holds_up_nobody(world):
    replica = world.start()
    await open_pool(world, 1, max=2, reserve={"acme": 1})
    globex = await claim(replica, "globex", wait=120)
    assert globex.state is ClaimState.RUNNING
    await world.until_idle(1)
    waiting = await waits(world, replica, "globex")
    acme = await claim(replica, "acme")
    assert acme.state is ClaimState.RUNNING
    await world.clock.sleep(30)
    assert not waiting.done()
    await release(world, replica, globex)
    await world.clock.sleep(30)
    assert not waiting.done(), "the only idle worker is kept for acme"
    await release(world, replica, acme)
    assert (await waiting).state is ClaimState.RUNNING


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"reserve": {"acme": 2, "globex": 2}}, "reserve"),
        ({"reserve": {"acme": 0}}, "reserve"),
        ({"reuse": "SameOwner", "slots": 2}, "reuse"),
        ({"sharing": "Nobody"}, "sharing"),
    ],
)
async def test_wrong_fields_are_refused_by_name(world, spec, field):
    with pytest.raises(ObjectInvalid, match=field):
        await world.pool(**{"warm": 3, "max": 6, **spec})
