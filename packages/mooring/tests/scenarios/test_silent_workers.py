"""Workers that hang: nobody hears of them, no claim holds them, and the pool gets them back, in virtual time."""

import asyncio
import contextlib

import pytest

from drydock.faults import Crashed
from mooring.controllers.claims.dispatch import Result
from mooring.incidents.fakes import HEALTHY, SILENT
from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.records import AuditFilter
from mooring.model.claim import Claim
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import MooringError, Unavailable
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.mooring.tests.scenarios.leaks import stamped

POOL = f"{NAMESPACE}/linux"
SILENT_SECONDS = 600
HEALED_WITHIN = SILENT_SECONDS + 70
LONG_AFTER = 2 * HEALED_WITHIN  # what is kept until then is kept


async def abandon(world: Harbour, replica: Replica, count: int, ttl_seconds: int = 60) -> list[Claim]:
    """Claims whose holders go away at once; returns when all have expired."""
    desk = replica.mooring.claims.desk
    request = ClaimRequest("gone", ttl_seconds=ttl_seconds, wait=30)
    claims = [await desk.claim(POOL, request) for _ in range(count)]

    async def expired() -> bool:
        return not any([(await desk.get(claim.id)).live for claim in claims])

    await world.until(expired, ttl_seconds + 60, "all claims expired")
    return claims


async def until_free(world: Harbour, within: float) -> float:
    async def free() -> bool:
        return not await stamped(world)

    return await world.until(free, within, "no stamped worker")


async def test_a_push_pool_whose_holders_all_left_heals_and_serves_those_who_wait(world):
    replica = world.start()
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    await abandon(world, replica, 4)
    waiting = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("next", wait=HEALED_WITHIN + 60))
    assert waiting.pod_name
    assert await until_free_but(world, waiting.pod_name, HEALED_WITHIN)
    page = await replica.mooring.queries.fleet.audit(AuditFilter(action="delete-worker"), 10, None)
    assert page.total == 4
    proofs = page.items[0].entry.evidence["proofs"]
    assert any(proof.startswith("worker: no sign of life for 6") for proof in proofs), proofs


async def until_free_but(world: Harbour, name: str, within: float) -> bool:
    async def free() -> bool:
        return await stamped(world) <= {name}

    await world.until(free, within, "no other stamped worker")
    return True


async def test_silence_heals_within_its_seconds_and_seventy_more_and_not_before(world):
    replica = world.start()
    await world.pool(warm=3, max=3)
    await world.until_idle(3)
    await abandon(world, replica, 3)
    await world.clock.sleep(SILENT_SECONDS - 10)
    assert len(await stamped(world)) == 3
    assert await until_free(world, HEALED_WITHIN - SILENT_SECONDS + 10) >= 0


@pytest.mark.slow
async def test_a_former_holder_who_still_sends_refused_heartbeats_keeps_its_worker(world):
    replica = world.start()
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    [claim] = await abandon(world, replica, 1)
    for _ in range(40):
        try:
            await replica.mooring.claims.desk.heartbeat(claim.id, claim.epoch)
        except MooringError:
            pass
        await world.clock.sleep(60)
    assert await stamped(world)
    assert await until_free(world, HEALED_WITHIN + 10) > SILENT_SECONDS - 70


@pytest.mark.slow
async def test_words_that_another_replica_hears_count_at_the_leader(world):
    leader = world.start("a")
    other = world.start("b")
    await world.pool(warm=1, max=1, dispatch="Poll", reuse="Always")
    await world.until_idle(1)
    [worker] = leader.mooring.fleet.workers(POOL)
    world.enter(poll(other, worker.uid))
    await world.clock.sleep(1)
    [claim] = await abandon(world, leader, 1, ttl_seconds=30)
    for _ in range(30):
        worker = other.mooring.fleet.worker(POOL, claim.pod_uid)
        assert worker is not None
        await other.mooring.claims.dispatch.next_session(worker, 0, executing=True)
        await world.clock.sleep(50)
    assert await stamped(world)


async def poll(replica: Replica, uid: str) -> None:
    """One poll of an idle worker."""
    worker = replica.mooring.fleet.worker(POOL, uid)
    assert worker is not None
    await replica.mooring.claims.dispatch.next_session(worker, 0, executing=False)


