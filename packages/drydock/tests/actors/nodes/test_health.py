"""Silent nodes, taints and sick zones, as tables."""

from datetime import timedelta
from typing import Any

import pytest

from drydock.actors.nodes.health import (
    rate_zones,
    silenced_conditions,
    with_execute_taint,
    with_schedule_taints,
)
from drydock.actors.nodes.taint_eviction import patience
from packages.drydock.tests.actors.shapes import NOW, UNREACHABLE, a_node

Object = dict[str, Any]


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
