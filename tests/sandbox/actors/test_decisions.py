"""Budgets, node health, taints, endpoints, pods nobody wants: decisions as tables."""

from datetime import timedelta
from typing import Any

import pytest

from mooring.model.fitting.selectors import compile_map
from mooring.sandbox.actors.budgets import (
    Expectation,
    compute_status,
    expect,
    failed_status,
    live_disruptions,
    next_check,
)
from mooring.sandbox.actors.drain import is_drainable, is_protected
from mooring.sandbox.actors.drift import template_of
from mooring.sandbox.actors.endpoints import plan_slices
from mooring.sandbox.actors.namespaces import Remains, compute_conditions
from mooring.sandbox.actors.node_health import (
    rate_zones,
    silenced_conditions,
    with_execute_taint,
    with_schedule_taints,
)
from mooring.sandbox.actors.owned_pods import plan_claims
from mooring.sandbox.actors.podgc import plan_cleaning
from mooring.sandbox.actors.taint_eviction import patience
from tests.sandbox.actors.shapes import NOW, a_pod, ago, names

Object = dict[str, Any]


# -- budgets


def a_budget(status: Object | None = None, **spec: Any) -> Object:
    metadata = {"name": "b", "namespace": "default", "uid": "b", "generation": 3}
    return {"metadata": metadata, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("spec", "pods", "scale", "expected"),
    [
        ({"minAvailable": 2}, 5, 0, Expectation(5, 2)),
        ({"minAvailable": 2147483647}, 5, 0, Expectation(5, 2147483647)),
        ({"minAvailable": "50%"}, 3, 5, Expectation(5, 3)),
        ({"maxUnavailable": 1}, 3, 5, Expectation(5, 4)),
        ({"maxUnavailable": "30%"}, 3, 5, Expectation(5, 3)),
        ({"maxUnavailable": 9}, 3, 5, Expectation(5, 0)),
    ],
)
def test_only_a_whole_min_available_counts_the_pods_themselves(
    spec: Object, pods: int, scale: int, expected: Expectation
) -> None:
    assert expect(a_budget(**spec), pods, scale) == expected


@pytest.mark.parametrize(
    ("healthy", "expected", "allowed", "reason"),
    [
        (5, Expectation(5, 2), 3, "SufficientPods"),
        (2, Expectation(5, 2), 0, "InsufficientPods"),
        (1, Expectation(5, 2), 0, "InsufficientPods"),
        (0, Expectation(0, 0), 0, "InsufficientPods"),
    ],
)
def test_disruptions_are_allowed_down_to_what_must_stay_healthy(
    healthy: int, expected: Expectation, allowed: int, reason: str
) -> None:
    status = compute_status(a_budget(), healthy, {}, expected, NOW)
    assert (status["disruptionsAllowed"], status["observedGeneration"]) == (allowed, 3)
    assert (status["conditions"][0]["type"], status["conditions"][0]["reason"]) == ("DisruptionAllowed", reason)


def test_a_granted_eviction_counts_until_the_pod_goes_or_two_minutes_have_passed() -> None:
    granted = {"fresh": ago(30), "stale": ago(121), "going": ago(30), "gone": ago(30)}
    budget = a_budget({"disruptedPods": granted})
    pods = {"fresh": a_pod("fresh"), "stale": a_pod("stale"), "going": a_pod("going", terminating=True)}
    disrupted = live_disruptions(budget, pods.get, NOW)
    assert list(disrupted) == ["fresh"]
    status = compute_status(budget, 3, disrupted, Expectation(3, 1), NOW)
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 1)
    assert status["disruptedPods"] == {"fresh": ago(30)}
    assert next_check(budget, disrupted, NOW) == 91.0


def test_when_the_scale_is_unknown_nothing_may_be_disrupted() -> None:
    budget = a_budget({"disruptionsAllowed": 4, "currentHealthy": 5, "desiredHealthy": 1, "expectedPods": 5})
    status = failed_status(budget, "jobs.batch does not implement the scale subresource", NOW)
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (0, 5)
    assert status["conditions"][0]["reason"] == "SyncFailed"


