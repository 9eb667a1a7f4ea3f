"""Every state with its why, in a whole fleet: since when, what stands in the way, and what to do."""

import asyncio
from datetime import datetime, timedelta

import pytest

from hawser.resources import NODES
from mooring.controllers.claims.refusals import NoIdleWorker, WaitTimedOut
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import ClaimState, LimitReached
from mooring.model.claim_request import ClaimRequest
from mooring.queries.claims import read_claims
from packages.mooring.tests.scenarios.harbour import NAMESPACE

POOL = f"{NAMESPACE}/linux"


@pytest.mark.parametrize(
    "spec", [{"unschedulable": True}, {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}]
)
@pytest.mark.world(nodes=1)
async def test_a_busy_worker_on_a_node_that_drains_says_since_when_and_whom_it_waits_for(world, spec):
    mooring = world.start().mooring
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    claim = await mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    await world.clock.sleep(10)
    marked = world.clock.now()
    await world.client.merge_patch(NODES, "node-1", {"spec": spec})
    await world.clock.sleep(30)
    (worker,) = await mooring.queries.fleet.workers()
    assert worker.state == "draining" and worker.since == worker.why.since
    assert abs((worker.since - marked).total_seconds()) < 2  # times of the cluster are whole seconds
    assert [blocker.split(",")[0] for blocker in worker.why.blockers] == [f"claim/{claim.id} of acme"]
    assert worker.why.next_check == worker.protected_until
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": None, "taints": None}})
    await world.clock.sleep(5)
    (worker,) = await mooring.queries.fleet.workers()
    assert worker.state == "busy"


@pytest.mark.world(nodes=1)
async def test_a_worker_whose_node_is_gone_is_lost_since_then(world):
    mooring = world.start().mooring
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await world.clock.sleep(10)
    gone = world.clock.now()
    await world.client.delete(NODES, "node-1")
    await world.clock.sleep(0.5)
    (worker,) = await mooring.queries.fleet.workers()
    assert (worker.state, worker.why.code) == ("lost", "node_gone")
    assert 0 <= (worker.since - gone).total_seconds() < 1


@pytest.mark.world(nodes=1)
async def test_whoever_finds_nobody_free_is_told_how_many_there_are_and_what_they_do(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await desk.claim(POOL, ClaimRequest("acme"))
    with pytest.raises(NoIdleWorker) as refused:
        await desk.claim(POOL, ClaimRequest("globex"))
    why = refused.value.detail["why"]
    assert why.keys() == {"code", "message", "since", "blockers", "nextCheck", "fix"}
    assert why["blockers"][0] == "workers: 0 idle, 1 busy, 0 starting, 0 draining, 0 lost; at most 1"
    assert why["since"] and why["code"] == "no_idle_worker"


@pytest.mark.world(nodes=1)
async def test_a_wait_that_ends_tells_its_last_place_and_why(world):
    mooring = world.start().mooring
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    first = asyncio.create_task(mooring.claims.desk.claim(POOL, ClaimRequest("first", wait=60)))
    await world.clock.sleep(1)
    asked = world.clock.now()
    second = asyncio.create_task(mooring.claims.desk.claim(POOL, ClaimRequest("second", wait=7)))
    await world.clock.sleep(3)
    page = await read_claims(
        mooring.queries.fleet, ClaimFilter(states=frozenset({ClaimState.QUEUED})), 10, None, lambda _: True
    )
    shown = next(claim for claim in page.items if claim.owner == "second")
    assert shown.position == 2 and shown.reason == shown.why.message
    assert shown.why.message == f"waits for a worker of {POOL}, number 2 in line"
    assert "workers: 0 idle, 1 busy" in shown.why.blockers[0] and shown.why.blockers[1] == "waiting claims: 2"
    assert shown.why.blockers[-1] == "1 claim(s) are served before it"
    assert shown.why.next_check == shown.wait_until
    with pytest.raises(WaitTimedOut) as refused:
        await second
    why = refused.value.detail["why"]
    assert why["message"].endswith("number 2 in line") and "1 busy" in why["blockers"][0]
    assert datetime.fromisoformat(why["since"]) == asked
    assert not first.done()


@pytest.mark.world(nodes=1)
async def test_a_wait_that_is_ended_by_whoever_looks_after_the_queue_is_told_as_a_time_out(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    await desk.claim(POOL, ClaimRequest("acme"))
    waiting = asyncio.create_task(desk.claim(POOL, ClaimRequest("globex", wait=60)))
    await world.clock.sleep(2)
    assert await world.ledger.claims.expire_waiting(now=world.clock.now() + timedelta(seconds=61))
    with pytest.raises(WaitTimedOut) as refused:
        await waiting
    assert "1 busy" in refused.value.detail["why"]["blockers"][0]


@pytest.mark.world(nodes=1)
async def test_an_owner_over_the_limit_is_told_which_claims_count(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=2, max=2, limits={"perOwner": 1})
    await world.until_idle(2)
    claim = await desk.claim(POOL, ClaimRequest("acme"))
    for wait in (0, 5):
        with pytest.raises(LimitReached) as refused:
            await desk.claim(POOL, ClaimRequest("acme", wait=wait))
        why = refused.value.detail["why"]
        assert why["message"] == f"acme holds 1 of at most 1 open claims on {POOL}"
        assert why["blockers"][0].startswith(f"claim/{claim.id} running on worker/{NAMESPACE}/{claim.pod_name} since")
        assert datetime.fromisoformat(why["since"]) == claim.created_at


@pytest.mark.world(nodes=2)
async def test_pools_nodes_and_rules_say_why_they_are_so_and_since_when(world):
    mooring = world.start().mooring
    await world.pool(warm=2, max=2)
    await world.until_idle(2)
    await world.clock.sleep(70)
    (pool,) = mooring.queries.fleet.pools()
    assert (pool.why.code, pool.why.blockers) == ("floor_held", ()) and pool.why.since is not None
    nodes = await mooring.queries.fleet.nodes()
    assert [(node.why.code, node.why.since is not None) for node in nodes] == [("open", True)] * 2
    rules = mooring.queries.fleet.invariants()
    assert all(rule.why.code == rule.state and rule.why.message and rule.why.since for rule in rules)
    for name in ("node-1", "node-2"):
        await world.client.merge_patch(NODES, name, {"spec": {"unschedulable": True}})
    await world.clock.sleep(10)
    (pool,) = mooring.queries.fleet.pools()
    assert pool.why.code == "starting" and "needs 2 idle: 0 idle, 0 busy, 2 starting" in pool.why.blockers[0]
    assert any("0/2 nodes are available" in blocker for blocker in pool.why.blockers)
    rule = mooring.queries.fleet.invariant("warm-floor")
    assert rule.state == "broken" and rule.why.blockers[0].startswith(f"pool/{POOL}: ")
    assert rule.why.since == pool.why.since
