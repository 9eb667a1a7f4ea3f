"""The fix of a service that no node takes is a command, and where it changes something, it helps."""

import json
import shlex
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.model.node import Node, Taint
from mooring.model.placement import Placement
from mooring.model.service import Service, ServiceSpec
from mooring.planning.placement import plan_placement
from mooring.planning.services.preflight import PlacementCheck, check_placement
from packages.mooring.tests.planning.fleets import node

ROOM = {"cpu": 8000, "memory": 32 * 1024**3, "pods": 110}
DEDICATED, SYSTEM = Taint("dedicated", "x"), Taint("CriticalAddonsOnly", "true")
CORDONED, BROKEN = Taint("node.kubernetes.io/unschedulable"), Taint("node.kubernetes.io/not-ready", "", "NoExecute")


def work(name: str = "n", pool: str = "", *taints: Taint, **changes: Any) -> Node:
    labels = {"workload": pool} if pool else {}
    return node(name, **{"labels": labels, "taints": taints, "allocatable": ROOM, **changes})


def closed(name: str, pool: str = "") -> Node:
    return work(name, pool, Taint("workload", pool), CORDONED, unschedulable=True)


def placement_check(placement: Placement, *nodes: Node) -> PlacementCheck:
    service = Service("ns", "api", "uid", 1, ServiceSpec(image="api:1", port=80, placement=placement))
    return check_placement(service, plan_placement(placement, nodes), nodes)


def carried_out(fix: str, placement: Placement, nodes: tuple[Node, ...]) -> tuple[Placement, tuple[Node, ...]] | None:
    """The placement and the nodes after the commands; None when they only look."""
    for command in fix.split(" && "):
        match shlex.split(command):
            case ["kubectl", "-n", "ns", "patch", "managedservice", "api", "--type", "merge", "-p", body]:
                change = json.loads(body)["spec"]["placement"]
                merged = {**msgspec.to_builtins(placement), **change}
                placement = msgspec.convert({k: v for k, v in merged.items() if v is not None}, Placement)
            case ["kubectl", "uncordon", name]:
                nodes = tuple(
                    replace(one, unschedulable=False, taints=tuple(t for t in one.taints if t != CORDONED))
                    if one.name == name
                    else one
                    for one in nodes
                )
            case ["kubectl", "describe", "node", name]:
                assert name in {one.name for one in nodes}
                return None
            case ["kubectl", "get", "nodes", "-o", "wide"]:
                return None
            case unknown:
                raise AssertionError(f"nobody can run {unknown}")
    return placement, nodes


@pytest.mark.parametrize(
    ("placement", "nodes", "fix"),
    [
        (
            Placement(),
            [work("n", "", DEDICATED), work("s", "", SYSTEM)],
            'patch managedservice api --type merge -p \'{"spec": {"placement": {"tolerations": [{"key": "dedicated", '
            '"operator": "Equal", "value": "x", "effect": "NoSchedule"}]}}}\'',
        ),
        (Placement(), [work("n", "blast", Taint("workload", "blast"))], '{"nodePool": "blast"}'),
        (Placement(node_pool="nope"), [work("n")], '{"placement": {"nodePool": null}}'),
        (
            Placement(node_pool="nope"),
            [closed("w1", "blast"), closed("w2", "blast")],
            '{"placement": {"nodePool": "blast"}}}\' && kubectl uncordon w1',
        ),
        (Placement(node_pool="blast"), [closed("w1", "blast"), closed("w2", "blast")], "kubectl uncordon w1"),
        (Placement(node_selector={"disk": "ssd"}), [work("n")], '{"placement": {"nodeSelector": null}}'),
        (Placement(node_pool="blast"), [work("n", "blast", BROKEN), work("o", "", BROKEN)], "kubectl describe node n"),
        (Placement(), [work("s", "", SYSTEM)], "kubectl get nodes -o wide"),
        (Placement(), [], "kubectl get nodes -o wide"),
    ],
)
def test_the_fix_is_the_command_that_opens_a_node(placement: Placement, nodes: list[Node], fix: str):
    found = placement_check(placement, *nodes)
    assert not found.fits and fix in found.fix


nodes_of_all_kinds = st.lists(
    st.builds(
        lambda pool, taints, cordoned, disk: work(
            "n",
            pool,
            *taints,
            *((CORDONED,) if cordoned else ()),
            unschedulable=cordoned,
            labels={**({"workload": pool} if pool else {}), **({"disk": disk} if disk else {})},
        ),
        st.sampled_from(["", "blast", "gpu"]),
        st.lists(st.sampled_from([DEDICATED, SYSTEM, BROKEN, Taint("gpu"), Taint("soft", "", "PreferNoSchedule")])),
        st.booleans(),
        st.sampled_from(["", "ssd"]),
    ),
    max_size=4,
).map(lambda found: tuple(replace(one, name=f"n{index}") for index, one in enumerate(found)))
tolerations = st.lists(st.sampled_from([{"key": "gpu", "operator": "Exists"}]), max_size=1)
placements = st.builds(
    Placement, node_pool=st.sampled_from(["", "blast", "nope"]), tolerations=tolerations
) | st.builds(
    Placement, node_selector=st.sampled_from([{}, {"disk": "ssd"}, {"disk": "tape"}]), tolerations=tolerations
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(placements, nodes_of_all_kinds)
def test_whatever_keeps_a_service_off_every_node_its_fix_is_a_command_that_helps_or_looks(
    placement: Placement, nodes: tuple[Node, ...]
):
    found = placement_check(placement, *nodes)
    if found.fits:
        return
    after = carried_out(found.fix, placement, nodes)
    if after is not None:
        changed, there = after
        assert placement_check(changed, *there).fits, found.fix
    elif any(all(taint not in (SYSTEM, BROKEN) for taint in one.taints) for one in nodes):
        raise AssertionError(f"a node could be opened, and it only says {found.fix}")
