"""What was learnt of demand, refused claims and usage, on both ledgers."""

from datetime import timedelta

import pytest

from mooring.model.claim import EndCause
from packages.mooring.tests.ledger.test_history import gauges, read
from packages.mooring.tests.ledger.worlds import NOW, World, after, claimed, queued, running


async def test_a_model_comes_back_as_it_was_saved_and_an_older_one_does_not_replace_it(world: World) -> None:
    ledger = await world.open()
    assert await ledger.demand.load("ci", "linux") is None
    await ledger.demand.save("ci", "linux", {"until": 10.5, "starts": {"3": 1.0}}, at=after(10))
    await ledger.demand.save("ci", "linux", {"until": 0.0}, at=NOW)
    assert await ledger.demand.load("ci", "linux") == {"until": 10.5, "starts": {"3": 1.0}}
    assert await ledger.demand.load("ci", "windows") is None


async def test_arrivals_are_counted_by_half_second_also_of_claims_that_wait_ended_or_were_refused(world: World) -> None:
    ledger = await world.open()
    await queued(ledger)
    ended = await running(ledger, "b", owner="b")
    await ledger.claims.end(ended.id, ended.epoch, EndCause.RELEASED, now=after(4), reason="done")
    for seconds in (3.2, 3.6, 3.9):  # repeats of one owner count once
        await ledger.demand.refuse("ci", "linux", "hasty", now=after(seconds))
    await ledger.demand.refuse("ci", "linux", "other", now=after(9.9))
    await ledger.demand.refuse("ci", "windows", "other", now=after(1))
    for begin in (0, 10):
        await ledger.history.write([gauges()], since=after(begin), at=after(begin + 10))
    first, second = await read(world)
    assert first.arrivals == {0: 2, 6: 1, 19: 1}
    assert second.arrivals == {}


async def test_old_refusals_and_forgotten_models_are_deleted(world: World) -> None:
    ledger = await world.open()
    await ledger.demand.refuse("ci", "linux", "hasty", now=NOW)
    await ledger.demand.save("ci", "linux", {"until": 1.0}, at=NOW)
    assert await ledger.demand.prune(now=NOW + timedelta(hours=1)) == 0
    assert await ledger.demand.prune(now=NOW + timedelta(days=2)) == 1
    assert await ledger.demand.load("ci", "linux") is not None
    await ledger.demand.prune(now=NOW + timedelta(days=61))
    assert await ledger.demand.load("ci", "linux") is None


async def test_usage_adds_up_by_day_pool_owner_and_state_once_a_sample(world: World) -> None:
    ledger = await world.open()
    await claimed(ledger, "a", owner="acme")
    await claimed(ledger, "b", owner="globex")
    for at in (10, 20, 20):  # a repeat after a lost answer
        await ledger.history.write([gauges()], since=after(at - 10), at=after(at))
    rows = await ledger.usage.read(since=NOW.date(), until=NOW.date())
    found = {(row.owner, row.state): row.seconds for row in rows}
    assert found == {
        ("", "idle"): pytest.approx(40),
        ("acme", "busy"): pytest.approx(20),
        ("globex", "busy"): pytest.approx(20),
    }
    assert await ledger.usage.read(since=NOW.date(), until=NOW.date(), namespaces=["elsewhere"]) == ()
    assert await ledger.usage.prune(before=NOW.date()) == 0
    assert await ledger.usage.prune(before=NOW.date() + timedelta(days=1)) == 3


async def test_live_and_recent_claims_are_counted_by_owner(world: World) -> None:
    ledger = await world.open()
    await claimed(ledger, "a", owner="acme")
    await running(ledger, "b", owner="acme")
    await queued(ledger, owner="globex")
    ended = await running(ledger, "c", owner="initech")
    await ledger.claims.end(ended.id, ended.epoch, EndCause.RELEASED, now=after(9), reason="done")
    assert await ledger.claims.served_by_owner("ci", "linux", since=after(5)) == {"acme": 2, "initech": 1}
    assert await ledger.claims.served_by_owner("ci", "linux", since=after(10)) == {"acme": 2}


async def test_a_queue_limit_by_owner_leaves_other_owners_their_places(world: World) -> None:
    from packages.mooring.tests.ledger.worlds import asked

    ledger = await world.open()
    limits = {"now": NOW, "wait_until": after(60), "queue_limit": 1, "by_owner": True}
    verdicts = [
        (await ledger.claims.insert_queued(asked(owner=owner), **limits)).verdict.value for owner in ("a", "a", "b")
    ]
    assert verdicts == ["created", "queue_full", "created"]
