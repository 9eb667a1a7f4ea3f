"""Clients of waiting claims: one that is gone gives up its place, and what was bound for it."""

import asyncio
import contextlib
import itertools

import pytest

from drydock.faults import Delay, Rule
from mooring.controllers.claims.refusals import Abandoned, ClaimRevoked
from mooring.controllers.claims.waiting_clients import Caller, ClientGone, Stopping
from mooring.engine.concurrency_limit import LEAST
from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.records import ClaimFilter
from mooring.model import names
from mooring.model.claim import Claim, ClaimState, EndCause, NewClaim
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"
GONE_SECONDS = 20.0


class Client:
    """A client that waits for a worker at one replica."""

    def __init__(self, replica: Replica, owner: str, wait: float = 600.0, **request: object) -> None:
        self.caller = Caller(wait)
        self._asked = ClaimRequest(owner, wait=wait, **request)
        self.task = asyncio.create_task(replica.mooring.claims.desk.claim(POOL, self._asked, self.caller))

    async def disconnect(self) -> None:
        self.caller.disconnect()
        with pytest.raises(ClientGone):
            await self.task


async def taken_pool(world: Harbour, replica: Replica, **spec: str) -> Claim:
    """A pool of one worker, which is taken by a holder that never expires in these tests."""
    await world.pool(warm=1, max=1, reuse="Always", **spec)
    await world.until_idle(1)
    return await replica.mooring.claims.desk.claim(POOL, ClaimRequest("holder", ttl_seconds=3600))


async def claim_of(world: Harbour, owner: str) -> Claim:
    (found,) = (await world.ledger.claims.list(ClaimFilter(owner=owner))).items
    return found


async def test_a_waiting_claim_whose_client_is_gone_is_abandoned_after_twenty_seconds(world):
    replica = world.start()
    await taken_pool(world, replica)
    gone, stays = Client(replica, "gone"), Client(replica, "stays")
    await world.clock.sleep(60)
    await gone.disconnect()
    await world.clock.sleep(GONE_SECONDS - 1)
    assert (await claim_of(world, "gone")).state is ClaimState.QUEUED
    await world.clock.sleep(11)
    ended = await claim_of(world, "gone")
    assert (ended.state, ended.cause) == (ClaimState.EXPIRED, EndCause.ABANDONED)
    assert "no sign of life" in ended.reason
    await world.clock.sleep(120)
    assert (await claim_of(world, "stays")).state is ClaimState.QUEUED and not stays.task.done()
    await stays.disconnect()


@pytest.mark.parametrize("detached", [False, True])
async def test_nothing_is_written_for_a_client_that_is_gone_before_its_turn(world, detached):
    """On a replica that is too slow for its clients, work for those that gave up would make it slower still."""
    slow = Rule(Delay(5), methods=frozenset({"PATCH"}), resource="pods")
    replica = world.start(rules=(slow,))
    await world.pool(warm=20, max=20, reuse="Always")
    await world.until_idle(20)
    first = [Client(replica, "first") for _ in range(LEAST)]
    await world.clock.sleep(1)
    late = Client(replica, "late", detached=detached)
    await world.clock.sleep(1)
    late.caller.disconnect()
    with pytest.raises(ClientGone):
        await asyncio.gather(late.task, *(client.task for client in first))
    assert len((await world.ledger.claims.list(ClaimFilter(owner="late"))).items) == detached


async def test_a_detached_claim_waits_without_its_client_and_gets_its_worker(world):
    replica = world.start()
    holder = await taken_pool(world, replica)
    client = Client(replica, "webhook", detached=True)
    await world.clock.sleep(2)
    await client.disconnect()
    await world.clock.sleep(120)
    await replica.mooring.claims.desk.release(holder.id, holder.epoch)
    await world.clock.sleep(60)
    assert (await claim_of(world, "webhook")).state is ClaimState.RUNNING


async def test_a_client_that_repeats_its_key_in_time_keeps_its_place(world):
    replica = world.start()
    await taken_pool(world, replica)
    first = Client(replica, "first", idempotency_key="k")
    await world.clock.sleep(1)
    second = Client(replica, "second")
    await world.clock.sleep(5)
    for _ in range(3):
        await first.disconnect()
        await world.clock.sleep(GONE_SECONDS - 1)
        first = Client(replica, "first", idempotency_key="k")
        await world.clock.sleep(2)
    claim = await claim_of(world, "first")
    assert claim.state is ClaimState.QUEUED and await replica.mooring.claims.desk.position(claim) == 1
    await first.disconnect()
    await second.disconnect()


async def test_reading_the_claim_now_and_then_is_a_sign_of_life(world):
    replica = world.start()
    await taken_pool(world, replica)
    client = Client(replica, "reader")
    await world.clock.sleep(2)
    await client.disconnect()
    claim = await claim_of(world, "reader")
    for _ in range(10):
        await world.clock.sleep(15)
        assert (await replica.mooring.claims.desk.look(claim.id)).state is ClaimState.QUEUED


