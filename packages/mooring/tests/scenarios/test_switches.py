"""Kill switches when the ledger is hard to reach: what was paused stays paused."""

from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.records import AuditFilter
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


async def test_a_reason_steers_no_terminal_wherever_it_is_shown(world):
    replica = world.start()
    reason, shown = "\x1b[31mred\x1b]0;title\x07\n2026 [info] forged\u202e password=hunter2", "red 2026 [info] forged"
    commands = replica.mooring.invariant_commands
    await commands.pause("adopted", "me", reason)
    [paused] = [one for one in replica.mooring.queries.fleet.invariants() if one.id == "adopted"]
    assert paused.pause_reason.startswith(shown) and "hunter2" not in paused.pause_reason
    await commands.resume("adopted", "me", reason)
    await commands.arm(world.ledger.incarnation.id, "me", reason)
    rows = (await world.ledger.audit.list(AuditFilter())).items
    assert [row.entry.action for row in rows] == ["arm", "resume", "pause"]
    for row in rows:
        assert row.entry.reason.startswith(shown) and row.entry.reason.isprintable()
        assert "hunter2" not in row.entry.reason
