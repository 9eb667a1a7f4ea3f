"""The rules between claims and workers, broken on purpose and healed by themselves, in virtual time."""

import asyncio
import contextlib

import pytest

from drydock.faults import Crash, Delay, Rule
from hawser.resources import PODS, SERVICEACCOUNTS
from mooring.ledger.records import AuditFilter
from mooring.model import names
from mooring.model.claim import ClaimState
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour
from packages.mooring.tests.scenarios.leaks import leak, stamped

POOL = f"{NAMESPACE}/linux"


def _now(world: Harbour) -> str:
    return world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


async def test_a_leaked_stamp_is_removed_in_about_five_minutes_and_not_before_its_grace(world):
    replica = world.start()
    await world.pool(warm=4, max=4)
    await world.until_idle(4)
    world.words.otherwise = False
    await leak(world, 3)
    await world.clock.sleep(290)
    assert len(await stamped(world)) == 3

    async def healed() -> bool:
        return not await stamped(world)

    assert await world.until(healed, 200, "no stamps") <= 140
    assert world.witness.added == 4
    page = await replica.mooring.queries.fleet.audit(AuditFilter(action="unstamp"), 10, None)
    assert page.total == 3


@pytest.mark.slow
async def test_a_stamped_worker_that_executes_or_does_not_say_is_never_touched_in_a_pool_that_keeps_them(world):
    world.start()
    await world.pool(warm=2, max=2, reclaim={"policy": "Keep"})
    await world.until_idle(2)
    await leak(world, 2, ran=True)
    busy, silent = sorted(await stamped(world))
    world.words.said[busy] = True
    await world.clock.sleep(1200)
    assert await stamped(world) == {busy, silent}


@pytest.mark.slow
async def test_a_paused_rule_does_not_act_until_it_is_resumed(world):
    replica = world.start()
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    world.words.otherwise = False
    await replica.mooring.switches.pause("stamped-has-claim", actor="me", reason="a deploy")
    await leak(world, 1)
    await world.clock.sleep(1200)
    assert await stamped(world)
    await replica.mooring.switches.resume("stamped-has-claim", actor="me")

    async def healed() -> bool:
        return not await stamped(world)

    await world.until(healed, 200, "no stamps")


async def test_a_claim_without_heartbeat_expires_and_its_worker_waits_until_it_proves_idle(world):
    replica = world.start()
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=30))
    world.words.said[claim.pod_name] = True

    async def expired() -> bool:
        return (await replica.mooring.claims.desk.get(claim.id)).state is ClaimState.EXPIRED

    assert 25 <= await world.until(expired, 60, "expired") <= 45
    await world.clock.sleep(1000)
    assert await stamped(world) == {claim.pod_name}
    world.words.said[claim.pod_name] = False

    async def freed() -> bool:
        return not await stamped(world)

    await world.until(freed, 200, "freed")


async def test_a_claim_that_beats_lives_on(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=30))
    for _ in range(20):
        await world.clock.sleep(10)
        await desk.heartbeat(claim.id, claim.epoch)
    assert (await desk.get(claim.id)).state is ClaimState.RUNNING


async def test_a_lost_worker_loses_its_claim_and_a_retryable_one_gets_a_new_worker_under_a_higher_epoch(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=3, max=6)
    await world.until_idle(3)
    plain = await desk.claim(POOL, ClaimRequest("plain", ttl_seconds=3600))
    again = await desk.claim(POOL, ClaimRequest("again", ttl_seconds=3600, retryable=True))
    for claim in (plain, again):
        await world.client.delete(PODS, claim.pod_name, NAMESPACE, grace_seconds=0)

    async def settled() -> bool:
        lost = await desk.get(plain.id)
        rebound = await desk.get(again.id)
        return lost.state is ClaimState.LOST and rebound.state is ClaimState.RUNNING and rebound.epoch > again.epoch

    await world.until(settled, 60, "one lost, one rebound")
    rebound = await desk.get(again.id)
    assert rebound.pod_uid != again.pod_uid


async def test_a_control_plane_killed_in_mid_claim_leaves_nothing_behind(world):
    rule = Rule(Crash("after"), methods=frozenset({"PATCH"}), path=r"/pods/[^/]+$", nth=frozenset({1}))
    first = world.start("first", [rule])
    await world.pool(warm=2, max=2)
    await world.until_idle(2)
    with contextlib.suppress(BaseException):
        await asyncio.wait_for(first.mooring.claims.desk.claim(POOL, ClaimRequest("acme")), 5)
    await first.kill()
    assert await stamped(world)
    second = world.start("second")
    world.words.otherwise = False

    async def clean() -> bool:
        live = await second.mooring.claims.desk._ledger.claims.live()
        return not live.claims and not await stamped(world)

    await world.until(clean, 900, "no claim and no stamp")
    assert world.witness.added == 2


