from mooring.ledger.port import Ledger
from mooring.ledger.records import Channel, Wake
from mooring.model.claim import EndCause
from packages.mooring.tests.ledger.worlds import (
    NOW,
    PostgresWorld,
    World,
    after,
    claimed,
    eventually,
    on,
    queued,
    running,
)


def heard_by(ledger: Ledger, *channels: Channel) -> list[Wake]:
    heard: list[Wake] = []
    for channel in channels:
        ledger.listen(channel, heard.append)
    return heard


async def settle(ledger: Ledger, heard: list[Wake]) -> list[Wake]:
    """Everything heard before a notification of our own: they come in order."""
    await ledger.notify(Channel.INVARIANT, "last")
    await eventually(lambda: Wake(Channel.INVARIANT, "last") in heard)
    return [wake for wake in heard if wake.payload != "last" and not wake.resync]


async def test_another_process_hears_that_a_claim_waits_and_what_becomes_of_it(world: World) -> None:
    one, other = await world.open(), await world.open()
    heard = heard_by(other, Channel.QUEUE, Channel.CLAIM, Channel.INVARIANT)
    claim = await queued(one)
    outcome = await one.claims.bind_next("ci", "linux", on("a"), now=NOW)
    assert outcome is not None
    bound = outcome.require()
    await one.claims.mark_running(bound.id, bound.epoch, now=NOW)
    await one.claims.end(bound.id, bound.epoch, EndCause.RELEASED, now=NOW, reason="")
    assert await settle(one, heard) == [
        Wake(Channel.QUEUE, "ci/linux"),
        Wake(Channel.CLAIM, claim.id),
        Wake(Channel.CLAIM, claim.id),
        Wake(Channel.CLAIM, claim.id),
    ]


async def test_claims_at_the_end_of_a_long_queue_are_not_announced(world: World) -> None:
    """Transactions with NOTIFY commit one after another: thousands of waiting clients would hold up those that bind."""
    ledger = await world.open()
    heard = heard_by(ledger, Channel.QUEUE, Channel.INVARIANT)
    for _ in range(103):
        await queued(ledger)
    assert await settle(ledger, heard) == [Wake(Channel.QUEUE, "ci/linux")] * 100


async def test_the_way_of_an_ordinary_claim_makes_no_noise(world: World) -> None:
    ledger = await world.open()
    heard = heard_by(ledger, *Channel)
    claim = await running(ledger)
    await ledger.claims.heartbeat(claim.id, claim.epoch, now=NOW)
    await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")
    assert await settle(ledger, heard) == []


async def test_a_polling_worker_is_announced_when_its_claim_runs(world: World) -> None:
    ledger = await world.open()
    heard = heard_by(ledger, Channel.DISPATCH, Channel.INVARIANT)
    claim = await claimed(ledger)
    await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW, announce=True)
    assert await settle(ledger, heard) == [Wake(Channel.DISPATCH, "uid-a")]


async def test_a_lost_worker_is_heard_by_those_who_serve_and_those_who_wait(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger, retryable=True)
    heard = heard_by(ledger, Channel.QUEUE, Channel.CLAIM, Channel.INVARIANT)
    await ledger.claims.requeue(
        claim.id, claim.epoch, EndCause.WORKER_LOST, now=NOW, reason="lost", wait_until=after(9)
    )
    await ledger.claims.expire_waiting(now=after(10))
    assert await settle(ledger, heard) == [
        Wake(Channel.QUEUE, "ci/linux"),
        Wake(Channel.CLAIM, claim.id),
        Wake(Channel.CLAIM, claim.id),
    ]


async def test_writes_that_took_no_effect_are_not_heard(world: World) -> None:
    ledger = await world.open()
    heard = heard_by(ledger, Channel.QUEUE, Channel.CLAIM, Channel.INVARIANT)
    claim = await queued(ledger)
    await settle(ledger, heard)
    heard.clear()
    await ledger.claims.end(claim.id, claim.epoch - 1, EndCause.WORKER_LOST, now=NOW, reason="")
    await ledger.claims.bind(claim.id, claim.epoch - 1, on("a"), now=NOW)
    await ledger.claims.requeue(claim.id, claim.epoch, EndCause.WORKER_LOST, now=NOW, reason="", wait_until=None)
    assert await settle(ledger, heard) == []


async def test_a_flipped_switch_is_heard_everywhere(world: World) -> None:
    one, other = await world.open(), await world.open()
    heard = heard_by(other, Channel.INVARIANT)
    await one.invariants.pause("adopted", actor="ann", reason="r", now=NOW)
    assert await settle(one, heard) == [Wake(Channel.INVARIANT, "adopted")]


async def test_who_stopped_listening_hears_nothing(world: World) -> None:
    ledger = await world.open()
    heard: list[Wake] = []
    unlisten = ledger.listen(Channel.QUEUE, heard.append)
    unlisten()
    unlisten()
    marker = heard_by(ledger, Channel.INVARIANT)
    await queued(ledger)
    await settle(ledger, marker)
    assert heard == []


async def test_after_a_lost_connection_everyone_is_told_to_look_at_everything(postgres) -> None:  # type: ignore[no-untyped-def]
    world = PostgresWorld(postgres)
    ledger = await world.open()
    heard = heard_by(ledger, Channel.QUEUE, Channel.INVARIANT)
    await settle(ledger, heard)
    heard.clear()
    await world.cut_connections()
    await eventually(lambda: Wake(Channel.QUEUE, "", resync=True) in heard)
    await queued(ledger)
    await eventually(lambda: Wake(Channel.QUEUE, "ci/linux") in heard)
    await world.close()
