"""Kill switches when the ledger is hard to reach: what was paused stays paused."""

from mooring.ledger.faults import Fault, LedgerCall
from mooring.model.claim import ClaimState
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE


async def test_no_rule_acts_before_the_switches_were_read_and_then_they_are_obeyed(world):
    first = world.start()
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    claim = await first.mooring.claims.desk.claim(f"{NAMESPACE}/linux", ClaimRequest("acme", ttl_seconds=10))
    await first.mooring.switches.pause("claim-alive", actor="me", reason="the holders cannot reach us")
    await first.kill()
    await world.clock.sleep(60)
    unreadable = True

    def fault(call: LedgerCall) -> Fault:
        return Fault.AWAY if unreadable and call.path == "invariants.all" else Fault.NONE

    second = world.start("b", fault=fault).mooring
    await world.clock.sleep(90)
    assert second.leadership.leading
    assert (await second.claims.desk.get(claim.id)).state is ClaimState.RUNNING
    unreadable = False
    await world.clock.sleep(5)
    assert second.switches.known, "read again soon, not at the next regular look"
    await world.clock.sleep(90)
    assert (await second.claims.desk.get(claim.id)).state is ClaimState.RUNNING
    await second.switches.resume("claim-alive", actor="me")
    await world.clock.sleep(60)
    assert (await second.claims.desk.get(claim.id)).state is ClaimState.EXPIRED
