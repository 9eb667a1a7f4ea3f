from mooring.ledger.records import Revocation
from mooring.model.claim import Claim, EndCause
from packages.mooring.tests.ledger.worlds import NOW, World, after, running

MINT = {"url": "http://mint/", "revokeURL": "http://mint/revoke"}


def intent(claim: Claim, **changes: object) -> Revocation:
    values = {"claim_id": claim.id, "namespace": "ci", "pool": "linux", "mint": MINT, "next_at": NOW}
    return Revocation(**(values | changes))  # type: ignore[arg-type]


async def test_a_revocation_is_due_when_its_claim_has_ended_and_not_before(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    await ledger.revocations.intend(intent(claim))
    assert await ledger.revocations.take(now=after(1), until=after(60)) == ()
    await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=after(2), reason="")
    [due] = await ledger.revocations.take(now=after(3), until=after(60))
    assert due == intent(claim, tries=1, next_at=after(60))


async def test_a_try_is_reserved_for_one_process_and_comes_back_if_that_dies(world: World) -> None:
    one, other = await world.open(), await world.open()
    claim = await running(one)
    await one.revocations.intend(intent(claim))
    await one.claims.end(claim.id, claim.epoch, EndCause.EXPIRED, now=NOW, reason="")
    assert len(await one.revocations.take(now=after(1), until=after(60))) == 1
    assert await other.revocations.take(now=after(59), until=after(120)) == ()
    [again] = await other.revocations.take(now=after(60), until=after(120))
    assert again.tries == 2


async def test_a_failed_try_is_postponed_and_a_settled_one_is_gone(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    await ledger.revocations.intend(intent(claim))
    await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")
    await ledger.revocations.take(now=after(1), until=after(60))
    await ledger.revocations.postpone(claim.id, next_at=after(10))
    assert await ledger.revocations.take(now=after(9), until=after(60)) == ()
    assert [one.tries for one in await ledger.revocations.take(now=after(10), until=after(60))] == [2]
    await ledger.revocations.settle(claim.id)
    assert await ledger.revocations.take(now=after(100), until=after(160)) == ()


async def test_the_intent_of_a_later_attempt_keeps_the_tries_and_takes_the_newer_mint(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    await ledger.revocations.intend(intent(claim))
    newer = {**MINT, "revokeURL": "http://mint/v2/revoke"}
    await ledger.revocations.intend(intent(claim, mint=newer, next_at=after(500)))
    await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")
    [due] = await ledger.revocations.take(now=after(1), until=after(60))
    assert (due.mint, due.tries) == (newer, 1)


async def test_what_a_pruned_claim_left_is_still_revoked(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    await ledger.revocations.intend(intent(claim))
    await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")
    await ledger.claims.prune(ended_before=after(1))
    assert len(await ledger.revocations.take(now=after(2), until=after(60))) == 1
