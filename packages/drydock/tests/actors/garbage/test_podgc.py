"""Pods nobody wants, as tables."""

from typing import Any

from drydock.actors.garbage.podgc import plan_cleaning
from packages.drydock.tests.actors.shapes import a_node, a_pod, names

Object = dict[str, Any]


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
