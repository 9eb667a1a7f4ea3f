"""When a control plane dies or falls asleep another one takes over, and what the first still tries is refused."""

import pytest

from hawser.resources import PODS
from mooring.engine.audit import DONE, Result
from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.records import AuditFilter
from mooring.model.audit import Subject
from mooring.model.claim import ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import StaleEpoch
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Replica, harbour

POOL = f"{NAMESPACE}/linux"


async def act(replica: Replica) -> None:
    """Something destructive that a leader might still be about to do."""

    async def nothing() -> Result:
        return DONE

    await replica.mooring.context.auditor.carry_out(
        nothing, actor="invariant/warm-floor", action="delete", subject=Subject("Pod", "", "x"), reason="", evidence={}
    )


async def test_the_successor_ends_the_epoch_of_the_dead_one_before_it_acts_and_says_so(world):
    first = world.start("first")
    await world.pool(warm=2, max=4, reuse="Always")
    await world.until_idle(2)
    claim = await first.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    second = world.start("second")
    await world.clock.sleep(12)
    assert not second.mooring.leadership.leading
    await first.kill()
    await world.client.delete(PODS, "linux-1" if claim.pod_name == "linux-0" else "linux-0", NAMESPACE)

    async def leads() -> bool:
        return second.mooring.leadership.leading

    assert await world.until(leads, 40, "the second leads") <= 26
    rows = (await world.ledger.audit.list(AuditFilter(action="adopt"))).items
    assert [(row.entry.subject.name, row.outcome) for row in rows] == [("first", "done")]
    replicas = {replica.id: replica for replica in await world.ledger.replicas.all()}
    assert replicas["first"].left_at is not None and replicas["first"].epoch < replicas["second"].epoch
    await world.clock.sleep(20)
    kept = await world.ledger.claims.get(claim.id)
    assert kept is not None and kept.state is ClaimState.RUNNING
    await second.mooring.switches.refresh()
    rule = second.mooring.queries.fleet.invariant("adopted")
    assert (rule.state, rule.healed) == ("holds", 1)


async def test_a_replica_that_slept_through_its_succession_can_do_nothing_more():
    """Its ledger hangs for half a minute, in the middle of whatever it did."""

    asleep = False

    def fault(_: LedgerCall) -> Fault:
        return Fault.AWAY if asleep else Fault.NONE

    async with harbour() as world:
        first = world.start("first", fault=fault)
        await world.pool(warm=1, max=2)
        await world.until_idle(1)
        second = world.start("second")
        await world.clock.sleep(12)
        await act(first)
        epoch = first.mooring.leadership.epoch
        asleep = True
        await world.clock.sleep(30)
        assert second.mooring.leadership.leading
        asleep = False
        with pytest.raises(StaleEpoch):
            await act(first)
        await world.clock.sleep(12)
        assert first.mooring.leadership.epoch > epoch, "it registered anew"
        assert second.mooring.leadership.leading and not first.mooring.leadership.leading
        with pytest.raises(StaleEpoch):
            await act(first)
        await act(second)


async def test_switched_off_nobody_takes_over(world):
    await world.pause(["adopted"])
    first = world.start("first")
    await world.pool(warm=1, max=2)
    await world.until_idle(1)
    second = world.start("second")
    await world.clock.sleep(12)
    await first.kill()
    await world.clock.sleep(120)
    assert not second.mooring.leadership.leading
    assert (await world.ledger.invariants.all())["adopted"].broken == 1


async def test_a_replica_that_leaves_in_good_order_is_followed_at_once(world):
    first = world.start("first")
    await world.pool(warm=1, max=2)
    await world.until_idle(1)
    second = world.start("second")
    await world.clock.sleep(12)
    await first.mooring.stop()
    await world.clock.sleep(6)
    assert second.mooring.leadership.leading
    assert not (await world.ledger.audit.list(AuditFilter(action="adopt"))).items