@pytest.mark.slow
async def test_a_plain_healthy_answer_does_not_keep_a_leak_and_a_timeout_does_not_either(world):
    for answer in (HEALTHY, SILENT):
        name = f"{answer.ok}".lower()
        world.doctor.otherwise = answer
        replica = world.start(name)
        await world.pool(name, warm=0, max=1, health={"port": 80})
        await replica.mooring.wait_synced()
        key = f"{NAMESPACE}/{name}"
        await replica.mooring.claims.desk.claim(key, ClaimRequest("gone", ttl_seconds=30, wait=60))
        assert await until_free(world, HEALED_WITHIN + 60) > SILENT_SECONDS
        await replica.kill()


async def test_a_worker_that_says_it_executes_is_kept(world):
    replica = world.start()
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    [claim] = await abandon(world, replica, 1)
    world.words.said[claim.pod_name] = True
    await world.clock.sleep(LONG_AFTER)
    assert await stamped(world)


async def test_a_pool_that_keeps_its_workers_says_so_and_names_the_next_command(world):
    replica = world.start()
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    [claim] = await abandon(world, replica, 1)
    await world.clock.sleep(LONG_AFTER)
    assert await stamped(world) == {claim.pod_name}
    rule = replica.mooring.queries.fleet.invariant("stamped-has-claim")
    assert (rule.state, rule.broken) == ("broken", 1)
    assert rule.why.fix == f"mooring retire {NAMESPACE}/{claim.pod_name} --reason '...'"


@pytest.mark.slow
async def test_silence_is_not_counted_while_words_cannot_be_written_down(world):
    away = {"liveness.record"}

    def fault(call: LedgerCall) -> Fault:
        return Fault.AWAY if call.path in away else Fault.NONE

    replica = world.start(fault=fault)
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await abandon(world, replica, 1)
    await world.clock.sleep(LONG_AFTER)
    assert await stamped(world)
    away.clear()
    assert await until_free(world, HEALED_WITHIN + 20) >= SILENT_SECONDS


@pytest.mark.slow
async def test_silence_is_not_counted_while_another_live_replica_does_not_write_words(world):
    def fault(call: LedgerCall) -> Fault:
        return Fault.AWAY if call.path == "liveness.record" else Fault.NONE

    leader = world.start("a")
    mute = world.start("b", fault=fault)
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await abandon(world, leader, 1)
    await world.clock.sleep(LONG_AFTER)
    assert await stamped(world)
    await mute.kill()
    assert await until_free(world, HEALED_WITHIN + 60) >= SILENT_SECONDS


@pytest.mark.slow
async def test_a_new_leader_measures_silence_anew(world):
    first = world.start("a")
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await abandon(world, first, 1)
    await world.clock.sleep(SILENT_SECONDS - 60)
    await first.kill()
    world.start("b")
    await world.clock.sleep(SILENT_SECONDS - 20)
    assert await stamped(world)
    await until_free(world, 120)


async def keep_polling(world: Harbour, replica: Replica, hung: set[str]) -> None:
    """An agent in every worker that is not hung: it polls every 20 s, and ends its sessions at once."""
    while True:
        for worker in replica.mooring.fleet.workers(POOL):
            if worker.name in hung or worker.uid in hung or not worker.ready:
                continue
            with contextlib.suppress(MooringError, Crashed):
                dispatch = replica.mooring.claims.dispatch
                session = await dispatch.next_session(worker, 0, executing=False)
                if session is not None:
                    await dispatch.finish(worker, session.id, session.epoch, Result(0, ""))
        await world.clock.sleep(20)


async def test_a_session_goes_only_to_a_worker_that_polled_within_a_minute(world):
    replica = world.start()
    await world.pool(warm=1, max=1, dispatch="Poll", reuse="Always")
    await world.until_idle(1)
    desk, [worker] = replica.mooring.claims.desk, replica.mooring.fleet.workers(POOL)
    with pytest.raises(Unavailable) as refused:
        await desk.claim(POOL, ClaimRequest("acme"))
    assert "1 idle, but not polling" in " ".join(refused.value.detail["why"]["blockers"])
    await poll(replica, worker.uid)
    await world.clock.sleep(55)
    claim = await desk.claim(POOL, ClaimRequest("acme"))
    await desk.release(claim.id, claim.epoch)
    await world.clock.sleep(10)
    with pytest.raises(Unavailable):
        await desk.claim(POOL, ClaimRequest("acme"))
    [reading] = await replica.mooring.queries.fleet.workers()
    assert reading.state == "idle" and "has not polled" in reading.reason


