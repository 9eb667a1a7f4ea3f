"""Every state with its why, in a whole fleet: since when, what stands in the way, and what to do."""

import pytest

from mooring.kube.resources import NODES
from mooring.model.wish import Wish
from tests.scenarios.harbour import NAMESPACE, harbour, plays_in

POOL = f"{NAMESPACE}/linux"


@pytest.mark.parametrize(
    "spec", [{"unschedulable": True}, {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}]
)
@plays_in(harbour, nodes=1)
async def test_a_busy_worker_on_a_node_that_drains_says_since_when_and_whom_it_waits_for(world, spec):
    mooring = world.start().mooring
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    claim = await mooring.desk.claim(POOL, Wish("acme"))
    await world.clock.sleep(10)
    marked = world.clock.now()
    await world.client.merge_patch(NODES, "node-1", {"spec": spec})
    await world.clock.sleep(30)
    (worker,) = await mooring.reading.workers()
    assert worker.state == "draining" and worker.since == worker.why.since
    assert abs((worker.since - marked).total_seconds()) < 2  # times of the cluster are whole seconds
    assert [blocker.split(",")[0] for blocker in worker.why.blockers] == [f"claim/{claim.id} of acme"]
    assert worker.why.next_check == worker.protected_until
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": None, "taints": None}})
    await world.clock.sleep(5)
    (worker,) = await mooring.reading.workers()
    assert worker.state == "busy"


@plays_in(harbour, nodes=1)
async def test_a_worker_whose_node_is_gone_is_lost_since_then(world):
    mooring = world.start().mooring
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await world.clock.sleep(10)
    gone = world.clock.now()
    await world.client.delete(NODES, "node-1")
    await world.clock.sleep(0.5)
    (worker,) = await mooring.reading.workers()
    assert (worker.state, worker.why.code) == ("lost", "node_gone")
    assert 0 <= (worker.since - gone).total_seconds() < 1