async def test_a_retired_workers_account_goes_only_as_it_was_read(world):
    slow = Rule(Delay(1.0), resource="serviceaccounts", methods=frozenset({"DELETE"}), nth=frozenset({1}))
    world.start(rules=[slow])
    await world.pool(warm=2, max=2, idleSeconds=5, serviceAccount="PerWorker")
    await world.until_idle(2)
    await world.change({"warm": 1})

    async def one_left():
        return len([pod for pod in await world.pods() if not pod.terminating]) == 1

    await world.until(one_left, 300, "one worker")
    (kept,) = [pod.metadata.name for pod in await world.pods() if not pod.terminating]
    (gone,) = {"linux-0", "linux-1"} - {kept}
    await world.client.merge_patch(SERVICEACCOUNTS, gone, {"metadata": {"annotations": {"a": "b"}}}, NAMESPACE)
    await world.clock.sleep(5)
    accounts = await world.client.list(SERVICEACCOUNTS, NAMESPACE, label_selector=names.WORKER)
    assert gone in {account.metadata.name for account in accounts.items}  # it changed: left to the reaper


async def test_an_account_without_its_worker_is_deleted(world):
    world.start()
    await world.pool(warm=2, max=2, serviceAccount="PerWorker")
    await world.until_idle(2)
    accounts = await world.client.list(SERVICEACCOUNTS, NAMESPACE, label_selector=names.WORKER)
    assert {account.metadata.name for account in accounts.items} == {"linux-0", "linux-1"}
    await world.change({"warm": 1, "max": 1, "idleSeconds": 10})

    async def one_left() -> bool:
        left = await world.client.list(SERVICEACCOUNTS, NAMESPACE, label_selector=names.WORKER)
        return len(left.items) == 1 and len(await world.pods()) == 1

    await world.until(one_left, 900, "one account")


async def test_the_account_of_a_reaped_worker_goes_with_it(world):
    desk = world.start().mooring.claims.desk
    world.words.otherwise = False
    await world.pool(warm=1, max=3, reuse="Always", serviceAccount="PerWorker", protection={"graceSeconds": 1})
    await world.until_idle(1)
    left = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=60))  # its holder never comes back

    async def reaped() -> bool:
        return all(pod.metadata.uid != left.pod_uid for pod in await world.pods())

    await world.until(reaped, 1200, "the worker is gone")
    accounts = await world.client.list(SERVICEACCOUNTS, NAMESPACE, label_selector=names.WORKER)
    assert left.pod_name not in {account.metadata.name for account in accounts.items}


@pytest.mark.slow
async def test_a_stamp_with_an_epoch_that_the_ledger_never_issued_disarms_every_rule_that_trusts_its_rows(world):
    world.start()
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    world.words.otherwise = False
    pod = (await world.pods())[0]
    seal = world.ledger.seal_key.seal(pod.metadata.uid, "lost", 999)
    annotations = {names.CLAIM: "lost", names.EPOCH: "999", names.STAMPED_AT: _now(world), names.SEAL: seal}
    patch = {"metadata": {"labels": {names.OWNER: "acme"}, "annotations": annotations}}
    await world.client.merge_patch(PODS, pod.metadata.name, patch, NAMESPACE)
    await world.clock.sleep(1200)
    assert await stamped(world) == {pod.metadata.name}


async def test_a_disarmed_ledger_holds_every_rule_and_says_so_until_somebody_arms_it(world):
    replica = world.start()
    await world.pool(warm=2, max=2)
    await world.until_idle(2)
    world.words.otherwise = False
    await leak(world, 1)
    await world.ledger.meta.observe_epoch(999_999, now=world.clock.now())
    await world.clock.sleep(1200)
    assert len(await stamped(world)) == 1
    reading = replica.mooring.queries.fleet
    assert "not armed" in reading.invariant("stamped-has-claim").evidence["held"]
    assert "not armed" in reading.rest
    present = await world.ledger.meta.incarnation()
    await world.ledger.meta.arm(present.id, actor="me", now=world.clock.now())

    async def healed() -> bool:
        return not await stamped(world)

    await world.until(healed, 200, "no stamps, without a restart")
    assert reading.rest == ""
