"""Giving back a worker that is not reused, while others write its pod: it goes at once, and only while it is ours."""

import asyncio
from typing import Any

import pytest

from drydock.faults import Answer, Delay, Rule
from hawser.resources import PODS, SERVICEACCOUNTS
from mooring.ledger.records import AuditFilter
from mooring.model import names
from mooring.model.audit import AuditOutcome, AuditRecord
from mooring.model.claim import Claim, ClaimState, NewClaim, WorkerSlot
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica

POOL = f"{NAMESPACE}/linux"
CONFLICT = Answer(409, "Conflict", "the object has been modified")
DELETES = {"methods": frozenset({"DELETE"}), "resource": "pods"}


async def claim_one(world: Harbour, rules: list[Rule], **spec: Any) -> tuple[Replica, Claim]:
    replica = world.start(rules=rules)
    await world.pool(warm=1, max=3, reuse="Never", protection={"graceSeconds": 1}, **spec)
    await world.until_idle(1)
    return replica, await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))


async def deletes(world: Harbour, claim: Claim) -> list[AuditRecord]:
    return list((await world.ledger.audit.list(AuditFilter(action="delete", name=claim.pod_name), limit=10)).items)


async def is_there(world: Harbour, claim: Claim) -> bool:
    return any(pod.metadata.uid == claim.pod_uid and not pod.terminating for pod in await world.pods())


@pytest.mark.parametrize("conflicts", [1, 3])
async def test_a_conflict_is_looked_at_again_at_once_and_stays_one_act(world, conflicts):
    rule = Rule(CONFLICT, **DELETES, times=conflicts)
    replica, claim = await claim_one(world, [rule], serviceAccount="PerWorker")
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    assert not await is_there(world, claim)
    accounts = await world.client.list(SERVICEACCOUNTS, NAMESPACE, label_selector=names.WORKER)
    assert claim.pod_name not in {account.metadata.name for account in accounts.items}
    assert [record.outcome for record in await deletes(world, claim)] == [AuditOutcome.DONE]


async def interfere(world: Harbour, claim: Claim, change: dict[str, Any]) -> None:
    """Write the pod while its deletion is on the way: the conflict is a real one."""
    await world.clock.sleep(0.5)
    await world.client.merge_patch(PODS, claim.pod_name, {"metadata": change}, NAMESPACE)


SLOW = Rule(Delay(1.0), **DELETES, nth=frozenset({1}))


async def test_a_worker_whose_shield_was_taken_down_meanwhile_still_goes(world):
    replica, claim = await claim_one(world, [SLOW])
    lowered = {"labels": {names.BUSY: None}, "annotations": {names.DO_NOT_DISRUPT: None}}
    await asyncio.gather(replica.mooring.claims.desk.release(claim.id, claim.epoch), interfere(world, claim, lowered))
    assert not await is_there(world, claim)
    await world.until_idle(1)


async def test_a_worker_that_carries_another_stamp_by_now_is_left_alone(world):
    replica, claim = await claim_one(world, [SLOW])
    taken = {"annotations": {names.EPOCH: str(claim.epoch + 1), names.CLAIM: "another"}}
    released, _ = await asyncio.gather(
        replica.mooring.claims.desk.release(claim.id, claim.epoch), interfere(world, claim, taken)
    )
    assert released.state is ClaimState.RELEASED
    assert await is_there(world, claim)
    [record] = await deletes(world, claim)
    assert (record.outcome, record.error) == (AuditOutcome.SKIPPED, "it has another stamp now")


async def test_a_worker_whose_other_slot_was_claimed_meanwhile_is_left_alone(world):
    replica, claim = await claim_one(world, [SLOW], slots=2)

    async def claim_the_other_slot() -> None:
        """As another replica does it: its row is there, its stamp not yet."""
        await world.clock.sleep(0.4)
        new = NewClaim(id="other", namespace=NAMESPACE, pool="linux", owner="other", ttl_seconds=3600)
        slot = WorkerSlot(str(claim.pod_name), str(claim.pod_uid), 1)
        (await world.ledger.claims.insert_claimed(new, slot, now=world.clock.now())).require()

    written = {"annotations": {"example.com/seen": "yes"}}
    await asyncio.gather(
        replica.mooring.claims.desk.release(claim.id, claim.epoch),
        claim_the_other_slot(),
        interfere(world, claim, written),
    )
    assert await is_there(world, claim)
    [record] = await deletes(world, claim)
    assert (record.outcome, record.error) == (AuditOutcome.SKIPPED, "another claim holds it now")


async def test_a_pod_that_is_written_without_end_is_left_to_the_invariants(world):
    replica, claim = await claim_one(world, [Rule(CONFLICT, **DELETES, until_seconds=200)])
    world.words.otherwise = False
    before = len(replica.transport.calls)
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    assert len(replica.transport.calls) - before < 20
    assert await is_there(world, claim)
    [record] = await deletes(world, claim)
    assert record.outcome is AuditOutcome.SKIPPED

    async def gone() -> bool:
        return not await is_there(world, claim)

    await world.until(gone, 600, "reaped as a stamp that nobody holds")
