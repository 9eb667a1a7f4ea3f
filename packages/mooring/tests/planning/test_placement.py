from dataclasses import replace

import pytest

from mooring.model.node import NodeTemplate, Taint
from mooring.model.placement import Placement
from mooring.planning.placement import plan_placement
from packages.mooring.tests.planning.fleets import node

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


def blast_template(**changes: object) -> NodeTemplate:
    base = NodeTemplate(
        "blast",
        labels={"karpenter.sh/nodepool": frozenset({"blast"}), "disk": frozenset({"nvme"}), "tier": None},
        taints=(Taint("workload", "blast"),),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def test_a_node_pool_without_a_node_is_placed_by_its_karpenter_template():
    placed = plan_placement(Placement(node_pool="blast"), [PLAIN], [blast_template()])
    assert placed.node_selector == {"karpenter.sh/nodepool": "blast"}
    assert placed.tolerations == ({"key": "workload", "operator": "Equal", "value": "blast", "effect": "NoSchedule"},)
    assert (placed.nodes, placed.templates, placed.problem) == (0, ("blast",), "")


@pytest.mark.parametrize(
    ("selector", "made_by"),
    [
        ({"disk": "nvme"}, ("blast",)),
        ({"disk": "hdd"}, ()),
        ({"tier": "gold"}, ("blast",)),
        ({"topology.kubernetes.io/zone": "a"}, ("blast",)),
        ({"unheard-of": "x"}, ()),
    ],
)
def test_a_selector_reaches_the_node_pools_that_can_make_such_nodes(selector, made_by):
    assert plan_placement(Placement(node_selector=selector), [], [blast_template()]).templates == made_by


def test_a_system_template_is_never_chosen():
    system = blast_template(taints=(Taint("CriticalAddonsOnly"),))
    assert plan_placement(Placement(node_pool="blast"), [], [system]).problem


@pytest.mark.parametrize("key", ["node-role.kubernetes.io/control-plane", "CriticalAddonsOnly"])
def test_a_pool_that_holds_the_clusters_own_parts_gets_no_workers(key):
    own = node("m", labels={"workload": "blast"}, taints=(Taint(key), Taint("workload", "blast")))
    assert plan_placement(Placement(node_pool="blast"), [own]).problem


def test_a_pod_keeps_its_own_terms_and_gets_those_of_its_placement_once():
    tolerated = {"key": "workload", "operator": "Equal", "value": "blast", "effect": "NoSchedule"}
    placed = plan_placement(Placement(node_pool="blast"), [WORK])
    pod = placed.on({"nodeSelector": {"zone": "a"}, "tolerations": [tolerated], "containers": []})
    assert pod["nodeSelector"] == {"zone": "a", "workload": "blast"} and pod["tolerations"] == [tolerated]
    assert placed.on(pod) == pod


def test_the_fingerprint_follows_the_terms_and_not_the_number_of_nodes():
    one = plan_placement(Placement(node_pool="blast"), [WORK])
    two = plan_placement(Placement(node_pool="blast"), [WORK, replace(WORK, name="work-2")])
    retainted = plan_placement(Placement(node_pool="blast"), [replace(WORK, taints=(Taint("workload", "new"),))])
    assert one.fingerprint == two.fingerprint != retainted.fingerprint
