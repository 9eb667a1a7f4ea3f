"""Workers on nodes that are on their way out: no new session on any path, idle ones move, busy ones finish."""

import asyncio
from typing import Any

import pytest

from drydock import DrainPolicy, Drift
from drydock.faults import LagEvents, Rule
from hawser.resources import NODES, PODS
from mooring.controllers.claims.dispatch import WorkerDraining
from mooring.controllers.claims.refusals import NoIdleWorker
from mooring.kinds.karpenter import NODECLAIMS
from mooring.model.claim import ClaimState
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.autoscaler import install_karpenter, node_claim
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

POOL = f"{NAMESPACE}/linux"
TAINTS = [
    "karpenter.sh/disrupted",
    "ToBeDeletedByClusterAutoscaler",
    "node.kubernetes.io/out-of-service",
]


async def mark(world: Harbour, node: str, taint: str) -> None:
    """A taint; the empty one stands for a cordon."""
    spec: dict[str, Any] = {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {"unschedulable": True}
    await world.client.merge_patch(NODES, node, {"spec": spec})


@pytest.mark.parametrize("taint", ["", *TAINTS])
@pytest.mark.world(nodes=1)
async def test_a_worker_on_a_node_that_goes_gets_no_new_session_and_one_on_a_node_that_stays_after_all_does(
    world, taint
):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    await world.pause(["warm-floor"])  # else the idle worker is retired
    await world.clock.sleep(1)
    await mark(world, "node-1", taint)
    await world.clock.sleep(1)
    assert (await world.status())["draining"] == 1
    with pytest.raises(NoIdleWorker):
        await desk.claim(POOL, ClaimRequest("acme"))
    waiting = asyncio.create_task(desk.claim(POOL, ClaimRequest("patient", wait=60)))
    await world.clock.sleep(20)
    assert not waiting.done()
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": None, "taints": None}})
    assert (await waiting).state is ClaimState.RUNNING


@pytest.mark.world(nodes=1)
async def test_the_answer_of_the_stamp_decides_when_the_view_of_nodes_is_late(world):
    late = Rule(LagEvents(5.0), resource="pods", watch=True)
    desk = world.start(rules=[late]).mooring.claims.desk
    await world.pool(warm=1, max=1, reuse="Always", protection={"graceSeconds": 20})
    await world.until_idle(1, within=60)
    await world.clock.sleep(10)
    await world.client.delete(PODS, "linux-0", NAMESPACE)  # not seen yet
    with pytest.raises(NoIdleWorker) as refused:
        await desk.claim(POOL, ClaimRequest("acme"))
    assert any("1 idle when last seen" in blocker for blocker in refused.value.detail["why"]["blockers"])
    assert not (await world.ledger.claims.live()).claims


@pytest.mark.world(nodes=2)
async def test_idle_workers_leave_when_others_stand_in_for_them_and_a_busy_one_finishes(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=4, max=12, reuse="Always", protection={"graceSeconds": 5})
    await world.until_idle(4)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await world.clock.sleep(10)
    node = (await world.client.get(PODS, claim.pod_name, NAMESPACE)).spec.node_name
    await mark(world, node, "karpenter.sh/disrupted")
    fewest = 4

    async def moved() -> bool:
        nonlocal fewest
        pods = [pod for pod in await world.pods() if pod.metadata.uid != claim.pod_uid]
        ready = [pod for pod in pods if pod.ready and not pod.terminating]
        fewest = min(fewest, len(ready))
        return len(pods) == 4 and all(pod.spec.node_name != node for pod in pods)

    await world.until(moved, 60, "the idle ones are elsewhere")
    assert fewest == 4
    kept = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    assert kept.metadata.uid == claim.pod_uid and not kept.terminating
    await desk.release(claim.id, claim.epoch)
    await world.clock.sleep(15)
    assert all(pod.spec.node_name != node for pod in await world.pods())


@pytest.mark.world(nodes=1)
async def test_a_terminating_worker_that_polls_begins_nothing(world):
    replica = world.start()
    await world.pool(warm=1, max=1, dispatch="Poll", reuse="Always", protection={"graceSeconds": 60})
    await world.until_idle(1)
    await replica.mooring.polls.record(replica.mooring.fleet.workers(POOL)[0])
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    worker = replica.mooring.fleet.worker(POOL, claim.pod_uid)
    await world.client.merge_patch(PODS, "linux-0", {"metadata": {"finalizers": ["example.com/hold"]}}, NAMESPACE)
    await world.client.delete(PODS, "linux-0", NAMESPACE)
    await world.clock.sleep(1)
    with pytest.raises(WorkerDraining):
        await replica.mooring.claims.dispatch.next_session(worker, 5, executing=False)
    kept = await world.ledger.claims.get(claim.id)
    assert kept is not None and kept.delivered_epoch is None


@pytest.mark.world(nodes=1)
async def test_a_cordoned_worker_that_polls_gets_the_session_it_holds_already(world):
    replica = world.start()
    await world.pool(warm=1, max=1, dispatch="Poll", reuse="Always")
    await world.until_idle(1)
    await replica.mooring.polls.record(replica.mooring.fleet.workers(POOL)[0])
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await mark(world, "node-1", "")
    await world.clock.sleep(1)
    worker = replica.mooring.fleet.worker(POOL, claim.pod_uid)
    session = await replica.mooring.claims.dispatch.next_session(worker, 5, executing=False)
    assert session is not None and session.id == claim.id


@pytest.mark.world(nodes=1)
async def test_a_node_whose_claim_is_being_deleted_drains_before_anybody_taints_it(world):
    await install_karpenter(world)
    await world.client.create(NODECLAIMS, node_claim("claim-1", "node-1"))
    replica = world.start()
    await world.pool(warm=1, max=1, reuse="Always")
    await world.until_idle(1)
    await world.pause(["warm-floor"])
    await world.clock.sleep(2)
    await world.client.delete(NODECLAIMS, "claim-1")
    await world.clock.sleep(1)
    assert "NodeClaim" in replica.mooring.nodes.by_name["node-1"].draining_because
    with pytest.raises(NoIdleWorker):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))


