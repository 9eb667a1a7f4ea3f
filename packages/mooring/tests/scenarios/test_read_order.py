"""What changes between two reads of one decision, or while nobody could be heard, is never held against a worker."""

import pytest

from drydock.faults import Answer, Rule
from hawser.resources import PODS
from hawser.views import Pod
from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.port import Ledger
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"
LONGEST_TTL = 600


async def claim_one(replica: Replica, ttl: int = 3600) -> Claim:
    return await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=ttl))


class InBetween:
    """Makes a claim just before the occupancy of a pool is read: after the workers were, if the order is right."""

    def __init__(self, claims: object, replica: Replica) -> None:
        self._claims = claims
        self._replica = replica
        self.made: Claim | None = None
        self.armed = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._claims, name)

    async def occupancy(self, namespace: str, pool: str) -> object:
        if self.armed:
            self.armed = False
            self.made = await claim_one(self._replica)
            await self._replica.mooring.context.clock.sleep(1)  # its watch shows the stamp by now
        return await self._claims.occupancy(namespace, pool)  # type: ignore[attr-defined]


async def test_a_worker_that_is_claimed_between_the_two_reads_of_a_pass_is_not_taken_for_idle(world):
    """Workers are read before claims. The other way round, the pass would see a stamp and no claim."""
    replica = world.start()
    await world.pool(warm=1, max=3, reuse="Always", protection={"graceSeconds": 1})
    await world.until_idle(1)
    ledger: Ledger = replica.mooring.context.ledger
    between = InBetween(ledger.claims, replica)
    object.__setattr__(replica.mooring.context.platform.ledger, "claims", between)
    snapshots = replica.mooring.pools._reconciler._snapshots  # type: ignore[attr-defined]
    between.armed = True
    pool = replica.mooring.fleet.pool(POOL)
    snapshot = await snapshots.take(pool)
    assert between.made is not None
    [worker] = [one for one in snapshot.workers if one.uid == between.made.pod_uid]
    assert worker.stamp is None, "the workers are as they were before the claim"
    assert snapshot.held == {between.made.pod_uid: 1}, "and the claim is seen"


@pytest.mark.slow
@pytest.mark.parametrize("nouns", fast_first(["claims", "all"], 1))
@pytest.mark.parametrize("ttl", fast_first([30, LONGEST_TTL], 1))
async def test_after_the_ledger_was_away_for_longer_than_every_ttl_nobody_expires_who_beats_again(ttl, nouns):
    away = False

    def fault(call: LedgerCall) -> Fault:
        return Fault.AWAY if away and nouns in (call.noun, "all") else Fault.NONE

    async with harbour() as world:
        replica = world.start(fault=fault)
        await world.pool(warm=3, max=6, reuse="Always")
        await world.until_idle(3)
        claims = [await claim_one(replica, ttl) for _ in range(3)]
        await _beat(replica, claims)
        away = True
        await world.clock.sleep(2 * LONGEST_TTL)
        away = False
        await world.clock.sleep(ttl - 10)  # as long as each may be silent
        await _beat(replica, claims)
        await world.clock.sleep(15)
        for claim in claims:
            row = await world.ledger.claims.get(claim.id)
            assert row is not None and row.state is ClaimState.RUNNING
        await world.clock.sleep(ttl + 30)
        states = {(await world.ledger.claims.get(claim.id)).state for claim in claims}
        assert states == {ClaimState.EXPIRED}, "who is silent from then on does"


async def _beat(replica: Replica, claims: list[Claim]) -> None:
    for claim in claims:
        await replica.mooring.claims.desk.heartbeat(claim.id, claim.epoch)


async def test_a_pod_under_the_name_of_a_claimed_one_does_not_pass_for_it(world):
    """What is reported live is the uid, not the name."""
    replica = world.start()
    await world.pool(warm=1, max=1, reuse="Always", protection={"graceSeconds": 1})
    await world.until_idle(1)
    claim = await claim_one(replica)
    await world.client.delete(PODS, claim.pod_name, NAMESPACE, grace_seconds=0)

    async def replaced() -> bool:
        found = [pod for pod in await world.pods() if pod.metadata.name == claim.pod_name and pod.ready]
        return bool(found) and found[0].metadata.uid != claim.pod_uid

    await world.until(replaced, 60, "another pod has the name")

    async def lost() -> bool:
        row = await world.ledger.claims.get(claim.id)
        return row is not None and row.state is ClaimState.LOST

    await world.until(lost, 700, "the claim is lost with its pod")
    heir = await claim_one(replica)
    assert heir.pod_name == claim.pod_name and heir.pod_uid != claim.pod_uid and heir.epoch > claim.epoch


async def test_a_worker_of_a_pool_of_the_same_name_that_is_gone_is_not_counted(world: Harbour):
    """The pool is known by its uid: workers of its predecessor are no workers of it."""
    replica = world.start()
    await world.pool(warm=1, max=2)
    await world.until_idle(1)
    old = (await world.pods())[0]
    owner = [{**_as_owner(old), "uid": "0" * 8 + "-0000-4000-8000-" + "0" * 12}]
    meta = {"name": "linux-1", "labels": dict(old.metadata.labels), "ownerReferences": owner}
    container = {"name": "main", "image": "worker"}
    await world.client.create(PODS, {"metadata": meta, "spec": {"containers": [container]}}, NAMESPACE)
    await world.clock.sleep(2)
    snapshots = replica.mooring.pools._reconciler._snapshots  # type: ignore[attr-defined]
    snapshot = await snapshots.take(replica.mooring.fleet.pool(POOL))
    assert [worker.uid for worker in snapshot.workers] == [old.metadata.uid]


def _as_owner(pod: Pod) -> dict[str, object]:
    owner = pod.metadata.owner_references[0]
    return {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "controller": True}


async def test_a_live_look_that_fails_does_not_prove_that_a_pod_is_gone():
    unread = Rule(Answer(500, "InternalError"), path="/pods/linux-", methods=frozenset({"GET"}), until_seconds=1000)
    async with harbour() as world:
        replica = world.start(rules=[unread])
        await world.pool(warm=2, max=3, reuse="Always", protection={"graceSeconds": 1})
        await world.until_idle(2)
        claim = await claim_one(replica, 80_000)
        await world.client.delete(PODS, claim.pod_name, NAMESPACE, grace_seconds=0)
        await world.clock.sleep(900)
        row = await world.ledger.claims.get(claim.id)
        assert row is not None and row.state is ClaimState.RUNNING
        await world.clock.sleep(200)
        row = await world.ledger.claims.get(claim.id)
        assert row is not None and row.state is ClaimState.LOST
