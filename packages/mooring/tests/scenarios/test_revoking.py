"""A claim that an operator takes away: written down before it is done, and its holder is told why."""

import asyncio

import pytest

from mooring.controllers.claims.refusals import ClaimRevoked
from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.records import AuditFilter
from mooring.model.audit import AuditOutcome, AuditRecord
from mooring.model.claim import ClaimState, EndCause
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import NotFound, Unavailable
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

POOL = f"{NAMESPACE}/linux"


async def trail(world: Harbour) -> list[AuditRecord]:
    return list((await world.ledger.audit.list(AuditFilter(kind="Claim"))).items)


async def open_pool(world: Harbour) -> None:
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)


async def test_the_trail_keeps_who_took_a_claim_from_whom_and_why(world):
    desk = world.start().mooring.claims.desk
    await open_pool(world)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await world.clock.sleep(90)
    revoked = await desk.revoke(claim.id, actor="cli/ana", reason="the node is needed")
    assert (revoked.state, revoked.cause, revoked.reason) == (
        ClaimState.RELEASED,
        EndCause.REVOKED,
        "the node is needed (by cli/ana)",
    )
    (row,) = await trail(world)
    assert (row.entry.actor, row.entry.action, row.entry.reason) == ("cli/ana", "release", "the node is needed")
    assert (row.entry.subject.namespace, row.entry.subject.name) == (NAMESPACE, claim.id)
    assert row.outcome is AuditOutcome.DONE
    evidence = row.entry.evidence
    assert evidence == {
        "owner": "acme",
        "pool": POOL,
        "worker": claim.pod_name,
        "state": "running",
        "ageSeconds": evidence["ageSeconds"],
    }
    assert 90 <= evidence["ageSeconds"] < 100
    await world.until_idle(1)


@pytest.mark.parametrize("reason", ["", "  ", "\x1b[31m\0"])
async def test_without_a_reason_an_operator_is_named_and_not_the_holder(world, reason):
    desk = world.start().mooring.claims.desk
    await open_pool(world)
    claim = await desk.claim(POOL, ClaimRequest("acme"))
    assert (await desk.revoke(claim.id, actor="api", reason=reason)).reason == "released by api"


async def test_a_reason_goes_to_the_holder_without_what_could_harm_a_terminal_and_without_secrets(world):
    desk = world.start().mooring.claims.desk
    await open_pool(world)
    claim = await desk.claim(POOL, ClaimRequest("acme"))
    revoked = await desk.revoke(claim.id, actor="api", reason="\x1b[2Jsee\nhere: token=hunter2hunter2")
    assert revoked.reason == "see here: token=*** (by api)"


async def test_what_cannot_be_written_down_is_not_done(world):
    away = False

    def fault(call: LedgerCall) -> Fault:
        return Fault.AWAY if away and call.path == "audit.begin" else Fault.NONE

    desk = world.start(fault=fault).mooring.claims.desk
    await open_pool(world)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    away = True
    with pytest.raises(Unavailable):
        await desk.revoke(claim.id, actor="api", reason="")
    assert (await desk.get(claim.id)).state is ClaimState.RUNNING


async def test_a_holder_s_own_release_leaves_no_row_and_costs_one_statement(world):
    replica = world.start()
    await open_pool(world)
    desk = replica.mooring.claims.desk
    claim = await desk.claim(POOL, ClaimRequest("acme"))
    before = len(replica.ledger.calls)
    released = await desk.release(claim.id, claim.epoch)
    called = [call.path for call in replica.ledger.calls[before:] if call.noun in ("claims", "audit")]
    assert called == ["claims.end"]
    assert released.reason == "released by its holder" and await trail(world) == []


async def test_what_is_over_already_stays_as_it_is_and_is_not_written_down_again(world):
    desk = world.start().mooring.claims.desk
    await open_pool(world)
    claim = await desk.claim(POOL, ClaimRequest("acme"))
    await desk.release(claim.id, claim.epoch)
    again = await desk.revoke(claim.id, actor="api", reason="too late")
    assert (again.cause, again.reason) == (EndCause.RELEASED, "released by its holder")
    assert await trail(world) == []
    with pytest.raises(NotFound):
        await desk.revoke("no-such-claim", actor="api", reason="")


async def test_one_that_waits_is_taken_out_of_the_queue(world):
    desk = world.start().mooring.claims.desk
    await open_pool(world)
    await desk.claim(POOL, ClaimRequest("holder", ttl_seconds=3600))
    waiting = asyncio.create_task(desk.claim(POOL, ClaimRequest("patient", wait=60)))
    await world.clock.sleep(1)
    (queued,) = await world.ledger.claims.queue(NAMESPACE, "linux")
    await desk.revoke(queued.id, actor="api", reason="no room today")
    with pytest.raises(ClaimRevoked, match="no room today"):
        await waiting
    (row,) = await trail(world)
    assert row.entry.evidence["worker"] == "" and row.entry.evidence["state"] == "queued"
