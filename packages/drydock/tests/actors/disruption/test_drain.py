"""What a drain is about, and the likeness of a node, as tables."""

from typing import Any

import pytest

from drydock.actors.disruption.drain import is_drainable, is_protected
from drydock.actors.disruption.drift import template_of
from packages.drydock.tests.actors.shapes import UNREACHABLE, a_node, a_pod

Object = dict[str, Any]


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
