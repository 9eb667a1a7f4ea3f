"""A worker that is given out at the very end of a wait, to a client that may not listen any more."""

import asyncio

import pytest

from drydock.faults import Delay, Rule
from hawser.resources import NODES
from mooring.controllers.claims.waiting_clients import Caller, ClientGone
from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import Claim, ClaimState, EndCause, Outcome, WorkerSlot
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import MooringError, Unavailable
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour, play
from packages.mooring.tests.scenarios.leaks import stamped

POOL = f"{NAMESPACE}/linux"
BACK_IN_TIME, TOO_LATE = 15.0, 30.0


class Client:
    """Asks for a worker with a long ttl, and gives no heartbeats."""

    def __init__(self, wait: float, key: str | None = None) -> None:
        self.caller = Caller(wait)
        self._wish = ClaimRequest("late", ttl_seconds=3600, wait=wait, idempotency_key=key)

    def ask(self, replica: Replica) -> asyncio.Task[Claim]:
        return asyncio.create_task(replica.mooring.claims.desk.claim(POOL, self._wish, self.caller))

    def hang_up_at(self, method: str) -> "HangUp":
        return HangUp(self, method)


class HangUp:
    """The client hangs up at the first call of this method of the claims' ledger."""

    def __init__(self, client: Client, method: str) -> None:
        self._client, self._path = client, f"claims.{method}"

    def __call__(self, call: LedgerCall) -> Fault:
        if call.path == self._path:
            self._client.caller.disconnect()
        return Fault.NONE


async def taken_pool(world: Harbour, replica: Replica) -> Claim:
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    return await replica.mooring.claims.desk.claim(POOL, ClaimRequest("holder", ttl_seconds=3600))


async def late_claim(world: Harbour) -> Claim:
    (found,) = (await world.ledger.claims.list(ClaimFilter(owner="late"))).items
    return found


async def test_a_claim_that_got_its_worker_at_the_last_moment_counts_as_taken(world):
    replica = world.start()
    desk = replica.mooring.claims.desk
    holder = await taken_pool(world, replica)
    client = Client(10)
    asked = client.ask(replica)
    place_of = desk.position

    async def slow_position(claim: Claim) -> int | None:
        """Between the look that found the wait over and the end of the claim, it gets its worker."""
        await desk.release(holder.id, holder.epoch)
        claims, slot, now = world.ledger.claims, WorkerSlot(holder.pod_name, holder.pod_uid), world.clock.now()
        bound = (await claims.bind(claim.id, claim.epoch, slot, now=now)).require()
        await claims.mark_running(bound.id, bound.epoch, now=now)
        return await place_of(claim)

    desk.position = slow_position
    claim = await asked
    assert claim.state is ClaimState.RUNNING
    await world.clock.sleep(600)
    assert (await late_claim(world)).state is ClaimState.RUNNING, "its client has it for its ttl"


@pytest.mark.parametrize("waits", [True, False])
async def test_a_client_without_a_key_that_hung_up_gives_its_worker_back_at_once(world, waits):
    client = Client(10)
    replica = world.start(fault=client.hang_up_at("heartbeat" if waits else "mark_running"))
    if waits:
        holder = await taken_pool(world, replica)
        asked = client.ask(replica)
        await world.clock.sleep(5)
        await replica.mooring.claims.desk.release(holder.id, holder.epoch)
    else:
        await world.pool(warm=1, max=1, reuse="Always")
        await world.until_idle(1)
        asked = client.ask(replica)
    (pod,) = await world.pods()
    with pytest.raises(ClientGone):
        await asked
    await world.clock.sleep(1.5)
    ended = await late_claim(world)
    assert (ended.state, ended.cause) == (ClaimState.EXPIRED, EndCause.ABANDONED)
    assert not await stamped(world) and (await world.pods())[0].metadata.uid == pod.metadata.uid
    await world.until_idle(1, within=10)


@pytest.mark.parametrize("comes_back", ["repeats", "reads", "never"])
async def test_a_client_with_a_key_that_hung_up_has_some_seconds_to_come_back(world, comes_back):
    client = Client(10, "k")
    replica = world.start(fault=client.hang_up_at("heartbeat"))
    desk = replica.mooring.claims.desk
    holder = await taken_pool(world, replica)
    asked = client.ask(replica)
    await world.clock.sleep(5)
    await desk.release(holder.id, holder.epoch)
    with pytest.raises(ClientGone):
        await asked
    await world.clock.sleep(BACK_IN_TIME)
    first = await late_claim(world)
    assert first.state is ClaimState.RUNNING
    match comes_back:
        case "repeats":
            assert (await Client(10, "k").ask(replica)).id == first.id
        case "reads":
            await desk.look(first.id)
    await world.clock.sleep(TOO_LATE)
    state = (await late_claim(world)).state
    if comes_back == "never":
        assert state is ClaimState.EXPIRED and not await stamped(world)
    else:
        await world.clock.sleep(600)
        assert (await late_claim(world)).state is ClaimState.RUNNING


