"""Stamps that arrive late, out of a cut connection: when their claim has gone on, or is over."""

import asyncio
import contextlib

import pytest

from drydock.faults import ArriveLate, Crash, Delay, Rule
from hawser.errors import KubeError
from hawser.resources import PODS
from mooring.ledger.records import AuditFilter
from mooring.model import names
from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour
from packages.mooring.tests.scenarios.leaks import stamped

POOL = f"{NAMESPACE}/linux"
LATE_SECONDS = 20.0
HEALED_WITHIN = 500.0
STAMPS = {"methods": frozenset({"PATCH"}), "path": r"/pods/[^/]+$"}
ASKED = ClaimRequest("acme", ttl_seconds=3600, idempotency_key="k")


def late(*which: int, seconds: float = LATE_SECONDS) -> Rule:
    return Rule(ArriveLate(seconds), nth=frozenset(which), **STAMPS)


async def until_healed(world: Harbour) -> float:
    async def healed() -> bool:
        return not await stamped(world)

    return await world.until(healed, HEALED_WITHIN, "no stamps")


async def taken_up_and_released(world: Harbour) -> Claim:
    """The first replica's stamp is on its way when it dies; the second one completes the claim on the same worker."""
    first = world.start("first", [late(1), Rule(Crash("before"), nth=frozenset({2}), **STAMPS)])
    second = world.start("second")
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    with contextlib.suppress(BaseException):
        await asyncio.wait_for(first.mooring.claims.desk.claim(POOL, ASKED), 5)
    await first.kill()
    await world.clock.sleep(6)
    claim = await second.mooring.claims.desk.claim(POOL, ASKED)
    assert claim.state is ClaimState.RUNNING and claim.previous_epoch is not None
    await second.mooring.claims.desk.release(claim.id, claim.epoch)
    return claim


async def epoch_of(world: Harbour, claim: Claim) -> str | None:
    pod = await world.client.get(PODS, str(claim.pod_name), NAMESPACE)
    return pod.metadata.annotations.get(names.EPOCH)


async def test_a_stamp_of_an_older_epoch_that_arrives_after_the_release_heals(world):
    claim = await taken_up_and_released(world)
    assert await epoch_of(world, claim) is None
    await world.clock.sleep(LATE_SECONDS)
    assert await epoch_of(world, claim) == str(claim.previous_epoch)
    await until_healed(world)
    await world.until_idle(1)
    page = await world.ledger.audit.list(AuditFilter(action="delete-worker", name=claim.pod_name), limit=2)
    [record] = page.items
    assert f"holder: it released the worker under the later epoch {claim.epoch}" in str(record.entry.evidence["proofs"])


async def test_a_stamp_of_a_claim_that_failed_arrives_late_and_its_worker_returns(world):
    replica = world.start(rules=[late(1, 2, 3)])
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    (pod,) = await world.pods()
    with pytest.raises(KubeError):
        await replica.mooring.claims.desk.claim(POOL, ASKED)
    assert not await stamped(world)
    await world.clock.sleep(LATE_SECONDS + 5)
    assert await stamped(world)
    await until_healed(world)
    await world.until_idle(1)
    assert [one.metadata.uid for one in await world.pods()] == [pod.metadata.uid]


async def test_a_stamp_that_is_answered_late_does_not_free_a_worker_that_a_later_session_did_not_give_back(world):
    replica = world.start(rules=[Rule(Delay(LATE_SECONDS), nth=frozenset({1}), **STAMPS)])
    desk = replica.mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    slow = asyncio.create_task(desk.claim(POOL, ASKED))
    await world.clock.sleep(1)
    [row] = (await world.ledger.claims.live()).claims
    await desk.revoke(row.id, actor="ann", reason="a test")
    hidden = await desk.claim(POOL, ClaimRequest("hidden", ttl_seconds=30))
    ended = await world.ledger.claims.expire(
        hidden.id, hidden.epoch, EndCause.EXPIRED, heartbeat_at=hidden.heartbeat_at, now=world.clock.now(), reason=""
    )
    assert ended.applied
    with pytest.raises(Conflict):
        await slow
    assert await epoch_of(world, hidden) == str(row.epoch), "the late stamp names the claim that was revoked"
    await world.clock.sleep(2 * HEALED_WITHIN)
    assert await stamped(world)


async def test_a_stamp_that_arrives_late_does_not_free_a_worker_that_a_later_session_did_not_give_back(world):
    replica = world.start(rules=[late(1, 2, 3, seconds=120)])
    desk = replica.mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    with pytest.raises(KubeError):
        await desk.claim(POOL, ASKED)
    hidden = await desk.claim(POOL, ClaimRequest("hidden", ttl_seconds=30))
    await world.clock.sleep(130)
    assert (await desk.get(hidden.id)).state is ClaimState.EXPIRED
    assert int(await epoch_of(world, hidden) or 0) < hidden.epoch, "the late stamp names the claim that failed"
    await world.clock.sleep(2 * HEALED_WITHIN)
    assert await stamped(world)