async def test_clients_of_a_dead_replica_that_reconnect_elsewhere_keep_their_place(world):
    first, second = world.start("first"), world.start("second")
    await taken_pool(world, first)
    client = Client(second, "moving", idempotency_key="k")
    await world.clock.sleep(30)
    await second.kill()
    client.task.cancel()
    await asyncio.wait({client.task})
    await world.clock.sleep(GONE_SECONDS - 1)
    client = Client(first, "moving", idempotency_key="k")
    await world.clock.sleep(60)
    assert (await claim_of(world, "moving")).state is ClaimState.QUEUED
    await client.disconnect()


async def test_nobody_is_abandoned_while_the_ledger_does_not_answer_nor_right_after(world):
    away = False

    def fault(call: LedgerCall) -> Fault:
        return Fault.AWAY if away and call.noun == "claims" else Fault.NONE

    replica = world.start(fault=fault)
    await taken_pool(world, replica)
    client = Client(replica, "patient", idempotency_key="k")
    await world.clock.sleep(5)
    away = True
    await asyncio.wait({client.task})
    assert client.task.exception() is not None, "the request fails, and its client repeats it"
    await world.clock.sleep(300)
    away = False
    await world.clock.sleep(GONE_SECONDS - 2)
    client = Client(replica, "patient", idempotency_key="k")
    await world.clock.sleep(60)
    assert (await claim_of(world, "patient")).state is ClaimState.QUEUED
    await client.disconnect()


@pytest.mark.parametrize("seconds", [3600, -3600])
async def test_clocks_that_jump_abandon_nobody(world, seconds):
    first, second = world.start("first"), world.start("second")
    await taken_pool(world, first)
    client = Client(second, "patient", wait=3600)
    await world.clock.sleep(5)
    second.clock.jump(-60)
    await world.clock.sleep(5)
    first.clock.jump(seconds / 2)
    await world.clock.sleep(60)
    assert (await claim_of(world, "patient")).state is ClaimState.QUEUED
    await client.disconnect()


@pytest.mark.parametrize("sharing", ["Any", "PerOwner"])
async def test_a_free_worker_goes_to_a_client_that_is_there_before_an_older_one_that_is_gone(world, sharing):
    replica = world.start()
    holder = await taken_pool(world, replica, sharing=sharing)
    gone = Client(replica, "gone")
    await world.clock.sleep(5)
    there = Client(replica, "there")
    await gone.disconnect()
    await world.clock.sleep(12)
    await replica.mooring.claims.desk.release(holder.id, holder.epoch)
    claim = await there.task
    assert (claim.owner, claim.state) == ("there", ClaimState.RUNNING)
    assert (await claim_of(world, "gone")).state is ClaimState.QUEUED


async def test_also_among_claims_of_one_owner_those_with_a_client_come_first(world):
    replica = world.start()
    await world.pool(warm=1, max=1, reuse="SameOwner")
    await world.until_idle(1)
    holder = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    gone = Client(replica, "acme", idempotency_key="gone")
    await world.clock.sleep(5)
    there = Client(replica, "acme", idempotency_key="there")
    await gone.disconnect()
    await world.clock.sleep(12)
    await replica.mooring.claims.desk.release(holder.id, holder.epoch)
    claim = await asyncio.wait_for(there.task, 30)
    assert (claim.idempotency_key, claim.state) == ("there", ClaimState.RUNNING)


async def test_a_worker_that_was_bound_for_a_client_that_is_gone_is_returned_long_before_its_ttl(world):
    replica = world.start()
    holder = await taken_pool(world, replica)
    gone = Client(replica, "gone", ttl_seconds=3600)
    await world.clock.sleep(2)
    await gone.disconnect()
    await replica.mooring.claims.desk.release(holder.id, holder.epoch)
    await world.clock.sleep(3)
    bound = await claim_of(world, "gone")
    assert bound.state is ClaimState.RUNNING, "nobody else waits: it may come back"
    await world.clock.sleep(GONE_SECONDS + 15)
    ended = await claim_of(world, "gone")
    assert (ended.state, ended.cause) == (ClaimState.EXPIRED, EndCause.ABANDONED)
    await world.until_idle(1, within=10)
    (pod,) = await world.pods()
    assert names.CLAIM not in pod.metadata.annotations and pod.metadata.uid == bound.pod_uid


