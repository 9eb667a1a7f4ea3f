"""A handover that a crash interrupted: the same request, repeated, resumes it.

One replica an epoch: the one that resumes a claim gets a new epoch for it, so that a replica that was only slow can
neither complete nor fail it any more, and corrects the stamp that it wrote too late.
"""

import asyncio
import contextlib
from typing import Any

import pytest

from drydock.faults import Crash, Delay, Rule
from hawser.resources import NODES, PODS
from mooring.controllers.claims.handover import COMPLETION_SECONDS
from mooring.controllers.claims.mint import MintFailed
from mooring.controllers.claims.refusals import NoIdleWorker
from mooring.ledger.faults import Fault
from mooring.ledger.records import ClaimFilter
from mooring.model import names
from mooring.model.claim import Claim, ClaimState, EndCause, WorkerSlot
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict
from packages.mooring.tests.scenarios.harbour import (
    NAMESPACE,
    Harbour,
    LedgerFault,
    Replica,
    no_fault,
)

POOL = f"{NAMESPACE}/linux"
WISH = ClaimRequest("acme", ttl_seconds=3600, wait=60, idempotency_key="build-42")
AT_ONCE = ClaimRequest("acme", ttl_seconds=3600, idempotency_key="build-42")
MINT = {"url": "http://127.0.0.1:1/mint", "timeoutSeconds": 4}
PATCHES: dict[str, Any] = {"methods": frozenset({"PATCH"}), "path": r"/pods/[^/]+$", "nth": frozenset({1})}
SLOW_STAMP = [Rule(Delay(20.0), **PATCHES)]


def dies_at(method: str, fault: Fault) -> LedgerFault:
    return lambda call: fault if call.path == f"claims.{method}" else Fault.NONE


def dies(moment: str) -> list[Rule]:
    return [Rule(Crash(moment), **PATCHES)]  # type: ignore[arg-type]


CRASHES: dict[str, tuple[list[Rule], LedgerFault]] = {
    "after the row": ([], dies_at("insert_claimed", Fault.CRASH_AFTER)),
    "before the stamp": (dies("before"), no_fault),
    "after the stamp": (dies("after"), no_fault),
    "after the mint": ([], dies_at("mark_running", Fault.CRASH_BEFORE)),
}


async def open_pool(world: Harbour, **spec: Any) -> None:
    wanted = {"warm": 2, "max": 2, "reuse": "Always", "mint": MINT, "protection": {"graceSeconds": 1}}
    await world.pool(**{**wanted, **spec})
    await world.until_idle(wanted["warm"] if "warm" not in spec else spec["warm"])


async def die(world: Harbour, crash: str, **spec: Any) -> Claim:
    """A control plane takes the request and dies at that moment; answers the row it left."""
    rules, fault = CRASHES[crash]
    first = world.start("first", rules, fault)
    await open_pool(world, **spec)
    with contextlib.suppress(BaseException):  # its death is none of Exception, and neither is the silence after it
        async with asyncio.timeout(3):
            await first.mooring.claims.desk.claim(POOL, AT_ONCE)
    await first.kill()
    left = await the_claim(world)
    assert left.state is ClaimState.CLAIMED
    return left


async def start(world: Harbour, name: str = "second") -> Replica:
    replica = world.start(name)
    await replica.mooring.wait_synced()
    return replica


async def the_claim(world: Harbour) -> Claim:
    [claim] = (await world.ledger.claims.list(ClaimFilter())).items
    return claim


async def stamps(world: Harbour) -> dict[str, str]:
    """What the pods carry: epochs by uid."""
    return {
        pod.metadata.uid: pod.metadata.annotations.get(names.EPOCH, "")
        for pod in await world.pods()
        if names.OWNER in pod.metadata.labels and not pod.terminating
    }


async def assert_whole(world: Harbour, claim: Claim) -> None:
    """One claim, one holder, one stamp, and that of the present epoch."""
    assert claim.state is ClaimState.RUNNING and claim.session_payload == {"secret": f"for {claim.id}"}
    assert (await the_claim(world)).id == claim.id
    assert [live.epoch for live in (await world.ledger.claims.live()).claims] == [claim.epoch]
    assert await stamps(world) == {claim.pod_uid: str(claim.epoch)}