# -- nodes


def a_node(name: str = "n", ready: str = "True", zone: str = "", **spec: Any) -> Object:
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "creationTimestamp": ago(500),
            "labels": {"topology.kubernetes.io/zone": zone} if zone else {},
        },
        "spec": spec,
        "status": {"conditions": [{"type": "Ready", "status": ready, "lastHeartbeatTime": ago(60)}] if ready else []},
    }


def test_a_silent_node_becomes_unknown_in_all_its_conditions() -> None:
    conditions = silenced_conditions(a_node(), NOW)
    assert [one["type"] for one in conditions] == ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]
    assert {one["status"] for one in conditions} == {"Unknown"}
    assert (conditions[0]["reason"], conditions[0]["message"]) == (
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
    )
    assert (conditions[1]["reason"], conditions[1]["message"]) == (
        "NodeStatusNeverUpdated",
        "Kubelet never posted node status.",
    )
    again = {**a_node(), "status": {"conditions": conditions}}
    assert silenced_conditions(again, NOW + timedelta(seconds=9)) == conditions


def keys(taints: list[Object] | None) -> list[tuple[str, str]] | None:
    return (
        None if taints is None else [(one["key"].removeprefix("node.kubernetes.io/"), one["effect"]) for one in taints]
    )


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (a_node(), None),
        (a_node(ready="False"), [("not-ready", "NoSchedule")]),
        (a_node(ready="Unknown"), [("unreachable", "NoSchedule")]),
        (a_node(unschedulable=True), [("unschedulable", "NoSchedule")]),
        (a_node(taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]), []),
        (a_node(taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]), None),
        (
            a_node(taints=[{"key": "team", "effect": "NoSchedule"}], ready="False"),
            [("team", "NoSchedule"), ("not-ready", "NoSchedule")],
        ),
        (a_node(ready="Unknown", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]), None),
    ],
)
def test_conditions_and_cordons_become_taints_against_scheduling(
    node: Object, expected: list[tuple[str, str]] | None
) -> None:
    assert keys(with_schedule_taints(node, NOW)) == expected


def test_the_taint_against_running_is_swapped_set_once_and_taken_off() -> None:
    sick = a_node(ready="Unknown", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}])
    swapped = with_execute_taint(sick, "node.kubernetes.io/unreachable", NOW)
    assert keys(swapped) == [("unreachable", "NoExecute")]
    assert with_execute_taint(a_node(taints=swapped), "node.kubernetes.io/unreachable", NOW) is None
    assert keys(with_execute_taint(a_node(taints=swapped), "", NOW)) == []
    assert with_execute_taint(a_node(), "", NOW) is None


@pytest.mark.parametrize(
    ("ready", "sick", "rate"),
    [(3, 1, 0.1), (3, 3, 0.1), (2, 3, 0.0), (1, 2, 0.1), (20, 40, 0.01), (40, 20, 0.1)],
)
def test_a_sick_zone_is_emptied_slower_or_not_at_all(ready: int, sick: int, rate: float) -> None:
    nodes = [a_node(zone="z")] * ready + [a_node(ready="Unknown", zone="z")] * sick
    assert rate_zones(nodes).per_second == {":z": rate}


def test_when_every_node_is_down_no_node_is_emptied() -> None:
    rates = rate_zones([a_node(ready="Unknown", zone="x"), a_node(ready="False", zone="y")])
    assert rates.everything_down and set(rates.per_second.values()) == {0.0}
    rates = rate_zones([a_node(ready="Unknown", zone="x"), a_node(zone="y")])
    assert not rates.everything_down and rates.per_second[":x"] == 0.1
    assert not rate_zones([]).everything_down


UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
OTHER = {"key": "maintenance", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("tolerations", "taints", "expected"),
    [
        ([], [UNREACHABLE], 0.0),
        ([{"operator": "Exists"}], [UNREACHABLE], None),
        (
            [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300}],
            [UNREACHABLE],
            300.0,
        ),
        (
            [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": -1}],
            [UNREACHABLE],
            0.0,
        ),
        ([{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}], [UNREACHABLE, OTHER], 0.0),
        (
            [
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300},
                {"key": "maintenance", "operator": "Exists", "tolerationSeconds": 20},
            ],
            [UNREACHABLE, OTHER],
            20.0,
        ),
    ],
)
def test_a_pod_stays_as_long_as_it_tolerates_every_taint(
    tolerations: list[Object], taints: list[Object], expected: float | None
) -> None:
    assert patience(tolerations, taints) == expected


def test_the_likeness_of_a_node_leaves_out_what_was_its_own() -> None:
    node = a_node(
        taints=[
            {"key": "team", "effect": "NoSchedule", "value": "x"},
            UNREACHABLE,
            {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},
        ]
    )
    node["metadata"]["labels"] = {"kubernetes.io/hostname": "n", "karpenter.sh/nodepool": "gpu"}
    node["status"]["capacity"] = {"cpu": "8", "pods": "110"}
    template = template_of(node)
    assert template.labels == {"karpenter.sh/nodepool": "gpu"}
    assert template.taints == ({"key": "team", "value": "x", "effect": "NoSchedule"},)
    assert template.capacity == {"cpu": "8", "pods": "110"}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (a_pod("p"), True),
        (a_pod("p", "Succeeded"), False),
        (a_pod("p", annotations={"kubernetes.io/config.mirror": "x"}), False),
        (a_pod("p", ownerReferences=[{"kind": "DaemonSet", "uid": "d", "controller": True}]), False),
    ],
)
def test_a_drain_is_about_pods_that_can_and_must_go(pod: Object, expected: bool) -> None:
    assert is_drainable(pod) is expected


def test_a_pod_that_tolerates_the_disruption_stays() -> None:
    pod = a_pod("p")
    pod["spec"]["tolerations"] = [{"key": "karpenter.sh/disrupted", "operator": "Exists"}]
    assert not is_drainable(pod)
    assert is_protected(a_pod("p", annotations={"karpenter.sh/do-not-disrupt": "true"}))
    assert not is_protected(a_pod("p", annotations={"karpenter.sh/do-not-disrupt": "false"}))


# -- pods nobody wants