@pytest.mark.parametrize("comes_back", fast_first(["repeats", "reads", "beats"], 1))
async def test_a_client_that_comes_back_to_what_was_bound_for_it_keeps_it(world, comes_back):
    replica = world.start()
    desk = replica.mooring.claims.desk
    holder = await taken_pool(world, replica)
    client = Client(replica, "late", ttl_seconds=3600, idempotency_key="k")
    await world.clock.sleep(2)
    await client.disconnect()
    await desk.release(holder.id, holder.epoch)
    await world.clock.sleep(15)
    bound = await claim_of(world, "late")
    match comes_back:
        case "repeats":
            again = ClaimRequest("late", wait=60, ttl_seconds=3600, idempotency_key="k")
            assert (await desk.claim(POOL, again)).id == bound.id
        case "reads":
            await desk.look(bound.id)
        case "beats":
            await desk.heartbeat(bound.id, bound.epoch)
    await world.clock.sleep(600)
    assert (await claim_of(world, "late")).state is ClaimState.RUNNING


async def test_a_client_that_waited_and_got_its_worker_keeps_it_for_its_whole_ttl(world):
    replica = world.start()
    holder = await taken_pool(world, replica)
    client = Client(replica, "slow", ttl_seconds=600)
    await world.clock.sleep(2)
    await replica.mooring.claims.desk.release(holder.id, holder.epoch)
    claim = await client.task
    await world.clock.sleep(500)
    assert (await world.ledger.claims.get(claim.id)).state is ClaimState.RUNNING


async def test_a_waiting_claim_that_an_operator_releases_ends_its_request_with_the_reason(world):
    replica = world.start()
    await taken_pool(world, replica)
    client = Client(replica, "unlucky")
    await world.clock.sleep(2)
    claim = await claim_of(world, "unlucky")
    await replica.mooring.claims.desk.revoke(claim.id, actor="cli/ana", reason="the pool is closed")
    with pytest.raises(ClaimRevoked, match="the pool is closed") as raised:
        await client.task
    assert raised.value.code == "claim_revoked" and raised.value.detail["reason"] == "the pool is closed (by cli/ana)"


async def test_a_key_that_was_abandoned_begins_anew(world):
    replica = world.start()
    await taken_pool(world, replica)
    client = Client(replica, "acme", idempotency_key="k")
    await world.clock.sleep(2)
    await client.disconnect()
    await world.clock.sleep(60)
    before = await claim_of(world, "acme")
    assert before.cause is EndCause.ABANDONED
    client = Client(replica, "acme", idempotency_key="k")
    await world.clock.sleep(2)
    found = (await world.ledger.claims.list(ClaimFilter(owner="acme"))).items
    assert [claim.state for claim in found] == [ClaimState.QUEUED, ClaimState.EXPIRED]
    await client.disconnect()


async def test_a_request_whose_claim_is_abandoned_all_the_same_asks_to_be_repeated(world):
    replica = world.start()
    await taken_pool(world, replica)
    client = Client(replica, "acme")
    await world.clock.sleep(2)
    claim = await claim_of(world, "acme")
    await world.ledger.claims.end(claim.id, claim.epoch, EndCause.ABANDONED, now=world.clock.now(), reason="silent")
    with pytest.raises(Abandoned):
        await client.task


async def test_waiting_requests_of_a_replica_that_stops_go_to_another_one(world):
    replica = world.start()
    await taken_pool(world, replica)
    client = Client(replica, "acme")
    await world.clock.sleep(2)
    replica.mooring.claims.close()
    with pytest.raises(Stopping):
        await client.task


async def test_a_stream_has_the_claim_at_once_then_changes_and_heartbeats_and_ends_with_it(world):
    replica = world.start()
    claims = replica.mooring.claims
    holder = await taken_pool(world, replica)
    seen: list[tuple[float, Claim | None]] = []
    began = world.clock.monotonic()

    async def listen() -> None:
        async for found in claims.stream.follow(holder):
            seen.append((world.clock.monotonic() - began, found))

    listening = asyncio.create_task(listen())
    await world.clock.sleep(40)
    await claims.desk.revoke(holder.id, actor="cli/ana", reason="needed")
    await asyncio.wait_for(listening, 2)
    assert seen[0] == (0.0, holder)
    silences = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(seen)]
    assert max(silences) < 5 and any(found is None for _, found in seen)
    at, last = seen[-1]
    assert last is not None and (last.cause, last.reason) == (EndCause.REVOKED, "needed (by cli/ana)") and at < 41


async def test_a_stream_is_the_sign_of_life_of_a_waiting_client(world):
    replica = world.start()
    claims = replica.mooring.claims
    await taken_pool(world, replica)
    new = NewClaim(id="c-1", namespace=NAMESPACE, pool="linux", owner="acme", ttl_seconds=60)
    later = world.clock.now().replace(year=2100)
    queued = (await world.ledger.claims.insert_queued(new, now=world.clock.now(), wait_until=later)).require()

    async def listen() -> None:
        async for _ in claims.stream.follow(queued):
            pass

    listening = asyncio.create_task(listen())
    await world.clock.sleep(120)
    assert (await claim_of(world, "acme")).state is ClaimState.QUEUED
    listening.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await listening
    await world.clock.sleep(60)
    assert (await claim_of(world, "acme")).cause is EndCause.ABANDONED