@pytest.mark.parametrize("reuse", ["Always", "Never"])
@pytest.mark.parametrize("crash", CRASHES)
async def test_the_same_request_gets_its_claim_running_within_seconds_and_nothing_is_left(world, crash, reuse):
    left = await die(world, crash, reuse=reuse)
    second = await start(world)
    began = world.clock.monotonic()
    claim = await second.mooring.claims.desk.claim(POOL, WISH)
    assert world.clock.monotonic() - began <= COMPLETION_SECONDS + MINT["timeoutSeconds"] + 1
    assert (claim.id, claim.pod_uid) == (left.id, left.pod_uid)
    assert claim.epoch > left.epoch
    await assert_whole(world, claim)
    again = await second.mooring.claims.desk.claim(POOL, WISH)
    assert (again.id, again.epoch) == (claim.id, claim.epoch)
    await second.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.until_idle(2)
    assert await stamps(world) == {}


async def test_without_a_wait_the_request_is_answered_as_it_stands_until_its_replica_had_its_time(world):
    await die(world, "after the stamp")
    desk = (await start(world)).mooring.claims.desk
    assert (await desk.claim(POOL, AT_ONCE)).state is ClaimState.CLAIMED
    await world.clock.sleep(COMPLETION_SECONDS + MINT["timeoutSeconds"])
    await assert_whole(world, await desk.claim(POOL, AT_ONCE))


async def test_when_nobody_else_is_free_the_repeated_request_still_finds_its_claim(world):
    await die(world, "after the stamp", warm=1, max=1)
    await assert_whole(world, await (await start(world)).mooring.claims.desk.claim(POOL, WISH))


async def test_a_worker_that_is_gone_by_then_is_replaced_by_another_one(world):
    left = await die(world, "after the stamp")
    await world.client.delete(PODS, left.pod_name, NAMESPACE, grace_seconds=0)
    claim = await (await start(world)).mooring.claims.desk.claim(POOL, WISH)
    assert claim.id == left.id and claim.pod_uid != left.pod_uid
    await assert_whole(world, claim)


async def test_a_worker_on_a_node_that_drains_by_then_is_left_unstamped(world):
    left = await die(world, "after the stamp")
    node = (await world.client.get(PODS, left.pod_name, NAMESPACE)).spec.node_name
    await world.client.merge_patch(NODES, node, {"spec": {"unschedulable": True}})
    claim = await (await start(world)).mooring.claims.desk.claim(POOL, WISH)
    assert claim.id == left.id and claim.pod_uid != left.pod_uid
    await assert_whole(world, claim)


async def test_without_any_worker_the_claim_waits_for_one_if_its_client_does(world):
    left = await die(world, "after the stamp", warm=1, max=1)
    await world.change({"warm": 0, "max": 0})
    await world.client.delete(PODS, left.pod_name, NAMESPACE, grace_seconds=0)
    second = await start(world)
    waiting = asyncio.create_task(second.mooring.claims.desk.claim(POOL, WISH))
    await world.clock.sleep(20)
    queued = await the_claim(world)
    assert (queued.state, queued.cause) == (ClaimState.QUEUED, EndCause.WORKER_LOST)
    await world.change({"warm": 1, "max": 1})
    claim = await waiting
    assert claim.id == left.id
    await assert_whole(world, claim)


async def test_without_any_worker_and_without_a_wait_the_claim_fails(world):
    left = await die(world, "after the stamp", warm=1, max=1)
    await world.change({"warm": 0, "max": 0})
    await world.client.delete(PODS, left.pod_name, NAMESPACE, grace_seconds=0)
    desk = (await start(world)).mooring.claims.desk
    await world.clock.sleep(20)
    with pytest.raises(NoIdleWorker):
        await desk.claim(POOL, AT_ONCE)
    failed = await the_claim(world)
    assert (failed.state, failed.cause) == (ClaimState.FAILED, EndCause.NOT_STARTED)


