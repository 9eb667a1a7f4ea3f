"""A node that nobody can reach while its pods run on: no second holder before the first is fenced."""

from typing import Any

import pytest

from hawser.resources import PODS
from mooring.incidents.fakes import SILENT
from mooring.model import names
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"


async def hold_behind_a_partition(world: Harbour, replica: Replica, **wish: Any) -> tuple[Claim, str]:
    """A claim whose node the cluster has just lost, and that node."""
    await world.pool(warm=2, max=6, slots=2, reuse="Always", health={"port": 8000}, protection={"graceSeconds": 5})
    await world.until_idle(2)
    await world.clock.sleep(5)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=80_000, **wish))
    node = (await world.client.get(PODS, claim.pod_name, NAMESPACE)).spec.node_name
    await world.sandbox.fleet.pause(node)

    async def cut_off() -> bool:
        return not replica.mooring.nodes.by_name[node].ready

    await world.until(cut_off, 90, "the node is not Ready")
    return claim, node


@pytest.mark.slow
async def test_a_worker_that_answers_from_behind_a_partition_keeps_its_holder_and_gets_no_other(world):
    replica = world.start()
    desk = replica.mooring.claims.desk
    claim, _ = await hold_behind_a_partition(world, replica)
    for _ in range(10):
        await world.clock.sleep(60)
        beaten = await desk.heartbeat(claim.id, claim.epoch)
        assert (beaten.state, beaten.pod_uid) == (ClaimState.RUNNING, claim.pod_uid)
        for other in [await desk.claim(POOL, ClaimRequest("other", wait=30)) for _ in range(4)]:
            assert other.pod_uid != claim.pod_uid
            await desk.release(other.id, other.epoch)
    assert claim.pod_uid in world.witness.alive


@pytest.mark.parametrize("retryable", fast_first([False, True], 1), ids=["once", "retryable"])
async def test_a_worker_that_is_silent_too_is_given_up_with_its_holder_fenced_before_the_next_one_begins(
    world, retryable
):
    replica = world.start()
    desk = replica.mooring.claims.desk
    claim, node = await hold_behind_a_partition(world, replica, retryable=retryable)
    world.doctor.answers[claim.address] = SILENT

    async def given_up() -> bool:
        row = await desk.get(claim.id)
        if row.state is ClaimState.RUNNING and row.epoch == claim.epoch:
            await desk.heartbeat(claim.id, claim.epoch)
            return False
        with pytest.raises(Conflict):
            await desk.heartbeat(claim.id, claim.epoch)
        return row.state is (ClaimState.RUNNING if retryable else ClaimState.LOST)

    await world.until(given_up, 300, "the claim is given up")
    row = await desk.get(claim.id)
    assert row.pod_uid != claim.pod_uid if retryable else row.ended_at is not None
    world.doctor.answers.clear()
    await world.sandbox.fleet.resume(node)
    await world.clock.sleep(600)
    with pytest.raises(Conflict):
        await desk.heartbeat(claim.id, claim.epoch)
    stamped = {pod.metadata.uid for pod in await world.pods() if names.OWNER in pod.metadata.labels}
    assert stamped == ({row.pod_uid} if retryable else set())
