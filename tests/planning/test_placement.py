from mooring.model.node import Taint
from mooring.model.pool import Placement
from mooring.planning.placement import plan_placement
from tests.planning.fleets import node

SYSTEM = node("sys-1", taints=(Taint("CriticalAddonsOnly", "true"),), labels={"workload": "blast"})
WORK = node("work-1", taints=(Taint("workload", "blast"),), labels={"workload": "blast"})
PLAIN = node("plain-1")


def test_a_node_pool_by_name_becomes_selector_and_tolerations_of_its_real_taints():
    placed = plan_placement(Placement(node_pool="blast"), [SYSTEM, WORK, PLAIN])
    assert placed.node_selector == {"workload": "blast"}
    assert placed.tolerations == ({"key": "workload", "operator": "Equal", "value": "blast", "effect": "NoSchedule"},)
    assert placed.nodes == 1


def test_karpenters_own_label_wins_over_a_hand_made_one():
    karpenter = node("k", labels={"karpenter.sh/nodepool": "blast", "workload": "blast"})
    assert plan_placement(Placement(node_pool="blast"), [karpenter]).node_selector == {"karpenter.sh/nodepool": "blast"}


def test_lifecycle_and_disruption_taints_are_never_tolerated():
    leaving = node(
        "work-2",
        labels={"workload": "blast"},
        taints=(
            Taint("node.kubernetes.io/not-ready", "", "NoExecute"),
            Taint("karpenter.sh/disrupted"),
            Taint("gpu", "", "NoSchedule"),
        ),
    )
    placed = plan_placement(Placement(node_selector={"workload": "blast"}), [leaving])
    assert placed.tolerations == ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},)


def test_system_nodes_are_never_chosen():
    assert plan_placement(Placement(node_pool="blast"), [SYSTEM]).problem


def test_an_unknown_node_pool_is_a_problem_with_a_fix():
    placed = plan_placement(Placement(node_pool="gpu"), [WORK])
    assert "'gpu'" in placed.problem and "label" in placed.fix


def test_the_owners_own_tolerations_come_first_and_are_not_doubled():
    own = {"key": "workload", "operator": "Equal", "value": "blast", "effect": "NoSchedule"}
    assert plan_placement(Placement(node_pool="blast", tolerations=[own]), [WORK]).tolerations == (own,)


def test_without_placement_nothing_is_added():
    placed = plan_placement(Placement(), [SYSTEM, WORK])
    assert placed.node_selector == {} and placed.tolerations == ()