async def test_a_mint_that_fails_the_second_time_fails_the_claim_and_frees_its_worker(world):
    await die(world, "after the mint")
    desk = (await start(world)).mooring.claims.desk
    world.mint.failing = 1
    with pytest.raises(MintFailed):
        await desk.claim(POOL, WISH)
    assert await stamps(world) == {} and (await the_claim(world)).state is ClaimState.FAILED


async def test_a_handover_that_is_slow_here_is_waited_for_not_taken_up(world):
    replica = world.start(rules=SLOW_STAMP)
    await open_pool(world)
    first = asyncio.create_task(replica.mooring.claims.desk.claim(POOL, WISH))
    await world.clock.sleep(COMPLETION_SECONDS + MINT["timeoutSeconds"] + 3)
    again = await replica.mooring.claims.desk.claim(POOL, WISH)
    assert again.epoch == (await first).epoch and again.previous_epoch is None
    assert world.mint.made == 1
    await assert_whole(world, again)


async def test_a_handover_that_is_slow_elsewhere_is_taken_over_and_what_it_writes_late_is_put_right(world):
    slow = world.start("slow", SLOW_STAMP)
    await open_pool(world)
    first = asyncio.create_task(slow.mooring.claims.desk.claim(POOL, AT_ONCE))
    await world.clock.sleep(1)
    claim = await (await start(world)).mooring.claims.desk.claim(POOL, WISH)
    assert not first.done()
    assert claim.previous_epoch is not None
    late = await first
    assert (late.id, late.epoch) == (claim.id, claim.epoch), "both ask for the same claim, and both get it"
    await assert_whole(world, claim)
    await world.clock.sleep(30)
    await assert_whole(world, await the_claim(world))


async def test_a_replica_whose_mint_fails_after_another_resumed_does_not_fail_the_claim(world):
    slow = world.start("slow", SLOW_STAMP)
    await open_pool(world)
    first = asyncio.create_task(slow.mooring.claims.desk.claim(POOL, AT_ONCE))
    await world.clock.sleep(1)
    claim = await (await start(world)).mooring.claims.desk.claim(POOL, WISH)
    world.mint.failing = 1
    with pytest.raises(MintFailed):
        await first
    await assert_whole(world, claim)
    assert (await the_claim(world)).state is ClaimState.RUNNING


async def test_two_replicas_that_are_asked_at_once_take_it_up_once(world):
    await die(world, "after the stamp")
    desks = [(await start(world, name)).mooring.claims.desk for name in ("second", "third")]
    claims = await asyncio.gather(*(desk.claim(POOL, WISH) for desk in desks))
    assert claims[0].epoch == claims[1].epoch and claims[0].id == claims[1].id
    assert world.mint.made == 1
    await assert_whole(world, claims[0])


async def test_a_request_that_waits_takes_its_own_claim_up_when_the_replica_that_served_the_queue_dies(world):
    desk = (await start(world)).mooring.claims.desk
    await open_pool(world, warm=1, max=1)
    holder = await desk.claim(POOL, ClaimRequest("holder", ttl_seconds=3600))
    waiting = asyncio.create_task(desk.claim(POOL, WISH))
    await world.clock.sleep(1)
    claims, now = world.ledger.claims, world.clock.now()
    await claims.end(holder.id, holder.epoch, EndCause.RELEASED, now=now, reason="")
    slot = WorkerSlot(str(holder.pod_name), str(holder.pod_uid), 0, holder.address)
    bound = await claims.bind_next(NAMESPACE, "linux", slot, now=now)
    assert bound is not None, "as by a replica that dies right after"
    claim = await waiting
    assert claim.state is ClaimState.RUNNING and claim.previous_epoch == bound.require().epoch
    assert await stamps(world) == {claim.pod_uid: str(claim.epoch)}


async def test_a_claim_released_in_mid_handover_leaves_no_stamp(world):
    replica = world.start(rules=SLOW_STAMP)
    await open_pool(world)
    first = asyncio.create_task(replica.mooring.claims.desk.claim(POOL, AT_ONCE))
    await world.clock.sleep(5)
    await replica.mooring.claims.desk.revoke((await the_claim(world)).id, actor="ana", reason="")
    with pytest.raises(Conflict):
        await first
    assert (await the_claim(world)).state is ClaimState.RELEASED
    assert await stamps(world) == {}
