"""`run_safe`: work that is repeated when its worker is lost, in both styles."""

import asyncio
import threading

import pytest

from mooring.client import AsyncMooring, LeaseLost, LossCause, Mooring
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import EndCause
from mooring.model.errors import InvalidInput
from packages.mooring.tests.client.dock import TOKEN

STYLES = pytest.mark.parametrize("style", ["blocking", "asyncio"])


class Work:
    """Counts its calls; `act(claim, number)` is what each of them does."""

    def __init__(self, act):
        self.act = act
        self.claims = []

    def __call__(self, claim):
        self.claims.append(claim.id)
        return self.act(claim, len(self.claims))

    async def run(self, claim):
        """The same for an event loop: the work itself runs in a thread, as blocking libraries do."""
        return await asyncio.to_thread(self, claim)


async def run_safe(dock, style, pool, work, **options):
    if style == "blocking":
        return Mooring(dock.url, TOKEN).run_safe(pool, work, owner="acme", **options)
    return await AsyncMooring(dock.url, TOKEN).run_safe(pool, work.run, owner="acme", **options)


def loses_first(dock, cause, then="done"):
    """The first call loses its claim and notices it, the next ones succeed."""

    def act(claim, number):
        if number == 1:
            dock.end(claim.id, cause, "its worker is gone")
            threading.Event().wait(1.0)
            claim.check()
        return f"{then} {number}"

    return Work(act)


@STYLES
@pytest.mark.parametrize("cause", [EndCause.DRAINED, EndCause.WORKER_LOST])
async def test_work_whose_worker_is_lost_is_run_again_under_a_new_claim(dock, style, cause):
    pool = dock.pool(warm=2, max=2)
    work = loses_first(dock, cause)
    assert await run_safe(dock, style, pool, work) == "done 2"
    assert len(set(work.claims)) == 2 and dock.open_claims(pool) == 0


@STYLES
async def test_it_is_tried_so_many_times_at_most(dock, style):
    pool = dock.pool(warm=2, max=2)

    def act(claim, number):
        dock.end(claim.id, EndCause.WORKER_LOST, "its worker is gone")
        threading.Event().wait(1.0)
        claim.check()

    work = Work(act)
    with pytest.raises(LeaseLost) as raised:
        await run_safe(dock, style, pool, work, attempts=2)
    assert raised.value.cause is LossCause.EVICTED and len(work.claims) == 2


@STYLES
async def test_work_that_has_committed_is_never_repeated(dock, style):
    pool = dock.pool(warm=2, max=2)

    def act(claim, number):
        claim.commit()
        dock.end(claim.id, EndCause.DRAINED, "its node is drained")
        threading.Event().wait(1.0)
        claim.check()

    work = Work(act)
    with pytest.raises(LeaseLost):
        await run_safe(dock, style, pool, work)
    assert len(work.claims) == 1


async def test_committed_work_that_returns_keeps_its_result_when_the_worker_is_lost_after_it(dock):
    pool = dock.pool(warm=2, max=2)

    def act(claim, number):
        claim.commit()
        dock.end(claim.id, EndCause.DRAINED, "its node is drained")
        return "paid once"

    work = Work(act)
    assert await run_safe(dock, "blocking", pool, work) == "paid once" and len(work.claims) == 1


async def test_a_claim_that_is_lost_cannot_commit(dock):
    pool = dock.pool(warm=2, max=2)

    def act(claim, number):
        if number == 1:
            dock.end(claim.id, EndCause.DRAINED, "its node is drained")
            threading.Event().wait(1.0)
        claim.commit()
        return number

    assert await run_safe(dock, "blocking", pool, Work(act)) == 2


@STYLES
@pytest.mark.parametrize("cause", [EndCause.REVOKED, EndCause.EXPIRED])
async def test_other_losses_are_not_repeated(dock, style, cause):
    pool = dock.pool(warm=2, max=2)
    work = loses_first(dock, cause)
    with pytest.raises(LeaseLost):
        await run_safe(dock, style, pool, work)
    assert len(work.claims) == 1


async def test_an_error_of_the_work_itself_is_not_repeated_and_releases_the_worker(dock):
    pool = dock.pool(warm=2, max=2)

    def act(claim, number):
        raise KeyError("mine")

    work = Work(act)
    with pytest.raises(KeyError):
        await run_safe(dock, "blocking", pool, work)
    assert len(work.claims) == 1 and dock.open_claims(pool) == 0


@STYLES
async def test_a_broken_connection_is_repeated_when_its_worker_turns_out_to_be_lost(dock, style):
    pool = dock.pool(warm=2, max=2)

    def act(claim, number):
        if number == 1:
            threading.Timer(0.7, dock.end, (claim.id, EndCause.WORKER_LOST, "its worker is gone")).start()
            raise ConnectionResetError("the worker closed the connection")
        return number

    assert await run_safe(dock, style, pool, Work(act), doubt="10s") == 2


async def test_a_broken_connection_to_a_worker_that_is_there_is_raised(dock):
    pool = dock.pool(warm=2, max=2)

    def act(claim, number):
        raise ConnectionResetError("the worker closed the connection")

    work = Work(act)
    with pytest.raises(ConnectionResetError):
        await run_safe(dock, "blocking", pool, work, doubt="300ms")
    assert len(work.claims) == 1


async def test_after_a_commit_an_error_of_the_connection_is_raised_as_it_is_and_at_once(dock):
    pool = dock.pool(warm=2, max=2)

    def act(claim, number):
        claim.commit()
        dock.end(claim.id, EndCause.WORKER_LOST, "its worker is gone")
        raise ConnectionResetError("the worker closed the connection")

    work = Work(act)
    with pytest.raises(ConnectionResetError):
        await run_safe(dock, "blocking", pool, work, doubt="10s")
    assert len(work.claims) == 1


async def test_each_attempt_has_a_key_of_its_own(dock):
    pool = dock.pool(warm=2, max=2)
    await run_safe(dock, "blocking", pool, loses_first(dock, EndCause.DRAINED), key="night")
    found = dock.call(dock.ledger.claims.list(ClaimFilter(pool=pool.split("/")[1]))).items
    assert [claim.idempotency_key for claim in found] == ["night-2", "night"]


@pytest.mark.parametrize("attempts", [0, -1, 1.5, True, None])
def test_a_number_of_attempts_that_makes_no_sense_is_refused(dock, attempts):
    with pytest.raises(InvalidInput, match="attempts"):
        Mooring(dock.url, TOKEN).run_safe("runners/linux", lambda claim: None, owner="acme", attempts=attempts)