def test_pods_of_vanished_nodes_and_of_nobody_are_removed() -> None:
    pods = [
        a_pod("lost", node="gone"),
        a_pod("kept", node="n"),
        a_pod("going", node="n", terminating=True),
        a_pod("nowhere", node="", terminating=True),
        a_pod("stuck", node="broken", terminating=True),
    ]
    broken = a_node(
        "broken", ready="Unknown", taints=[{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]
    )
    doomed = plan_cleaning(pods, {"n": a_node("n"), "broken": broken}, ["gone"])
    assert names(one.pod for one in doomed) == ["lost", "nowhere", "stuck"]
    assert doomed[0].condition is not None and doomed[0].condition["message"] == "PodGC: node no longer exists"


def test_of_too_many_finished_pods_the_evicted_and_the_oldest_go_first() -> None:
    pods = [a_pod("old", "Succeeded", age=900), a_pod("young", "Succeeded", age=10), a_pod("evicted", "Failed", age=5)]
    pods[2]["status"]["reason"] = "Evicted"
    assert names(one.pod for one in plan_cleaning(pods, {"a": a_node("a")}, [], most_finished=1)) == ["evicted", "old"]
    assert plan_cleaning(pods, {"a": a_node("a")}, [], most_finished=3) == []


def test_a_controller_adopts_matching_orphans_and_lets_strangers_loose() -> None:
    owner = {"metadata": {"name": "o", "uid": "o"}}
    matches = compile_map({"app": "x"})
    own = [a_pod("mine", labels={"app": "x"}), a_pod("stranger", labels={"app": "y"})]
    orphans = [
        a_pod("orphan", labels={"app": "x"}),
        a_pod("other"),
        a_pod("dying", labels={"app": "x"}, terminating=True),
    ]
    claims = plan_claims(owner, matches, own, orphans)
    assert (names(claims.owned), names(claims.adopt), names(claims.disown)) == (["mine"], ["orphan"], ["stranger"])
    ending = plan_claims({"metadata": {"name": "o", "uid": "o", "deletionTimestamp": ago(0)}}, matches, own, orphans)
    assert (names(ending.owned), ending.adopt, ending.disown) == (["mine"], (), ())


# -- endpoints


def serving(name: str, ip: str = "10.0.0.1", port: int = 8080, **kwargs: Any) -> Object:
    pod = a_pod(name, **kwargs)
    pod["status"]["podIP"] = ip
    pod["spec"]["containers"] = [{"name": "main", "ports": [{"name": "http", "containerPort": port}]}]
    return pod


def a_service(**spec: Any) -> Object:
    ports = [{"name": "web", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    return {"metadata": {"name": "s", "namespace": "default", "uid": "s"}, "spec": {"ports": ports, **spec}}


def test_an_endpoint_tells_where_a_pod_is_and_how_it_is() -> None:
    pods = [serving("up"), serving("down", ready=False), serving("going", terminating=True), a_pod("no-address")]
    [plan] = plan_slices(a_service(), pods, {"a": "zone-1"}, [])
    assert plan.ports == [{"name": "web", "port": 8080, "protocol": "TCP"}]
    told = {one["targetRef"]["name"]: one["conditions"] for one in plan.endpoints}
    assert told == {
        "up": {"ready": True, "serving": True, "terminating": False},
        "down": {"ready": False, "serving": False, "terminating": False},
        "going": {"ready": False, "serving": True, "terminating": True},
    }
    assert plan.endpoints[0] == {
        "addresses": ["10.0.0.1"],
        "conditions": told["up"],
        "targetRef": {"kind": "Pod", "namespace": "default", "name": "up", "uid": "uid-up"},
        "nodeName": "a",
        "zone": "zone-1",
    }


def test_a_service_that_publishes_everything_calls_everything_ready() -> None:
    [plan] = plan_slices(a_service(publishNotReadyAddresses=True), [serving("down", ready=False)], {}, [])
    assert plan.endpoints[0]["conditions"]["ready"]


def test_pods_whose_named_port_differs_are_in_slices_of_their_own() -> None:
    plans = plan_slices(a_service(), [serving("p"), serving("q", port=9090)], {}, [])
    assert [plan.ports[0]["port"] for plan in plans] == [8080, 9090]


def test_one_pod_more_or_less_changes_one_slice() -> None:
    pods = [serving(f"p{number:03}", ip=f"10.0.0.{number}") for number in range(150)]
    first = plan_slices(a_service(), pods, {}, [])
    assert [len(plan.endpoints) for plan in first] == [100, 50]
    current = [
        {"metadata": {"name": str(place), "uid": str(place)}, "ports": plan.ports, "endpoints": plan.endpoints}
        for place, plan in enumerate(first)
    ]
    later = plan_slices(a_service(), [*pods[1:], serving("new")], {}, current)
    assert [len(plan.endpoints) for plan in later] == [100, 50]
    assert later[1].endpoints == first[1].endpoints
    assert [one["targetRef"]["name"] for one in later[0].endpoints][-1] == "new"


def test_a_service_without_pods_has_one_empty_slice() -> None:
    [plan] = plan_slices(a_service(), [], {}, [])
    assert (plan.ports, plan.endpoints, plan.current) == ((), [], None)


# -- namespaces


def test_a_namespace_tells_what_holds_it_up() -> None:
    remains = Remains(counts={"pods.": 2}, finalizers={"example.com/x": 1})
    told = {one["type"]: one for one in compute_conditions({"status": {}}, remains, NOW)}
    assert (
        told["NamespaceContentRemaining"]["message"] == "Some resources are remaining: pods. has 2 resource instances"
    )
    assert told["NamespaceFinalizersRemaining"]["message"] == (
        "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances"
    )
    assert told["NamespaceDeletionContentFailure"]["status"] == "False"
