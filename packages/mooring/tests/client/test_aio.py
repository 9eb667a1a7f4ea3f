"""The SDK for event loops against a Mooring behind a real port."""

import asyncio
import inspect
import time

import pytest

from mooring.client import AsyncClaim, AsyncMooring, Claim, Mooring
from mooring.client.errors import ClaimTimeout, LeaseLost, LossCause, RemoteError
from mooring.controllers.claims.handover import COMPLETION_SECONDS
from mooring.model.claim import ClaimState, EndCause
from packages.mooring.tests.client.dock import TOKEN, Front


@pytest.fixture
def mooring(dock):
    return AsyncMooring(dock.url, TOKEN)


async def in_thread(function, *arguments):
    return await asyncio.to_thread(function, *arguments)


def test_a_worker_is_held_for_the_block_renewed_and_released(dock, mooring, run):
    pool = dock.pool()

    async def main():
        async with mooring.claim(pool, owner="acme", ttl="1s") as claim:
            assert claim.worker.address
            await asyncio.sleep(1.5)
            claim.check()
            assert (await in_thread(dock.claim, claim.id)).state is ClaimState.RUNNING
        return claim.id

    assert dock.claim(run(main())).state is ClaimState.RELEASED


def test_a_lost_claim_cancels_its_block_at_once(dock, mooring, run):
    pool = dock.pool()
    reached = []

    async def main():
        async with mooring.claim(pool, owner="acme", ttl="1s") as claim:
            await in_thread(dock.end, claim.id, EndCause.WORKER_LOST, "its worker is gone")
            try:
                await asyncio.sleep(30)
            finally:
                reached.append("cleaned up")
        reached.append("never")

    started = time.monotonic()
    with pytest.raises(LeaseLost) as raised:
        run(main())
    assert raised.value.cause is LossCause.EVICTED and reached == ["cleaned up"]
    assert time.monotonic() - started < 5


def test_after_a_lost_claim_the_task_goes_on_uncancelled(dock, mooring, run):
    pool = dock.pool()

    async def main():
        with pytest.raises(LeaseLost):
            async with mooring.claim(pool, owner="acme", ttl="1s") as claim:
                await in_thread(dock.end, claim.id, EndCause.EXPIRED, "no heartbeat")
                await asyncio.sleep(30)
        assert asyncio.current_task().cancelling() == 0
        await asyncio.sleep(0.01)

    run(main())


def test_a_block_that_is_cancelled_from_outside_gives_the_worker_back_and_stays_cancelled(dock, mooring, run):
    pool = dock.pool()

    async def main():
        entered = asyncio.Event()

        async def hold():
            async with mooring.claim(pool, owner="acme"):
                entered.set()
                await asyncio.sleep(30)

        task = asyncio.create_task(hold())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert dock.open_claims(pool) == 0


@pytest.mark.parametrize("dispatch", ["Push", "Poll"])
def test_cancelled_work_is_released_within_two_seconds(dock, mooring, run, dispatch):
    pool = dock.pool(dispatch=dispatch)

    async def hold():
        async with mooring.claim(pool, owner="acme"):
            await asyncio.sleep(30)

    async def main():
        command = {"command": ["sleep", "30"]}
        work = hold() if dispatch == "Push" else mooring.run(pool, owner="acme", payload=command)
        task = asyncio.create_task(work)
        while not await in_thread(dock.open_claims, pool):
            await asyncio.sleep(0.05)
        started = asyncio.get_running_loop().time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.get_running_loop().time() - started < 2

    run(main())
    assert dock.open_claims(pool) == 0


def test_an_error_in_the_block_is_not_hidden(dock, mooring, run):
    pool = dock.pool()

    async def main():
        async with mooring.claim(pool, owner="acme", ttl="1h") as claim:
            await in_thread(dock.end, claim.id, EndCause.EXPIRED, "no heartbeat")
            raise KeyError("mine")

    with pytest.raises(KeyError) as raised:
        run(main())
    assert any("is lost" in note for note in raised.value.__notes__)


def test_cancelled_while_waiting_leaves_nothing_in_the_queue(dock, mooring, run):
    pool = dock.pool()
    told = []

    async def main():
        async with mooring.claim(pool, owner="first"):
            waiting = asyncio.create_task(
                mooring.claim(pool, owner="second", wait="30s", on_wait=told.append).__aenter__()
            )
            while not told:
                await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await in_thread(dock.open_claims, pool) == 1

    run(main())
    assert told[0].position == 1 and "1 busy" in told[0].why.blockers[0] and told[0].why.since is not None


def test_a_claim_timeout_explains_why_no_worker_was_free(dock, mooring, run):
    pool = dock.pool()

    async def main():
        async with mooring.claim(pool, owner="first"), mooring.claim(pool, owner="second", wait="0.3s"):
            pass

    with pytest.raises(ClaimTimeout) as raised:
        run(main())
    assert raised.value.why.blockers and raised.value.why.since is not None
    assert dock.open_claims(pool) == 0


def test_a_claim_that_its_control_plane_left_unfinished_is_completed_by_the_repeated_request(dock, mooring, run):
    pool = dock.pool()
    left = dock.leave_half_way(pool, "half-way", COMPLETION_SECONDS - 1.5)

    async def main():
        started = time.monotonic()
        async with mooring.claim(pool, owner="acme", key="half-way") as claim:
            assert 1 < time.monotonic() - started < 6
            assert claim.id == left and (await in_thread(dock.claim, left)).state is ClaimState.RUNNING

    run(main())


@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_a_request_whose_answer_was_lost_is_repeated_without_a_second_claim(dock, lost, run):
    pool = dock.pool(warm=2, max=2)

    async def main():
        with Front(dock.url, lose=lost, only=b"/claims") as front:
            async with AsyncMooring(front.url, TOKEN).claim(pool, owner="acme"):
                assert await in_thread(dock.open_claims, pool) == 1
            assert front.lose == 0

    run(main())
    assert dock.open_claims(pool) == 0


def test_without_renewals_getting_through_the_block_is_cancelled_by_our_own_clock(dock, run):
    pool = dock.pool()

    async def main():
        with Front(dock.url) as front:
            async with AsyncMooring(front.url, TOKEN).claim(pool, owner="acme", ttl="1s"):
                front.closed = True
                await asyncio.sleep(30)

    started = time.monotonic()
    with pytest.raises(LeaseLost) as raised:
        run(main())
    assert raised.value.cause is LossCause.EXPIRED and time.monotonic() - started < 5


def test_a_detached_claim_is_attached_again(dock, mooring, run):
    pool = dock.pool()

    async def main():
        async with mooring.claim(pool, owner="acme") as claim:
            claim_id = claim.detach()
        async with mooring.attach(claim_id) as again:
            assert again.worker == claim.worker
        with pytest.raises(LeaseLost):
            await mooring.attach(claim_id).__aenter__()
        with pytest.raises(RemoteError):
            await mooring.release("no-such-claim")
        return claim_id

    assert dock.claim(run(main())).state is ClaimState.RELEASED


@pytest.mark.parametrize(("ours", "theirs"), [(Mooring, AsyncMooring), (Claim, AsyncClaim)])
def test_both_twins_have_the_same_signatures(ours, theirs):
    def signatures(kind):
        public = {name: method for name, method in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
        found = {"__init__": kind.__init__, **public}
        return {
            name: [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()]
            for name, method in found.items()
        }

    assert signatures(ours) == signatures(theirs)
