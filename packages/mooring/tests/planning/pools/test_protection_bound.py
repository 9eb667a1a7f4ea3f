"""ProtectionBounded: what it says of claims near their end, and of NodePools that do not end drains."""

from datetime import timedelta

import pytest

from mooring.model.claim import Hold
from mooring.model.duration import parse_duration
from mooring.model.node import DrainBound, NodeTemplate
from mooring.model.pool import Protection
from mooring.model.why import Condition
from mooring.planning.invariants.protection import ProtectionEnd
from mooring.planning.placement import Placed
from mooring.planning.pools.node_pools import find_unbounded_node_pools
from mooring.planning.pools.plan import PoolPlan, plan_pool
from packages.mooring.tests.planning.fleets import NOW, node, pool, snapshot, stamped, worker


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


def made(name: str, seconds: int | None, **changes: object):
    """A node of the NodePool "work" whose NodeClaim keeps that bound."""
    labels = {"karpenter.sh/nodepool": "work"}
    return node(name, labels=labels, drain_bound=DrainBound(f"claim-{name}", seconds), **changes)


def judged(*nodes, patched: int | None = 4200, **changes: object) -> Condition:
    """The condition of a pool that can use the NodePool "work"."""
    given = {"placed": Placed(templates=("work",)), "templates": (NodeTemplate("work", {}, (), patched),), **changes}
    return bound(plan_pool(snapshot(pool(warm=0), nodes={one.name: one for one in nodes}, **given)))


def test_after_the_patch_nodes_that_are_still_unbounded_are_named_in_the_order_to_replace_them():
    old, older = NOW - timedelta(days=1), NOW - timedelta(days=2)
    said = judged(
        made("busy", None, created_at=older),
        made("young", None, created_at=old),
        made("aged", None, created_at=older),
        made("short", 30, created_at=NOW),
        made("leaving", None, claim_terminating=True),
        made("fine", 4200),
        protected={"busy": 2, "fine": 1},
    )
    assert (said.status, said.reason) == ("False", "NodeClaimUnbounded")
    order = said.message.partition("in this order: ")[2].partition("; apply: ")[0]
    assert order == (
        "leaving (unbounded, no protected worker, draining already), aged (unbounded, no protected worker), "
        "young (unbounded, no protected worker), short (30 s, no protected worker), "
        "busy (unbounded, 2 protected worker(s))"
    )
    assert said.message.endswith("; apply: kubectl cordon aged young short")


def test_only_closed_nodes_are_deleted_because_a_session_may_begin_on_an_open_one():
    closed = {"unschedulable": True}
    said = judged(
        made("open", None),
        made("a", None, **closed),
        made("b", 30, **closed),
        made("busy", None, **closed),
        protected={"busy": 1},
    )
    assert said.message.endswith("; apply: kubectl delete nodeclaim claim-a && kubectl delete nodeclaim claim-b")


@pytest.mark.parametrize(
    ("state", "fix"),
    [({}, "kubectl cordon n1"), ({"unschedulable": True}, "mooring drain-check n1")],
)
def test_a_node_with_protected_workers_is_closed_and_never_deleted(state, fix):
    assert judged(made("n1", 30, **state), protected={"n1": 1}).message.endswith(f"; apply: {fix}")


def test_protection_is_bounded_only_when_the_node_pool_and_all_its_nodes_are():
    assert judged(made("n1", 4200), made("n2", 600)).status == "True"
    assert judged(made("n1", 4200), made("n2", 599)).status == "False"
    unpatched = judged(made("n1", None), patched=None)
    assert unpatched.reason == "NodePoolUnbounded"
    assert "nodeclaim" not in unpatched.message, "a node that is replaced before the patch comes back unbounded"


def test_nodes_that_outlive_their_node_pool_are_judged_where_the_pool_has_workers():
    node_1 = made("node-1", None)
    said = bound(plan_pool(snapshot(pool(warm=1), worker(0), nodes={"node-1": node_1})))
    assert said.reason == "NodeClaimUnbounded" and "node-1" in said.message
    assert bound(plan_pool(snapshot(pool(warm=0), nodes={"node-1": node_1}))).status == "True"


def test_node_claims_that_cannot_be_read_leave_the_answer_unknown():
    labelled = node("n1", labels={"karpenter.sh/nodepool": "work"})
    unread = judged(labelled, karpenter_read=False)
    assert (unread.status, unread.reason) == ("Unknown", "NodeClaimsUnread") and "n1" in unread.message
    assert judged(labelled).status == "True", "the label alone makes no NodeClaim"
    bounded = judged(made("n3", 4200), karpenter_read=False)
    assert bounded.status == "Unknown", "its NodePool may not bound the nodes that come after it"
    assert judged(node("n2"), karpenter_read=False).status == "True"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("300s", 300), ("1h30m", 5400), ("720h", 2_592_000), ("", None), ("Never", None), ("5d", None)],
)
def test_durations_are_read_as_karpenter_writes_them(text, seconds):
    assert parse_duration(text) == seconds
