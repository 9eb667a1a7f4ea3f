"""Where Mooring's own pods go: judged on the nodes, with the smallest change if none takes them."""

import pytest

from mooring.cli.launch.placement_options import describe_options, name_advice, parse_toleration
from mooring.kinds.manifests import manifests
from mooring.kinds.release import Release
from mooring.model.errors import InvalidInput
from mooring.model.node import Node, NodeTemplate, Taint
from mooring.model.placement import Placement
from mooring.planning.fit import Usage
from mooring.planning.installation import InstallPlan, InstallSnapshot, plan_install

ROOM = {"cpu": 8000, "memory": 32 * 2**30, "pods": 110}
SYSTEM = Taint("CriticalAddonsOnly", "true")
BLAST, SPOT = Taint("workload", "blast"), Taint("spot", "", "NoExecute")


def node(name: str, *taints: Taint, labels: dict[str, str] | None = None, **changes: object) -> Node:
    return Node(name, f"{name}-uid", labels or {}, taints, **{"allocatable": ROOM, **changes})  # type: ignore[arg-type]


RELEASE = Release("mooring")


def plan(*nodes: Node, templates: tuple[NodeTemplate, ...] = (), **wanted: object) -> InstallPlan:
    deployment = next(body for body in manifests(RELEASE, "mooring:1") if body["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    return plan_install(
        InstallSnapshot(
            pod,
            Placement(**wanted),
            nodes,
            templates,
            Usage(),
            deployment["spec"]["replicas"],
            "mooring",
            RELEASE.selector,
        )
    )


def advised(of: InstallPlan) -> list[str]:
    return [describe_options(placement) for placement in of.advice]


def test_an_open_node_needs_nothing():
    found = plan(node("sys", SYSTEM), node("open"))
    assert found.fits and not found.advice
    assert found.placed.on({"containers": []}) == {"containers": []}


def test_on_a_split_cluster_the_toleration_of_the_working_nodes_is_advised_then_their_pool():
    blast = {"labels": {"workload": "blast"}}
    found = plan(node("sys", SYSTEM), node("a", BLAST, **blast), node("b", BLAST, **blast))
    assert not found.fits
    assert "0/3 nodes are available" in found.message and "{workload: blast}" in found.message
    assert advised(found) == ["--toleration workload=blast:NoSchedule", "--node-pool blast"]


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ([node("a", BLAST, SPOT), node("b", BLAST, SPOT), node("c", SPOT)], "--toleration spot:NoExecute"),
        ([node("a", BLAST), node("b", SPOT), node("c", SPOT)], "--toleration spot:NoExecute"),
        (
            [node("a", BLAST, SPOT)],
            "--toleration spot:NoExecute --toleration workload=blast:NoSchedule",
        ),
        ([node("sys", SYSTEM)], "--toleration CriticalAddonsOnly=true:NoSchedule"),
    ],
    ids=["fewest tolerations", "most nodes", "all of a node's taints", "system nodes when there are no others"],
)
def test_the_smallest_change_comes_first(nodes, first):
    assert advised(plan(*nodes))[0] == first


def test_every_advice_fits_when_it_is_followed():
    nodes = (node("sys", SYSTEM), node("a", BLAST, labels={"agentpool": "work"}), node("b", BLAST, SPOT))
    for placement in plan(*nodes).advice:
        follow = {"node_pool": placement.node_pool, "node_selector": placement.node_selector}
        assert plan(*nodes, **follow, tolerations=placement.tolerations).fits


def test_a_node_pool_brings_its_label_and_the_tolerations_of_its_taints():
    found = plan(node("a", BLAST, labels={"agentpool": "work"}), node("b"), node_pool="work")
    assert found.fits
    assert found.placed.on({}) == {
        "nodeSelector": {"agentpool": "work"},
        "tolerations": [{"key": "workload", "operator": "Equal", "value": "blast", "effect": "NoSchedule"}],
    }


def test_a_wrong_selector_or_pool_is_answered_with_what_exists():
    nodes = (node("a", BLAST, labels={"agentpool": "work"}), node("b", BLAST, labels={"agentpool": "work"}))
    wrong_pool = plan(*nodes, node_pool="wrok")
    assert "no node belongs to a pool named 'wrok'" in wrong_pool.message
    assert advised(wrong_pool)[0] == "--node-pool work"
    wrong_label = plan(*nodes, node_selector={"disk": "ssd"})
    assert advised(wrong_label) == ["--node-pool work", "--toleration workload=blast:NoSchedule"]


def test_a_node_that_karpenter_would_make_is_enough():
    maker = NodeTemplate("work", {"karpenter.sh/nodepool": frozenset({"work"})}, (BLAST,))
    assert advised(plan(templates=(maker,)))[0] == "--toleration workload=blast:NoSchedule"
    assert plan(templates=(maker,), node_pool="work").fits


def test_both_replicas_must_find_room():
    small = {"cpu": 150, "memory": 2**30, "pods": 110}
    assert not plan(node("a", allocatable=small)).fits
    assert plan(node("a", allocatable=small), node("b", allocatable=small)).fits


def test_without_room_no_placement_is_advised_but_what_the_nodes_lack():
    found = plan(node("a", allocatable={"cpu": 50, "memory": 2**30, "pods": 110}))
    assert not found.fits and not found.advice
    assert "needs 100m CPU" in found.fix or "CPU" in found.fix


def test_a_cordoned_cluster_is_answered_with_the_uncordon():
    found = plan(node("a", unschedulable=True))
    assert (found.fits, found.advice, found.fix) == (False, (), "kubectl uncordon a")


def test_no_option_at_all_is_an_advice_in_words():
    found = plan(node("a", labels={"agentpool": "work"}), node_pool="wrok")
    assert advised(found) == ["--node-pool work", ""]
    assert [name_advice(one) for one in advised(found)] == ["--node-pool work", "no option for the placement"]


@pytest.mark.parametrize("text", ["a b", "=x", "key=a b", "-key", "a/b/c", "key=" + "x" * 64])
def test_a_toleration_that_no_taint_can_match_is_refused(text):
    with pytest.raises(InvalidInput, match="--toleration"):
        parse_toleration(text)


@pytest.mark.parametrize("text", ["spot", "example.com/spot", "spot=:NoSchedule", "Workload_1=blast.x:NoExecute"])
def test_a_toleration_of_a_possible_taint_is_taken(text):
    assert parse_toleration(text)["key"] == text.partition("=")[0]
