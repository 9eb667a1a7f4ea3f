"""Claims against a whole cluster, in virtual time."""

import asyncio

import pytest

from drydock.faults import Answer, Delay, LoseAnswer, Rule
from hawser.errors import ServerFailed
from hawser.resources import NODES, PODS
from mooring.controllers.claims.desk import UnknownPool
from mooring.controllers.claims.mint import MintFailed
from mooring.controllers.claims.refusals import NoIdleWorker, WaitTimedOut
from mooring.ledger.faults import Fault
from mooring.ledger.records import ClaimFilter
from mooring.model import names
from mooring.model.claim import ClaimState, EndCause, KeyReused, LimitReached, NewClaim, WorkerSlot
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict, InvalidInput, StaleEpoch, Unavailable
from packages.mooring.tests.scenarios.harbour import NAMESPACE

POOL = f"{NAMESPACE}/linux"


async def test_a_claim_stamps_its_worker_with_one_write_and_its_release_returns_it(world):
    replica = world.start()
    await world.pool(warm=2, max=4, reuse="Always")
    await world.until_idle(2)
    await world.clock.sleep(5)
    before = replica.process.mutations
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    assert replica.process.mutations == before + 1
    assert claim.state is ClaimState.RUNNING
    pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    assert pod.metadata.labels[names.OWNER] == "acme" and pod.metadata.labels[names.BUSY] == "true"
    assert pod.metadata.annotations[names.CLAIM] == claim.id
    assert pod.metadata.annotations[names.EPOCH] == str(claim.epoch)
    assert pod.metadata.annotations[names.DO_NOT_DISRUPT] == "true"
    assert pod.metadata.annotations[names.SAFE_TO_EVICT] == "false"
    released = await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    assert released.state is ClaimState.RELEASED
    pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    assert not any(key.startswith("mooring.dev/owner") for key in pod.metadata.labels)
    assert names.DO_NOT_DISRUPT not in pod.metadata.annotations


async def test_a_release_that_stopped_half_way_is_finished_when_it_is_repeated(world):
    unstamping = Rule(
        Answer(500, "InternalError", "no"), methods=frozenset({"PATCH"}), resource="pods", nth=frozenset({2})
    )
    replica = world.start(rules=[unstamping])
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    for stamped in (True, False):
        released = await replica.mooring.claims.desk.release(claim.id, claim.epoch)
        assert released.state is ClaimState.RELEASED
        pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
        assert (names.CLAIM in pod.metadata.annotations) is stamped


async def test_a_worker_that_is_not_reused_is_deleted_after_its_session_and_replaced(world):
    replica = world.start()
    await world.pool(warm=2, max=4, reuse="Never", protection={"graceSeconds": 1})
    await world.until_idle(2)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)

    async def gone() -> bool:
        return all(pod.metadata.uid != claim.pod_uid for pod in await world.pods())

    await world.until(gone, 30, "the used worker is gone")
    await world.until_idle(2)


async def test_no_two_claims_get_the_same_worker(world):
    replicas = [world.start("a"), world.start("b")]
    await world.pool(warm=10, max=10, reuse="Always")
    await world.until_idle(10)
    wishes = [replicas[n % 2].mooring.claims.desk.claim(POOL, ClaimRequest(f"owner-{n}", wait=5)) for n in range(14)]
    answers = await asyncio.gather(*wishes, return_exceptions=True)
    claims = [answer for answer in answers if not isinstance(answer, BaseException)]
    assert len(claims) == 10
    assert len({claim.pod_uid for claim in claims}) == 10
    assert all(isinstance(answer, WaitTimedOut) for answer in answers if isinstance(answer, BaseException))


