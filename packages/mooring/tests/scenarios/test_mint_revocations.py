"""Credentials are revoked when their claim has ended: for every cause, and wherever a control plane died."""

import asyncio
import contextlib
from typing import Any

import pytest

from hawser.resources import PODS
from mooring.controllers.claims import revocations
from mooring.controllers.claims.mint import MintFailed
from mooring.controllers.claims.revocations import MOST_TRIES
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.faults import Fault
from mooring.ledger.records import AuditFilter
from mooring.model.audit import AuditOutcome, AuditRecord
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"
SHOWN = "http://127.0.0.1:1/revoke"
REVOKE = "http://me:secret@127.0.0.1:1/revoke?key=secret"
MINT = {"url": "http://127.0.0.1:1/mint", "timeoutSeconds": 4, "revokeURL": REVOKE}


async def open_pool(world: Harbour, **spec: Any) -> None:
    await world.pool(**{"warm": 2, "max": 4, "mint": MINT, "protection": {"graceSeconds": 1}, **spec})
    await world.until_idle(2)


async def claim_one(world: Harbour, **wish: Any) -> tuple[Replica, Claim]:
    replica = world.start()
    await open_pool(world)
    return replica, await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", **wish))


async def trail(world: Harbour) -> list[AuditRecord]:
    return list((await world.ledger.audit.list(AuditFilter(action="revoke"))).items)


async def until_revoked(world: Harbour, within: float = 15.0) -> None:
    async def holds() -> bool:
        return not world.mint.alive

    await world.until(holds, within, "every credential is revoked")


async def test_a_released_claim_is_revoked_once_with_a_row_in_the_audit(world):
    replica, claim = await claim_one(world)
    await world.clock.sleep(30)
    assert world.mint.revoked == []
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await until_revoked(world)
    await world.clock.sleep(300)
    assert world.mint.revoked == [(REVOKE, claim.id)]
    [row] = await trail(world)
    assert (row.outcome, row.entry.evidence["url"], row.entry.subject.name) == (AuditOutcome.DONE, SHOWN, claim.id)


async def test_a_claim_that_expires_or_is_revoked_by_an_operator_is_revoked_too(world):
    replica, expiring = await claim_one(world, ttl_seconds=20)
    taken = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("globex", ttl_seconds=3600))
    await replica.mooring.claims.desk.revoke(taken.id, actor="ann", reason="maintenance")
    await until_revoked(world, 120)
    assert {claim for _, claim in world.mint.revoked} == {expiring.id, taken.id}


async def test_a_mint_that_does_not_answer_may_have_made_something_and_is_asked_to_revoke(world):
    replica = world.start()
    await open_pool(world)
    world.mint.hanging = True
    with pytest.raises(MintFailed):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    await world.clock.sleep(10)
    assert len(world.mint.revoked) == 1


async def test_a_pool_without_a_revoke_url_calls_nobody(world):
    replica = world.start()
    await open_pool(world, mint={"url": MINT["url"]})
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.clock.sleep(60)
    assert world.mint.revoked == [] and await trail(world) == []


async def test_a_failing_revocation_is_repeated_with_pauses_until_it_succeeds(world):
    replica, claim = await claim_one(world)
    world.mint.refusing = 4
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.clock.sleep(8)
    [row] = await trail(world)
    assert row.outcome is AuditOutcome.PENDING
    await until_revoked(world, 200)
    assert len(world.mint.revoked) == 5
    assert [row.outcome for row in await trail(world)] == [AuditOutcome.DONE]


@pytest.mark.slow
async def test_a_mint_that_never_answers_is_given_up_with_evidence(world, monkeypatch):
    monkeypatch.setattr(revocations, "LONGEST_PAUSE_SECONDS", 60.0)
    replica, claim = await claim_one(world)
    world.mint.refusing = 1000
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.clock.sleep(1800)
    assert len(world.mint.revoked) == MOST_TRIES
    [row] = await trail(world)
    assert row.outcome is AuditOutcome.FAILED
    assert row.error == f"given up after {MOST_TRIES} tries: the mint is closed"


async def test_the_revocation_outlives_its_pool(world):
    replica, claim = await claim_one(world)
    world.mint.refusing = 2
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.client.delete(WORKERPOOLS, "linux", NAMESPACE)
    await until_revoked(world, 120)
    assert world.mint.revoked[-1] == (REVOKE, claim.id)


async def test_a_corrected_url_is_used_by_the_next_call(world):
    replica, claim = await claim_one(world)
    world.mint.refusing = 1
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.clock.sleep(6)
    await world.change({"mint": {"revokeURL": "http://127.0.0.1:1/right"}})
    await until_revoked(world, 60)
    assert [url for url, _ in world.mint.revoked] == [REVOKE, "http://127.0.0.1:1/right"]


async def test_a_requeued_claim_is_minted_anew_for_its_next_worker_and_revoked_at_its_end(world):
    replica, claim = await claim_one(world, ttl_seconds=3600, retryable=True, payload={"command": ["make"]})
    desk = replica.mooring.claims.desk
    world.mint.hanging = True  # the second mint does not answer: what the next worker may see is only the client's
    await world.client.delete(PODS, claim.pod_name, NAMESPACE, grace_seconds=0)

    async def second_worker() -> bool:
        return (await desk.get(claim.id)).attempt == 2

    await world.until(second_worker, 900, "bound to another worker")
    waiting = await desk.get(claim.id)
    assert waiting.session_payload == {"command": ["make"]} and waiting.pod_uid != claim.pod_uid
    assert world.mint.revoked == []
    await world.clock.sleep(30)
    assert (await desk.get(claim.id)).state is ClaimState.FAILED
    assert world.mint.revoked == [(REVOKE, claim.id)]


@pytest.mark.parametrize(
    "crash",
    fast_first(
        ["after the mint", "before the revocation", "before the mint", "after running", "after the end", "after it"], 2
    ),
)
async def test_a_crash_at_any_moment_leaves_no_credentials_behind(world, crash):
    moments = {
        "before the mint": ("revocations.intend", Fault.CRASH_AFTER),
        "after the mint": ("claims.mark_running", Fault.CRASH_BEFORE),
        "after running": ("claims.mark_running", Fault.CRASH_AFTER),
        "after the end": ("claims.end", Fault.CRASH_AFTER),
        "before the revocation": ("audit.begin", Fault.CRASH_AFTER),
        "after it": ("revocations.settle", Fault.CRASH_BEFORE),
    }
    path, fault = moments[crash]
    armed = False

    def dies(call: Any) -> Fault:
        return fault if armed and call.path == path else Fault.NONE

    first = world.start("first", fault=dies)
    await open_pool(world, reuse="Always")
    armed = True
    with contextlib.suppress(BaseException):
        async with asyncio.timeout(30):
            claim = await first.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=60))
            await first.mooring.claims.desk.release(claim.id, claim.epoch)
            await world.clock.sleep(20)
    await first.kill()
    world.words.otherwise = False
    world.start("second")
    await world.clock.sleep(900)
    assert world.mint.alive == set()
    assert [row.outcome for row in await trail(world)] == [AuditOutcome.DONE]


async def test_two_replicas_revoke_once(world):
    replica, claim = await claim_one(world)
    world.start("b")
    await world.clock.sleep(20)
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.clock.sleep(120)
    assert world.mint.revoked == [(REVOKE, claim.id)]
