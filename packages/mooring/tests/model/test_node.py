"""When a node is on its way out."""

import pytest

from mooring.model.node import Node, Taint


@pytest.mark.parametrize(
    "changes",
    [
        {"unschedulable": True},
        {"terminating": True},
        {"claim_terminating": True},
        *(
            {"taints": (Taint(key),)}
            for key in (
                "karpenter.sh/disrupted",
                "ToBeDeletedByClusterAutoscaler",
                "node.kubernetes.io/unschedulable",
                "node.kubernetes.io/out-of-service",
            )
        ),
    ],
)
def test_whatever_announces_the_end_of_a_node_makes_it_drain(changes):
    assert Node("node-1", "uid", **changes).draining_because


@pytest.mark.parametrize("key", ["workload", "DeletionCandidateOfClusterAutoscaler", "node.kubernetes.io/not-ready"])
def test_other_taints_do_not(key):
    assert not Node("node-1", "uid", taints=(Taint(key),)).draining_because
