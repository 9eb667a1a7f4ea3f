"""Signs of life of clients whose claims wait."""

import asyncio

from mooring.ledger.records import Channel, WaitingSign, Wake
from mooring.model.claim import ClaimState, EndCause, Verdict
from packages.mooring.tests.ledger.worlds import NOW, World, after, claimed, eventually, on, queued, running


async def sign_of(ledger, claim) -> WaitingSign | None:
    return next((sign for sign in await ledger.claims.waiting() if sign.claim == claim.id), None)


async def test_a_sign_of_life_is_kept_for_queued_claims_only(world: World) -> None:
    ledger = await world.open()
    waiting, held = await queued(ledger), await claimed(ledger)
    assert await ledger.claims.waiting() == (WaitingSign(waiting.id, waiting.epoch, None),)
    await ledger.claims.attend([held.id, waiting.id, "nobody"], now=after(3))
    assert await ledger.claims.waiting() == (WaitingSign(waiting.id, waiting.epoch, after(3)),)
    assert await ledger.claims.get(waiting.id) == waiting


async def test_every_sign_changes_the_last_one_also_when_the_clock_is_set_back(world: World) -> None:
    ledger = await world.open()
    waiting, seen = await queued(ledger), []
    for moment in (after(10), after(10), after(-100), after(20)):
        await ledger.claims.attend([waiting.id], now=moment)
        sign = await sign_of(ledger, waiting)
        assert sign is not None
        seen.append(sign.seen_at)
    assert len(set(seen)) == 4 and seen == sorted(seen) and seen[-1] == after(20)


async def test_replicas_write_signs_of_the_same_claims_at_once(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    ids = [(await queued(processes[0])).id for _ in range(20)]
    orders = (ids, ids[::-1], ids[10:] + ids[:10])
    await asyncio.gather(
        *(
            ledger.claims.attend(ids, now=after(n))
            for n in range(5)
            for ledger, ids in zip(processes, orders, strict=True)
        )
    )
    assert all(sign.seen_at is not None for sign in await processes[0].claims.waiting())


async def test_a_detached_claim_and_one_that_ran_need_no_client(world: World) -> None:
    ledger = await world.open()
    detached = await queued(ledger, detached=True)
    assert detached.detached
    ran = await running(ledger, retryable=True)
    again = (
        await ledger.claims.requeue(
            ran.id, ran.epoch, EndCause.WORKER_LOST, now=after(1), reason="its worker is gone", wait_until=None
        )
    ).require()
    assert await ledger.claims.waiting() == ()
    for claim in (detached, again):
        outcome = await ledger.claims.abandon(WaitingSign(claim.id, claim.epoch, None), now=after(60), reason="gone")
        assert outcome.verdict is Verdict.REFUSED


async def test_an_abandoned_claim_expires_and_frees_its_key(world: World) -> None:
    ledger = await world.open()
    heard: list[Wake] = []
    ledger.listen(Channel.CLAIM, heard.append)
    waiting = await queued(ledger, idempotency_key="build-1", payload={"secret": 1})
    await ledger.claims.attend([waiting.id], now=after(3))
    sign = await sign_of(ledger, waiting)
    assert sign is not None
    ended = (await ledger.claims.abandon(sign, now=after(30), reason="its client is gone")).require()
    assert (ended.state, ended.cause, ended.reason) == (ClaimState.EXPIRED, EndCause.ABANDONED, "its client is gone")
    assert (ended.ended_at, ended.payload, ended.idempotency_key) == (after(30), None, None)
    await eventually(lambda: Wake(Channel.CLAIM, waiting.id) in heard)
    assert (await queued(ledger, idempotency_key="build-1")).id != waiting.id


async def test_a_client_that_was_heard_of_since_is_not_abandoned(world: World) -> None:
    ledger = await world.open()
    waiting = await queued(ledger)
    before = await sign_of(ledger, waiting)
    assert before is not None
    await ledger.claims.attend([waiting.id], now=after(20))
    assert (await ledger.claims.abandon(before, now=after(21), reason="gone")).verdict is Verdict.REFUSED
    now = await sign_of(ledger, waiting)
    bound = await ledger.claims.bind_next("ci", "linux", on("a"), now=after(22))
    assert bound is not None and now is not None
    assert (await ledger.claims.abandon(now, now=after(23), reason="gone")).verdict is Verdict.STALE
    assert (await ledger.claims.abandon(WaitingSign("nobody", 1, None), now=NOW, reason="")).verdict is Verdict.MISSING


async def test_claims_that_are_to_be_skipped_are_not_bound(world: World) -> None:
    ledger = await world.open()
    first, second = await queued(ledger, priority=9), await queued(ledger)
    outcome = await ledger.claims.bind_next("ci", "linux", on("a"), now=NOW, skip=[first.id])
    assert outcome is not None and outcome.require().id == second.id
    assert await ledger.claims.bind_next("ci", "linux", on("b"), now=NOW, skip=[first.id]) is None
    outcome = await ledger.claims.bind_next("ci", "linux", on("b"), now=NOW)
    assert outcome is not None and outcome.require().id == first.id


async def test_a_claim_that_waited_is_untaken_until_somebody_is_heard_of(world: World) -> None:
    ledger = await world.open()
    waiting = await queued(ledger, idempotency_key="build-2")
    bound = await ledger.claims.bind_next("ci", "linux", on("a"), now=after(1))
    assert bound is not None and not bound.require().untaken
    started = (await ledger.claims.mark_running(waiting.id, bound.require().epoch, now=after(2))).require()
    assert started.untaken and not (await running(ledger, "b")).untaken
    given = {"heartbeat_at": started.heartbeat_at, "now": after(30), "reason": "nobody took it"}
    beaten = (await ledger.claims.heartbeat(started.id, started.epoch, now=after(2))).require()
    assert not beaten.untaken
    refused = await ledger.claims.expire(started.id, started.epoch, EndCause.ABANDONED, **given)
    assert refused.verdict is Verdict.REFUSED
    given["heartbeat_at"] = beaten.heartbeat_at
    ended = (await ledger.claims.expire(started.id, started.epoch, EndCause.ABANDONED, **given)).require()
    assert (ended.state, ended.cause, ended.idempotency_key) == (ClaimState.EXPIRED, EndCause.ABANDONED, None)


async def test_a_revoked_holder_is_announced_and_an_ordinary_release_is_not(world: World) -> None:
    ledger = await world.open()
    heard: list[str] = []
    ledger.listen(Channel.CLAIM, lambda wake: heard.append(wake.payload))
    released, revoked = await running(ledger, "a"), await running(ledger, "b")
    await ledger.claims.end(released.id, released.epoch, EndCause.RELEASED, now=after(1), reason="")
    await ledger.claims.end(revoked.id, revoked.epoch, EndCause.REVOKED, now=after(1), reason="needed")
    await eventually(lambda: revoked.id in heard)
    assert released.id not in heard


async def test_signs_go_with_their_claims(world: World) -> None:
    ledger = await world.open()
    waiting = await queued(ledger, id="kept-no-longer")
    await ledger.claims.attend([waiting.id], now=after(1))
    await ledger.claims.end(waiting.id, waiting.epoch, EndCause.WAIT_OVER, now=after(2), reason="")
    assert await ledger.claims.prune(ended_before=after(3)) == 1
    again = await queued(ledger, id="kept-no-longer")
    assert await ledger.claims.waiting() == (WaitingSign(again.id, again.epoch, None),)
