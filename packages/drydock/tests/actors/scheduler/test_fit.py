"""Verdicts of one pod against one node, and where pods go."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from drydock.actors.scheduler.placement import Decision, Placement
from hawser.clock import Entropy
from hawser.fitting.capacity import NodeState, state_of
from hawser.fitting.judge import judge
from hawser.fitting.matching import covers
from hawser.fitting.needs import pod_requests, read_needs
from hawser.fitting.topology import UNCONSTRAINED
from hawser.fitting.volumes import read_volume
from packages.drydock.tests.actors.scheduler.scheduling_cases import CASES, Case, affinity, near, node, pod, taint

Object = dict[str, Any]


def needs_of(body: Object) -> Any:
    return read_needs(
        {**body, "metadata": {**body["metadata"], "namespace": "default", "uid": body["metadata"]["name"]}}
    )


def placement_of(nodes: list[Object], bound: Sequence[Object] = ()) -> Placement:
    placement = Placement(Entropy(1), lambda namespace: {})
    for one in nodes:
        placement.describe(one)
    for one in bound:
        placement.place(needs_of(one), one["spec"]["nodeName"])
    return placement


def decide(nodes: list[Object], body: Object, bound: Sequence[Object] = ()) -> Decision:
    return placement_of(nodes, bound).decide(needs_of(body))


@pytest.mark.parametrize(
    "case", [case for case in CASES if "volumes" not in case.pod["spec"]], ids=lambda case: case.name
)
def test_a_pod_that_fits_nowhere_is_told_why_in_the_words_of_kube_scheduler(case: Case) -> None:
    assert decide(case.nodes, case.pod, case.bound) == Decision(message=case.message)


@pytest.mark.parametrize(
    ("toleration", "one", "expected"),
    [
        ({"operator": "Exists"}, taint("a"), True),
        ({"key": "a", "operator": "Exists"}, taint("a", value="x"), True),
        ({"key": "a", "operator": "Exists"}, taint("b"), False),
        ({"key": "a", "value": "x"}, taint("a", value="x"), True),
        ({"key": "a", "value": "y"}, taint("a", value="x"), False),
        ({"key": "a", "operator": "Equal"}, taint("a"), True),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, taint("a"), False),
        ({"key": "a", "operator": "Exists", "effect": "NoSchedule"}, taint("a"), True),
    ],
)
def test_a_toleration_covers_taints_of_its_key_value_and_effect(
    toleration: Object, one: Object, expected: bool
) -> None:
    assert covers(toleration, one) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ({"key": "zone", "operator": "In", "values": ["1", "2"]}, True),
        ({"key": "zone", "operator": "In", "values": ["3"]}, False),
        ({"key": "zone", "operator": "NotIn", "values": ["3"]}, True),
        ({"key": "zone", "operator": "NotIn", "values": ["2"]}, False),
        ({"key": "rack", "operator": "NotIn", "values": ["2"]}, True),
        ({"key": "zone", "operator": "Exists"}, True),
        ({"key": "rack", "operator": "Exists"}, False),
        ({"key": "rack", "operator": "DoesNotExist"}, True),
        ({"key": "zone", "operator": "DoesNotExist"}, False),
        ({"key": "zone", "operator": "Gt", "values": ["1"]}, True),
        ({"key": "zone", "operator": "Gt", "values": ["2"]}, False),
        ({"key": "zone", "operator": "Lt", "values": ["10"]}, True),
        ({"key": "name", "operator": "Lt", "values": ["10"]}, False),
        ({"key": "rack", "operator": "Lt", "values": ["10"]}, False),
    ],
)
def test_every_operator_of_node_affinity(expression: Object, expected: bool) -> None:
    state = state_of(node("a", labels={"zone": "2", "name": "x"}))
    assert judge(needs_of(pod("p", affinity=affinity(expression))), state, UNCONSTRAINED).fits is expected


def test_an_empty_affinity_term_matches_no_node() -> None:
    body = pod("p", affinity=affinity())
    assert judge(needs_of(body), state_of(node("a")), UNCONSTRAINED).reasons == (
        "node(s) didn't match Pod's node affinity/selector",
    )


def test_a_pod_that_tolerates_unschedulable_may_go_to_a_cordoned_node() -> None:
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    assert decide([node("a", unschedulable=True)], pod("p", tolerations=[toleration])).node == "a"


def test_conflicting_names_in_one_term_leave_no_node() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]
    decision = decide([node("a"), node("b")], pod("p", affinity=affinity(fields=fields)))
    assert decision.message == "0/2 nodes are available: pod affinity terms conflict. not found"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{"cpu": "500m"}, {"cpu": "1"}]}, 1500),
        ({"containers": [{"cpu": "1"}], "initContainers": [{"cpu": "3"}]}, 3000),
        ({"containers": [{"cpu": "1"}], "initContainers": [{"cpu": "3", "always": True}]}, 4000),
        ({"containers": [{"cpu": "1"}], "initContainers": [{"cpu": "1", "always": True}, {"cpu": "3"}]}, 4000),
        ({"containers": [{"cpu": "1"}], "initContainers": [{"cpu": "3"}, {"cpu": "1", "always": True}]}, 3000),
        ({"containers": [{"cpu": "1"}], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [{"cpu": "1"}], "resources": {"requests": {"cpu": "5"}}}, 5000),
        ({"containers": [{"cpu": "0.0001"}]}, 1),
    ],
)
def test_requests_are_those_of_the_largest_stage_of_a_pods_life(spec: Object, expected: int) -> None:
    for kind in ("containers", "initContainers"):
        spec[kind] = [
            {
                "resources": {"requests": {"cpu": one["cpu"]}},
                **({"restartPolicy": "Always"} if one.get("always") else {}),
            }
            for one in spec.get(kind, ())
        ]
    assert pod_requests(spec)["cpu"] == expected


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, True),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80}, False),
    ],
)
def test_host_ports_clash_on_one_address(first: Object, second: Object, clash: bool) -> None:
    nodes = [node("a")]
    bound = [pod("q", ports=[{"containerPort": 1, **first}], nodeName="a")]
    assert bool(decide(nodes, pod("p", ports=[{"containerPort": 1, **second}]), bound).node) is not clash


def test_pods_spread_over_nodes_that_offer_the_same() -> None:
    placement = placement_of([node(name) for name in "abcd"])
    seen: Counter[str] = Counter()
    for number in range(8):
        needs = needs_of(pod(f"p{number}", requests={"cpu": "1"}))
        chosen = placement.decide(needs).node
        placement.place(needs, chosen)
        seen[chosen] += 1
    assert seen == {"a": 2, "b": 2, "c": 2, "d": 2}


def test_pods_without_requests_spread_too() -> None:
    placement = placement_of([node(name) for name in "ab"])
    for number in range(4):
        needs = needs_of(pod(f"p{number}"))
        placement.place(needs, placement.decide(needs).node)
    assert [len(state.pods) for state in placement.nodes()] == [2, 2]


def test_a_preferred_label_outweighs_free_room() -> None:
    preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    wish = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": preference}]}
    }
    bound = [pod("q", requests={"cpu": "2"}, nodeName="b")]
    assert decide([node("a"), node("b", labels={"disk": "ssd"})], pod("p", affinity=wish), bound).node == "b"


def test_a_soft_taint_is_avoided_when_possible() -> None:
    soft = node("a", taints=[taint("spot", "PreferNoSchedule")])
    bound = [pod("q", requests={"cpu": "3"}, nodeName="b")]
    assert decide([soft, node("b")], pod("p"), bound).node == "b"
    assert decide([soft], pod("p")).node == "a"


def test_the_first_pod_of_a_group_that_wants_to_be_together_finds_a_place() -> None:
    wish = near("podAffinity", "kubernetes.io/hostname", app="x")
    assert decide([node("a")], pod("p", labels={"app": "x"}, affinity=wish)).node == "a"


def test_a_group_stays_together() -> None:
    wish = near("podAffinity", "kubernetes.io/hostname", app="x")
    bound = [pod("q", labels={"app": "x"}, requests={"cpu": "3"}, nodeName="b")]
    assert decide([node("a"), node("b"), node("c")], pod("p", labels={"app": "x"}, affinity=wish), bound).node == "b"


def test_a_pod_that_is_leaving_holds_its_place_and_does_not_count_for_spreading() -> None:
    zones = [node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}, unschedulable=True)]
    rule = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "nodeTaintsPolicy": "Ignore",
    }
    there = pod("old", labels={"app": "x"}, nodeName="a")
    placement = placement_of(zones, [there])
    wanted = needs_of(pod("new", labels={"app": "x"}, topologySpreadConstraints=[rule]))
    assert placement.decide(wanted).node == ""
    going = {**there, "metadata": {**there["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}
    placement.place(needs_of(going), "a")
    assert placement.decide(wanted).node == "a" and placement.place_of("old") == "a"


def test_a_spread_constraint_sends_pods_to_the_emptiest_zone() -> None:
    zones = [node("a", labels={"zone": "1"}), node("b", labels={"zone": "2"})]
    rule = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    bound = [pod("q", labels={"app": "x"}, nodeName="a"), pod("r", requests={"cpu": "3"}, nodeName="b")]
    assert decide(zones, pod("p", labels={"app": "x"}, topologySpreadConstraints=[rule]), bound).node == "b"


def test_a_volume_ties_its_pod_to_a_zone() -> None:
    volume = read_volume({"metadata": {"name": "v", "labels": {"topology.kubernetes.io/zone": "2"}}, "spec": {}})
    nodes = [node(name, labels={"topology.kubernetes.io/zone": zone}) for name, zone in (("a", "1"), ("b", "2"))]
    assert placement_of(nodes).decide(needs_of(pod("p")), [volume]).node == "b"
    decision = placement_of(nodes[:1]).decide(needs_of(pod("p")), [volume])
    assert "1 node(s) had no available volume zone" in decision.message


def test_the_least_important_pod_makes_room_for_a_more_important_one() -> None:
    bound = [
        pod("high", requests={"cpu": "2"}, priority=5, nodeName="a"),
        pod("low", requests={"cpu": "2"}, priority=1, nodeName="a"),
    ]
    decision = decide([node("a")], pod("p", requests={"cpu": "2"}, priority=10), bound)
    assert decision.preemption is not None
    assert (decision.preemption.node, [victim.name for victim in decision.preemption.victims]) == ("a", ["low"])
    assert decision.message == "0/1 nodes are available: 1 Insufficient cpu."


def test_the_node_with_the_cheapest_victims_is_chosen() -> None:
    bound = [
        pod("a1", requests={"cpu": "4"}, priority=5, nodeName="a"),
        pod("b1", requests={"cpu": "4"}, priority=3, nodeName="b"),
    ]
    decision = decide([node("a"), node("b")], pod("p", requests={"cpu": "2"}, priority=10), bound)
    assert decision.preemption is not None and decision.preemption.node == "b"


def test_nobody_of_the_same_priority_is_preempted() -> None:
    bound = [pod("q", requests={"cpu": "4"}, priority=10, nodeName="a")]
    decision = decide([node("a")], pod("p", requests={"cpu": "2"}, priority=10), bound)
    assert decision.preemption is None
    assert decision.message.endswith("1 No preemption victims found for incoming pod.")


def test_a_pod_that_never_preempts_says_so() -> None:
    bound = [pod("q", requests={"cpu": "4"}, nodeName="a")]
    body = pod("p", requests={"cpu": "2"}, priority=10, preemptionPolicy="Never")
    assert decide([node("a")], body, bound).message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_room_that_is_being_made_is_kept_from_lesser_pods() -> None:
    placement = placement_of([node("a")])
    placement.nominate(needs_of(pod("vip", requests={"cpu": "3"}, priority=10)), "a")
    assert placement.decide(needs_of(pod("p", requests={"cpu": "2"}))).node == ""
    assert placement.decide(needs_of(pod("q", requests={"cpu": "2"}, priority=20))).node == "a"


def test_a_nodes_books_are_balanced_when_pods_come_and_go() -> None:
    state = NodeState("a")
    needs = needs_of(pod("p", requests={"cpu": "1", "memory": "1Gi"}))
    state.add(needs)
    state.add(needs)
    assert state.requested == {"cpu": 1000, "memory": 1 << 30}
    state.remove(needs.uid)
    state.remove(needs.uid)
    assert (state.requested, state.assumed_cpu, state.assumed_memory, state.pods) == ({"cpu": 0, "memory": 0}, 0, 0, {})
