"""The judge of fit: the scheduler's first failing filter, and every obstacle for explanations."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawser.fitting.capacity import NodeState, state_of
from hawser.fitting.judge import decisive, find_obstacles, judge
from hawser.fitting.needs import PodNeeds, read_needs
from hawser.fitting.obstacles import CORDONED, NOT_SELECTED, OTHER_NODE, PORTS_TAKEN, TOO_MANY_PODS, VOLUME_ZONE
from hawser.fitting.topology import UNCONSTRAINED
from hawser.fitting.volumes import BoundVolume

CORDON_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
FAR_VOLUME = BoundVolume(None, (("topology.kubernetes.io/zone", frozenset({"far"})),))


def pod(name: str = "pod", cpu: str = "1", **spec: Any) -> PodNeeds:
    ports = [{"containerPort": port, "hostPort": port} for port in spec.pop("host_ports", ())]
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}, "ports": ports}
    return read_needs({"metadata": {"uid": name, "name": name}, "spec": {"containers": [container], **spec}})


def node(*residents: PodNeeds, cpu: str = "4", pods: str = "10", **spec: Any) -> NodeState:
    state = state_of(
        {
            "metadata": {"name": "node", "labels": {"pool": "a", "topology.kubernetes.io/zone": "near"}},
            "spec": spec,
            "status": {"allocatable": {"cpu": cpu, "pods": pods}},
        }
    )
    for resident in residents:
        state.add(resident)
    return state


def taint(key: str, effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": key, "effect": effect}


def test_a_pod_without_obstacles_fits() -> None:
    verdict = judge(pod(), node(), UNCONSTRAINED)
    assert (verdict.fits, verdict.reasons, verdict.preemptible) == (True, (), False)


def test_every_obstacle_is_found_in_the_order_of_the_filters() -> None:
    resident = pod("resident", cpu="3", host_ports=[80])
    wanted = pod(cpu="2", host_ports=[80], nodeName="other", nodeSelector={"pool": "b"})
    here = node(resident, pods="1", unschedulable=True, taints=[CORDON_TAINT, taint("gpu")])
    found = find_obstacles(wanted, here, UNCONSTRAINED, [FAR_VOLUME])
    assert [one.reason for one in found] == [
        CORDONED.reason,
        OTHER_NODE.reason,
        "node(s) had untolerated taint(s)",
        NOT_SELECTED.reason,
        PORTS_TAKEN.reason,
        TOO_MANY_PODS.reason,
        "Insufficient cpu",
        VOLUME_ZONE.reason,
    ]
    assert found[2].taint == taint("gpu")
    assert found[3].missing == (("pool", "b"),)
    assert [one.resource for one in found[5:7]] == ["pods", "cpu"]


def test_the_scheduler_names_the_first_obstacle_and_no_other() -> None:
    here = node(unschedulable=True, taints=[taint("gpu")])
    assert judge(pod(cpu="9"), here, UNCONSTRAINED).reasons == (CORDONED.reason,)
    assert judge(pod(), node(taints=[taint("a"), taint("b")]), UNCONSTRAINED).reasons == (
        "node(s) had untolerated taint(s)",
    )


def test_the_scheduler_names_every_resource_that_is_short() -> None:
    here = node(pod("resident", cpu="4"), pods="1")
    assert judge(pod(cpu="1"), here, UNCONSTRAINED, [FAR_VOLUME]).reasons == ("Too many pods", "Insufficient cpu")


@pytest.mark.parametrize(("cpu", "preemptible"), [("4", True), ("5", False)])
def test_preemption_cannot_help_a_pod_that_is_larger_than_the_node(cpu: str, preemptible: bool) -> None:
    assert judge(pod(cpu=cpu), node(pod("resident")), UNCONSTRAINED).preemptible is preemptible


def test_the_taint_of_a_cordon_is_one_obstacle_with_it() -> None:
    here = node(unschedulable=True, taints=[CORDON_TAINT])
    assert find_obstacles(pod(), here, UNCONSTRAINED) == (CORDONED,)
    tolerant = pod(tolerations=[{"key": CORDON_TAINT["key"], "operator": "Exists"}])
    assert find_obstacles(tolerant, here, UNCONSTRAINED) == ()


@given(
    wanted=st.builds(
        pod,
        cpu=st.sampled_from(["0", "1", "3", "9"]),
        nodeSelector=st.sampled_from([{}, {"pool": "a"}, {"pool": "b"}]),
        tolerations=st.lists(
            st.sampled_from([{"operator": "Exists"}, {"key": "gpu", "operator": "Exists"}]), max_size=1
        ),
        host_ports=st.sampled_from([[], [80]]),
    ),
    here=st.builds(
        node,
        pods=st.sampled_from(["0", "1", "9"]),
        unschedulable=st.booleans(),
        taints=st.lists(st.sampled_from([taint("gpu"), taint("old", "NoExecute"), CORDON_TAINT])),
    ),
    full=st.booleans(),
    volumes=st.lists(st.just(FAR_VOLUME), max_size=1),
)
def test_the_verdict_is_the_decisive_part_of_all_obstacles(
    wanted: PodNeeds, here: NodeState, full: bool, volumes: list[BoundVolume]
) -> None:
    if full:
        here.add(pod("resident", cpu="2", host_ports=[80]))
    every = find_obstacles(wanted, here, UNCONSTRAINED, volumes)
    assert judge(wanted, here, UNCONSTRAINED, volumes).obstacles == decisive(every)
