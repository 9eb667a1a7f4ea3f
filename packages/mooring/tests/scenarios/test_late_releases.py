"""Releases that come late: after their worker has gone to others, or after their claim has expired."""

import pytest

from hawser.resources import PODS
from mooring.model import names
from mooring.model.claim import ClaimState
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE

POOL = f"{NAMESPACE}/linux"


@pytest.mark.parametrize("reuse", ["Always", "Never"])
async def test_the_stamp_of_a_silent_session_stays_when_an_earlier_release_is_repeated(world, reuse):
    """Its claim expired, but nothing shows that its work has ended."""
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always", reclaim={"policy": "Keep"})
    await world.until_idle(1)
    first = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=60))
    await desk.release(first.id, first.epoch)
    await world.until_idle(1)
    second = await desk.claim(POOL, ClaimRequest("globex", ttl_seconds=60, wait=60))
    assert second.pod_uid == first.pod_uid
    await world.change({"reuse": reuse})
    await world.clock.sleep(130)
    assert (await desk.get(second.id)).state is ClaimState.EXPIRED
    await desk.release(first.id, first.epoch)
    pod = await world.client.get(PODS, str(second.pod_name), NAMESPACE)
    assert pod.metadata.annotations.get(names.EPOCH) == str(second.epoch)
    assert not pod.terminating


@pytest.mark.parametrize("reuse", ["Always", "Never"])
async def test_a_holder_whose_claim_has_expired_still_gives_its_worker_back(world, reuse):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, reuse=reuse, reclaim={"policy": "Keep"})
    await world.until_idle(1)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=60))
    await world.clock.sleep(1000)
    assert (await desk.get(claim.id)).state is ClaimState.EXPIRED
    assert (await world.pods())[0].metadata.annotations.get(names.EPOCH) == str(claim.epoch)
    assert (await desk.release(claim.id, claim.epoch)).state is ClaimState.EXPIRED
    await world.until_idle(1)
    [pod] = await world.pods()
    assert (pod.metadata.uid == claim.pod_uid) is (reuse == "Always")