async def test_one_of_two_copies_of_a_request_that_hangs_up_takes_nothing_from_the_other(world):
    gone, stays = Client(10, "k"), Client(10, "k")
    first, second = world.start("first", fault=gone.hang_up_at("heartbeat")), world.start("second")
    holder = await taken_pool(world, first)
    asked = [gone.ask(first), stays.ask(second)]
    await world.clock.sleep(5)
    await first.mooring.claims.desk.release(holder.id, holder.epoch)
    await asyncio.wait(asked)
    claim = asked[1].result()
    await world.clock.sleep(600)
    assert (await world.ledger.claims.get(claim.id)).state is ClaimState.RUNNING


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_worker_whose_claim_was_answered_with_an_error_is_kept_for_a_repeat_and_not_for_its_ttl(
    world, comes_back
):
    lost = iter([Fault.LOSE_ANSWER])
    replica = world.start(fault=lambda call: next(lost, Fault.NONE) if call.method == "mark_running" else Fault.NONE)
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    with pytest.raises(Unavailable):
        await Client(0, "k").ask(replica)
    running = await late_claim(world)
    assert running.state is ClaimState.RUNNING
    if comes_back:
        await world.clock.sleep(BACK_IN_TIME)
        assert (await Client(0, "k").ask(replica)).id == running.id
        await world.clock.sleep(600)
        assert (await late_claim(world)).state is ClaimState.RUNNING
    else:
        await world.clock.sleep(TOO_LATE)
        assert (await late_claim(world)).cause is EndCause.ABANDONED
        assert not await stamped(world)


async def test_a_claim_that_another_replica_completes_is_not_answered_as_without_a_worker(world):
    replica = world.start()
    await world.pool(warm=2, max=2, reuse="Always")
    await world.until_idle(2)
    claims, end = world.ledger.claims, replica.mooring.claims.release.end
    one, other = await world.pods()
    await world.client.merge_patch(NODES, one.spec.node_name, {"spec": {"unschedulable": True}})
    await world.client.merge_patch(NODES, other.spec.node_name, {"spec": {"unschedulable": True}})

    async def taken_up_before(claim_id: str, epoch: int, cause: EndCause, reason: str) -> Outcome:
        slot = WorkerSlot(other.metadata.name, other.metadata.uid)
        bound = (await claims.bind(claim_id, epoch, slot, now=world.clock.now())).require()
        await claims.mark_running(claim_id, bound.epoch, now=world.clock.now())
        return await end(claim_id, epoch, cause, reason)

    replica.mooring.claims.release.end = taken_up_before
    claim = await Client(0, "k").ask(replica)
    assert (claim.state, claim.pod_uid) == (ClaimState.RUNNING, other.metadata.uid)


@pytest.mark.parametrize("seed", range(1, 25))
def test_whatever_happens_at_the_end_of_a_wait_a_claim_runs_only_for_a_client_that_got_it(seed: int) -> None:
    async def scenario() -> None:
        async with harbour(seed) as world:
            await _end_of_a_wait(world)

    play(scenario, seed)


async def _end_of_a_wait(world: Harbour) -> None:
    chance = world.entropy
    replica = world.start(rules=[Rule(Delay(0.0, 0.05), watch=False)])
    holder = await taken_pool(world, replica)
    client = Client(10, "k" if chance.below(2) else None)
    asked = client.ask(replica)
    await world.clock.sleep(10 + chance.between(-0.2, 0.05))
    hangs_up = chance.below(2) == 0
    if hangs_up:
        asyncio.get_running_loop().call_later(chance.between(0, 0.3), client.caller.disconnect)
    await replica.mooring.claims.desk.release(holder.id, holder.epoch)
    await asyncio.wait({asked})
    got = None if asked.exception() else asked.result()
    error = asked.exception()
    assert error is None or isinstance(error, MooringError), error
    await world.clock.sleep(60)
    claim = await late_claim(world)
    if got is None:
        assert not claim.open and not await stamped(world), (claim, error)
    elif got.state is ClaimState.RUNNING:
        assert claim.state is ClaimState.RUNNING, claim
    else:
        assert got.state is ClaimState.CLAIMED and claim.cause is EndCause.ABANDONED, (got, claim)