async def test_a_claim_that_waits_is_served_by_the_first_poll_wherever_it_comes_in(world):
    near, far = world.start("a"), world.start("b")
    await world.pool(warm=1, max=1, dispatch="Poll", reuse="Always")
    await world.until_idle(1)
    [worker] = far.mooring.fleet.workers(POOL)
    waiting = asyncio.create_task(near.mooring.claims.desk.claim(POOL, ClaimRequest("acme", wait=60)))
    await world.clock.sleep(5)
    assert not waiting.done()
    await poll(far, worker.uid)
    await world.clock.sleep(1)
    assert waiting.done() and waiting.result().pod_uid == worker.uid


@pytest.mark.slow
async def test_an_idle_worker_that_fell_silent_is_replaced_and_the_others_are_not(world):
    replica = world.start()
    await world.pool(warm=3, max=4, dispatch="Poll", reuse="Always")
    await world.until_idle(3)
    hung: set[str] = set()
    world.enter(keep_polling(world, replica, hung))
    await world.clock.sleep(60)
    before = {pod.metadata.name: pod.metadata.uid for pod in await world.pods()}
    hung.add(before["linux-1"])

    async def replaced() -> bool:
        return before["linux-1"] not in {pod.metadata.uid for pod in await world.pods()}

    assert SILENT_SECONDS - 25 <= await world.until(replaced, 1400, "the hung worker is gone") <= 600 + HEALED_WITHIN
    await world.clock.sleep(1200)
    after = {pod.metadata.uid for pod in await world.pods()}
    assert {before["linux-0"], before["linux-2"]} <= after and len(after) >= 3
    acts = await replica.mooring.queries.fleet.audit(AuditFilter(action="delete"), 10, None)
    assert "worker: no poll for" in str(acts.items[-1].entry.evidence["proofs"])


@pytest.mark.slow
async def test_nothing_is_replaced_when_all_fall_silent_at_once_nor_when_they_come_back_one_by_one(world):
    replica = world.start()
    await world.pool(warm=4, max=4, dispatch="Poll", reuse="Always")
    await world.until_idle(4)
    hung: set[str] = set()
    world.enter(keep_polling(world, replica, hung))
    await world.clock.sleep(60)
    before = {pod.metadata.uid for pod in await world.pods()}
    hung |= before
    await world.clock.sleep(LONG_AFTER)
    assert {pod.metadata.uid for pod in await world.pods()} == before
    ready = next(one for one in (await world.status())["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "AllSilent") and "connection to Mooring" in ready["message"]
    for uid in sorted(before):
        hung.discard(uid)
        await world.clock.sleep(100)
    await world.clock.sleep(1200)
    assert {pod.metadata.uid for pod in await world.pods()} == before
    ready = next(one for one in (await world.status())["conditions"] if one["type"] == "Ready")
    assert ready["status"] == "True"


async def test_workers_that_never_poll_are_not_replaced_one_after_another_for_ever(world):
    world.start()
    await world.pool(warm=1, max=3, dispatch="Poll", reuse="Always", idleSeconds=60)
    await world.until_idle(1)
    made: set[str] = set()
    for _ in range(90):
        await world.clock.sleep(20)
        made |= {pod.metadata.uid for pod in await world.pods()}
    assert len(made) <= 3
    ready = next(one for one in (await world.status())["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "AllSilent")


@pytest.mark.slow
async def test_a_full_pool_of_silent_idle_workers_gets_out_by_one_trial_when_claims_wait(world):
    replica = world.start()
    await world.pool(warm=2, max=2, dispatch="Poll", reuse="Always", protection={"graceSeconds": 1})
    await world.until_idle(2)
    hung = {pod.metadata.uid for pod in await world.pods()}
    world.enter(keep_polling(world, replica, hung))
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", wait=1000))
    assert claim.pod_uid not in hung
    [kept] = {pod.metadata.uid for pod in await world.pods()} & hung
    await world.clock.sleep(HEALED_WITHIN + 120)
    assert kept not in {pod.metadata.uid for pod in await world.pods()}


async def test_a_new_replica_hands_out_workers_that_polled_before_it_came_and_replaces_none(world):
    first = world.start("a")
    await world.pool(warm=3, max=3, dispatch="Poll", reuse="Always")
    await world.until_idle(3)
    agents = world.enter(keep_polling(world, first, set()))
    await world.clock.sleep(120)
    before = {pod.metadata.uid for pod in await world.pods()}
    await first.kill()
    await world.leave([agents])
    second = world.start("b")
    await second.mooring.wait_synced()
    await world.clock.sleep(2)
    claim = await second.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    assert claim.pod_uid in before
    world.enter(keep_polling(world, second, set()))
    await world.clock.sleep(1200)
    assert {pod.metadata.uid for pod in await world.pods()} == before