TOLERANT = {
    "spec": {
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "worker", "command": ["serve"]}],
    }
}


@pytest.mark.parametrize("way", ["claim", "cordon"])
@pytest.mark.world(nodes=1)
async def test_no_worker_is_made_on_a_node_that_drains_although_the_scheduler_still_takes_it(world, way):
    # Otherwise each new worker is deleted as soon as it is ready: 1,000 in ten minutes while Karpenter was away.
    await install_karpenter(world)
    await world.client.create(NODECLAIMS, node_claim("claim-1", "node-1"))
    world.start()
    await world.pool(warm=2, max=4, **({"template": TOLERANT} if way == "cordon" else {}))
    await world.until_idle(2)
    if way == "claim":
        await world.client.delete(NODECLAIMS, "claim-1")
    else:
        await mark(world, "node-1", "")
    seen: set[str] = set()
    for _ in range(120):
        await world.clock.sleep(1)
        seen |= {pod.metadata.uid for pod in (await world.client.list_page(PODS, namespace=NAMESPACE)).items}
    assert len(seen) == 4, "two idle ones, and two that wait for another node"
    await world.sandbox.fleet.add_node("node-2")
    await world.until_idle(2)


@pytest.mark.world(nodes=2)
async def test_a_session_that_is_held_idle_blocks_a_roll_no_longer_than_the_ceiling(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=4, reuse="Always", protection={"ceilingSeconds": 300, "graceSeconds": 10})
    await world.until_idle(1)
    claim = await desk.claim(POOL, ClaimRequest("forgetful", ttl_seconds=80_000))
    node = (await world.client.get(PODS, claim.pod_name, NAMESPACE)).spec.node_name
    drift = Drift(world.client, world.sandbox.fleet, world.clock, world.entropy)
    report = await drift.drain(node, DrainPolicy(deadline_seconds=None))
    assert 290 <= report.seconds <= 300 + 10 + 12  # the ceiling, the grace, and how often the drain asks
    assert (NAMESPACE, claim.pod_name) in report.evicted and not report.forced
