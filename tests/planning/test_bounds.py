"""ProtectionBounded: what it says of claims near their end, and of NodePools that do not end drains."""

from datetime import timedelta

import pytest

from mooring.model.claim import Hold
from mooring.model.duration import parse_duration
from mooring.model.node import NodeTemplate
from mooring.model.pool import Protection
from mooring.model.why import Condition
from mooring.planning.nodepools import find_unbounded_node_pools
from mooring.planning.placement import Placed
from mooring.planning.pools import PoolPlan, plan_pool
from mooring.planning.protection import ProtectionEnd
from tests.planning.fleets import NOW, node, pool, snapshot, stamped, worker


def bound(of: PoolPlan) -> Condition:
    return next(condition for condition in of.status.conditions if condition.type == "ProtectionBounded")


def ending(passed: bool) -> ProtectionEnd:
    return ProtectionEnd(stamped(0), Hold("uid-0", "c", 7, "acme", NOW, NOW), NOW + timedelta(minutes=5), passed)


@pytest.mark.parametrize(
    ("ends", "reason"), [((), "Bounded"), ((ending(False),), "CeilingNear"), ((ending(True),), "CeilingReached")]
)
def test_the_condition_follows_the_way_to_the_ceiling(ends, reason):
    said = bound(plan_pool(snapshot(pool(warm=0), stamped(0), held={"uid-0": 1}, ends=ends)))
    assert (said.status, said.reason) == ("True", reason)
    assert ("linux-0" in said.message) is bool(ends)


@pytest.mark.parametrize(("bound", "told"), [(None, "no terminationGracePeriod"), (599, "before a worker's grace")])
def test_a_node_pool_that_does_not_end_drains_is_told_with_the_patch_to_apply(bound, told):
    found = find_unbounded_node_pools([NodeTemplate("work", termination_grace_seconds=bound)], Protection())
    assert [one.node_pool for one in found] == ["work"] and told in found[0].message
    assert found[0].fix == (
        "kubectl patch nodepool work --type merge -p "
        '\'{"spec":{"template":{"spec":{"terminationGracePeriod":"4200s"}}}}\''
    )


def test_a_node_pool_that_leaves_a_worker_its_grace_is_fine():
    assert not find_unbounded_node_pools([NodeTemplate("work", termination_grace_seconds=600)], Protection())


def test_only_pools_whose_workers_go_to_that_node_pool_say_so():
    templates = (NodeTemplate("work"), NodeTemplate("other"))
    on_it = {"node-1": node(labels={"karpenter.sh/nodepool": "work"})}
    elsewhere = plan_pool(snapshot(pool(warm=1), worker(0), templates=templates))
    there = plan_pool(snapshot(pool(warm=1), worker(0), nodes=on_it, templates=templates))
    coming = plan_pool(snapshot(pool(warm=1), placed=Placed(templates=("work",)), templates=templates))
    assert bound(elsewhere).status == "True"
    for said in (bound(there), bound(coming)):
        assert (said.status, said.reason) == ("False", "NodePoolUnbounded")
        assert "kubectl patch nodepool work" in said.message and "other" not in said.message


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("300s", 300), ("1h30m", 5400), ("720h", 2_592_000), ("", None), ("Never", None), ("5d", None)],
)
def test_durations_are_read_as_karpenter_writes_them(text, seconds):
    assert parse_duration(text) == seconds