async def test_whoever_waits_is_served_in_order_as_soon_as_a_worker_is_free(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    first = await desk.claim(POOL, ClaimRequest("first"))
    order: list[str] = []

    async def wait_for_one(owner: str, priority: int) -> None:
        claim = await desk.claim(POOL, ClaimRequest(owner, wait=300, priority=priority))
        order.append(owner)
        await world.clock.sleep(3)
        await desk.release(claim.id, claim.epoch)

    waiting = []
    for owner, priority in (("second", 0), ("third", 0), ("urgent", 5)):
        waiting.append(asyncio.create_task(wait_for_one(owner, priority)))
        await world.clock.sleep(1)
    released_at = world.clock.monotonic()
    await desk.release(first.id, first.epoch)

    async def served() -> bool:
        return bool(order)

    await world.until(served, 5, "the head of the queue")
    assert world.clock.monotonic() - released_at <= 1.0
    await asyncio.gather(*waiting)
    assert order == ["urgent", "second", "third"]


async def test_a_queue_grows_the_pool_up_to_its_max(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=3)
    await world.until_idle(1)
    claims = await asyncio.gather(*(desk.claim(POOL, ClaimRequest(f"o{n}", wait=60)) for n in range(3)))
    assert len({claim.pod_uid for claim in claims}) == 3
    assert world.witness.most == 3


async def test_the_same_key_gives_the_same_claim_and_another_request_under_it_is_refused(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=3, max=4)
    await world.until_idle(3)
    once = await desk.claim(POOL, ClaimRequest("acme", idempotency_key="build-42"))
    again = await desk.claim(POOL, ClaimRequest("acme", idempotency_key="build-42"))
    assert once.id == again.id and once.epoch == again.epoch
    with pytest.raises(KeyReused):
        await desk.claim(POOL, ClaimRequest("globex", idempotency_key="build-42"))


async def test_a_request_that_is_repeated_while_it_waits_does_not_end_the_waiting(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    holder = await desk.claim(POOL, ClaimRequest("holder"))
    wish = ClaimRequest("acme", wait=120, idempotency_key="k")
    first = asyncio.create_task(desk.claim(POOL, wish))
    await world.clock.sleep(2)
    await desk.release(holder.id, holder.epoch)
    again = await desk.claim(POOL, ClaimRequest("acme", wait=0, idempotency_key="k"))
    served = await first
    assert served.state is ClaimState.RUNNING and again.id == served.id


async def test_a_request_that_is_repeated_with_nobody_idle_gets_what_the_first_one_gets(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    holder = await desk.claim(POOL, ClaimRequest("holder"))
    wish = ClaimRequest("acme", wait=120, idempotency_key="k")
    first, again = asyncio.create_task(desk.claim(POOL, wish)), asyncio.create_task(desk.claim(POOL, wish))
    await world.clock.sleep(5)
    with pytest.raises(KeyReused):
        await desk.claim(POOL, ClaimRequest("globex", idempotency_key="k"))
    await desk.release(holder.id, holder.epoch)
    served, repeated = await first, await again
    assert served.state is repeated.state is ClaimState.RUNNING and served.id == repeated.id
    await world.ledger.claims.end(
        served.id, served.epoch, EndCause.WORKER_LOST, now=world.clock.now(), reason="its node burnt"
    )
    with pytest.raises(Conflict, match="its node burnt"):
        await desk.claim(POOL, wish)


async def test_a_claim_that_may_wait_waits_when_its_only_candidate_turns_out_to_be_doomed(world):
    slow = Rule(Delay(0.3), methods=frozenset({"PATCH"}), resource="pods", nth=frozenset({1}))
    desk = world.start(rules=[slow]).mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always", protection={"graceSeconds": 1})
    await world.until_idle(1)
    doomed = (await world.pods())[0]
    asked = asyncio.create_task(desk.claim(POOL, ClaimRequest("acme", wait=60)))
    await world.clock.sleep(0.05)
    await world.client.merge_patch(NODES, doomed.spec.node_name, {"spec": {"unschedulable": True}})
    served = await asked
    assert served.state is ClaimState.RUNNING and served.pod_uid != doomed.metadata.uid


async def test_a_key_that_brought_no_worker_may_be_tried_again(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    holder = await desk.claim(POOL, ClaimRequest("holder"))
    wish = ClaimRequest("acme", wait=5, idempotency_key="k")
    with pytest.raises(WaitTimedOut):
        await desk.claim(POOL, wish)
    await desk.release(holder.id, holder.epoch)
    assert (await desk.claim(POOL, wish)).state is ClaimState.RUNNING


async def test_what_was_freed_while_the_ledger_was_read_is_offered_at_once(world):
    replica = world.start()
    desk, claims = replica.mooring.claims.desk, replica.ledger.claims
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    read_live = claims.live

    async def slow_read(*asked, **named):
        found = await read_live(*asked, **named)
        await world.clock.sleep(0.5)
        return found

    claims.live = slow_read
    held = await desk.claim(POOL, ClaimRequest("holder"))
    for _ in range(20):
        waiting = asyncio.create_task(desk.claim(POOL, ClaimRequest("acme", wait=60)))
        await world.clock.sleep(1 + world.entropy.between(0, 5))
        released_at = world.clock.monotonic()
        await desk.release(held.id, held.epoch)
        held = await waiting
        assert world.clock.monotonic() - released_at < 1


@pytest.mark.parametrize("idle", [1, 0], ids=["one is idle", "nobody is idle"])
async def test_an_owner_over_the_limit_is_refused(world, idle):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1 + idle, max=1 + idle, limits={"perOwner": 1})
    await world.until_idle(1 + idle)
    await desk.claim(POOL, ClaimRequest("acme"))
    with pytest.raises(LimitReached):
        await desk.claim(POOL, ClaimRequest("acme"))
    if idle:
        await desk.claim(POOL, ClaimRequest("globex"))


async def test_what_the_mint_makes_joins_what_the_claimer_sent(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, mint={"url": "http://127.0.0.1:1/mint"})
    await world.until_idle(1)
    claim = await desk.claim(POOL, ClaimRequest("acme", payload={"command": ["make", "test"]}))
    assert claim.session_payload == {"command": ["make", "test"], "secret": f"for {claim.id}"}


async def test_a_mint_that_fails_returns_the_healthy_worker_at_once(world):
    replica = world.start()
    await world.pool(warm=1, max=1, mint={"url": "http://127.0.0.1:1/mint"})
    await world.until_idle(1)
    world.mint.failing = 1
    with pytest.raises(MintFailed):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    pods = await world.pods()
    assert names.OWNER not in pods[0].metadata.labels
    await world.clock.sleep(1)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    assert claim.pod_uid == pods[0].metadata.uid
    assert claim.session_payload == {"secret": f"for {claim.id}"}


@pytest.mark.world(nodes=2)
async def test_a_worker_whose_node_was_cordoned_a_moment_ago_is_passed_over(world):
    replica = world.start()
    await world.pool(warm=4, max=8, reuse="Always")
    await world.until_idle(4)
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    await world.clock.sleep(0.01)
    claims = [await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", wait=30)) for _ in range(2)]
    pods = {pod.metadata.uid: pod for pod in await world.pods()}
    assert {pods[claim.pod_uid].spec.node_name for claim in claims} == {"node-2"}


async def test_a_claim_whose_second_worker_cannot_be_stamped_either_fails_at_once_under_its_new_epoch(world):
    stamps = {"methods": frozenset({"PATCH"}), "path": r"/pods/[^/]+$"}
    gone = Rule(Answer(404, "NotFound", "gone"), **stamps, nth=frozenset({1}))
    broken = Rule(Answer(500, "InternalError", "no"), **stamps, nth=frozenset({2, 3, 4}))
    replica = world.start(rules=[gone, broken])
    await world.pool(warm=2, max=2, reuse="Always")
    await world.until_idle(2)
    with pytest.raises(ServerFailed):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    (claim,) = (await world.ledger.claims.list(ClaimFilter())).items
    assert (claim.state, claim.previous_epoch is not None) == (ClaimState.FAILED, True)
    await world.until_idle(2)


@pytest.mark.parametrize("fault", [Fault.AWAY, Fault.LOSE_ANSWER])
async def test_a_worker_whose_row_could_not_be_written_is_not_forgotten(world, fault):
    broken = True
    replica = world.start(
        "a", [], lambda call: fault if broken and call.path == "claims.insert_claimed" else Fault.NONE
    )
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    with pytest.raises(Unavailable):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    broken = False
    for left in (await world.ledger.claims.live()).claims:
        await replica.mooring.claims.desk.release(left.id, left.epoch)
    assert (await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", wait=20))).state is ClaimState.RUNNING


async def test_a_slot_that_another_replica_held_is_offered_again_when_it_is_free(world):
    replica = world.start()
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    (pod,) = await world.pods()
    request = NewClaim(id="other", namespace=NAMESPACE, pool="linux", owner="other", ttl_seconds=600)
    slot = WorkerSlot(pod.metadata.name, pod.metadata.uid, 0, "")
    other = (await world.ledger.claims.insert_claimed(request, slot, now=world.clock.now())).require()
    with pytest.raises(NoIdleWorker):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    await world.ledger.claims.end(other.id, other.epoch, EndCause.RELEASED, now=world.clock.now(), reason="")
    assert (await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", wait=20))).state is ClaimState.RUNNING


async def test_a_lost_answer_to_the_stamp_is_repeated_not_doubled(world):
    rule = Rule(LoseAnswer(), methods=frozenset({"PATCH"}), path=r"/pods/[^/]+$", nth=frozenset({1}))
    replica = world.start(rules=[rule])
    await world.pool(warm=2, max=2)
    await world.until_idle(2)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    stamped = [pod for pod in await world.pods() if names.OWNER in pod.metadata.labels]
    assert [pod.metadata.uid for pod in stamped] == [claim.pod_uid]


async def test_old_epochs_bad_wishes_and_unknown_pools_are_refused(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    claim = await desk.claim(POOL, ClaimRequest("acme"))
    with pytest.raises(StaleEpoch):
        await desk.heartbeat(claim.id, claim.epoch - 1)
    assert (await desk.heartbeat(claim.id, claim.epoch)).state is ClaimState.RUNNING
    with pytest.raises(NoIdleWorker):
        await desk.claim(POOL, ClaimRequest("acme"))
    with pytest.raises(UnknownPool):
        await desk.claim("runners/windows", ClaimRequest("acme"))
    for wish in (
        ClaimRequest(""),
        ClaimRequest("a" * 300),
        ClaimRequest("a\nb"),
        ClaimRequest("<script>"),
        ClaimRequest("a", ttl_seconds=-1),
    ):
        with pytest.raises(InvalidInput):
            await desk.claim(POOL, wish)
    for payload in ({"a": ["b\0"]}, {"c\0": {}}):
        with pytest.raises(InvalidInput, match="payload"):
            await desk.claim(POOL, ClaimRequest("acme", payload=payload))
    assert len((await world.ledger.claims.list(ClaimFilter())).items) == 1
