"""What a kubelet decides and says, as tables: no API, no runtime, no time."""

from datetime import UTC, datetime
from typing import Any

import pytest

from drydock.actors.kubelet.backoff import Backoff, go_duration
from drydock.actors.kubelet.container import (
    LOST,
    Container,
    Role,
    Running,
    State,
    Terminated,
    Waiting,
    containers_of,
)
from drydock.actors.kubelet.plan import PodPlan, plan_pod, plan_stop
from drydock.actors.kubelet.status import PodFacts, compute_phase, compute_status, needs_writing

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FRESH = Waiting("ContainerCreating")
RUNNING = Running(NOW)
GOOD = Terminated(0, "Completed", NOW, NOW)
BAD = Terminated(1, "Error", NOW, NOW)


def container(name: str, state: State = FRESH, role: Role = Role.MAIN, **more: Any) -> Container:
    made = Container({"name": name, "image": "app"}, role, state)
    for field, value in more.items():
        setattr(made, field, value)
    return made


def init(name: str, state: State = FRESH, **more: Any) -> Container:
    return container(name, state, Role.INIT, **more)


def sidecar(name: str, state: State = FRESH, **more: Any) -> Container:
    return container(name, state, Role.SIDECAR, **more)


@pytest.mark.parametrize(
    ("containers", "policy", "plan"),
    [
        ([container("a"), container("b")], "Always", PodPlan(start=("a", "b"))),
        ([container("a", RUNNING), container("b")], "Always", PodPlan(start=("b",))),
        ([container("a", RUNNING)], "Always", PodPlan()),
        ([container("a", starting=True)], "Always", PodPlan()),
        ([container("a", GOOD)], "Always", PodPlan(start=("a",))),
        ([container("a", GOOD)], "OnFailure", PodPlan(over=True)),
        ([container("a", BAD)], "OnFailure", PodPlan(start=("a",))),
        ([container("a", BAD)], "Never", PodPlan(over=True)),
        ([container("a", BAD), container("b", RUNNING)], "Never", PodPlan()),
        ([container("a", GOOD), container("b")], "Never", PodPlan(start=("b",))),
        ([init("i"), container("a")], "Always", PodPlan(start=("i",))),
        ([init("i", RUNNING), container("a")], "Always", PodPlan()),
        ([init("i", GOOD), init("j"), container("a")], "Always", PodPlan(start=("j",))),
        ([init("i", GOOD), container("a")], "Always", PodPlan(start=("a",))),
        ([init("i", BAD), container("a")], "Always", PodPlan(start=("i",))),
        ([init("i", BAD), container("a")], "Never", PodPlan(over=True)),
        ([init("i", GOOD), container("a", LOST)], "Always", PodPlan(start=("a",))),
        ([sidecar("s"), container("a")], "Always", PodPlan(start=("s",))),
        ([sidecar("s", RUNNING), container("a")], "Always", PodPlan()),
        ([sidecar("s", RUNNING, started=True), container("a")], "Always", PodPlan(start=("a",))),
        ([sidecar("s", BAD), container("a", RUNNING)], "Always", PodPlan(start=("s",))),
        ([sidecar("s", RUNNING, started=True), container("a", GOOD)], "Never", PodPlan(stop=("s",))),
        ([sidecar("s", GOOD), container("a", GOOD)], "Never", PodPlan(over=True)),
    ],
)
def test_what_to_start_and_to_stop(containers: list[Container], policy: str, plan: PodPlan) -> None:
    assert plan_pod(containers, policy, now=0.0) == plan


def test_a_container_in_its_back_off_waits_for_the_end_of_it() -> None:
    crashed = container("a", BAD, ended_at=100.0, backoff=Backoff(seconds=20.0, touched_at=90.0))
    assert plan_pod([crashed], "Always", now=105.0) == PodPlan(back_off=("a",), wake_at=120.0)
    assert plan_pod([crashed], "Always", now=120.0) == PodPlan(start=("a",))


def test_a_container_that_could_not_be_configured_waits_without_being_called_crashed() -> None:
    waiting = container("a", Waiting("CreateContainerConfigError"), retry_at=110.0)
    assert plan_pod([waiting], "Always", now=105.0) == PodPlan(wake_at=110.0)


def test_a_pod_ends_with_its_main_containers_first_and_its_sidecars_from_the_last_to_the_first() -> None:
    pod = [
        sidecar("s1", RUNNING, started=True),
        sidecar("s2", RUNNING, started=True),
        container("a", RUNNING),
        container("b", RUNNING),
    ]
    assert plan_stop(pod) == PodPlan(stop=("a", "b"))
    pod[2].stopping = True
    assert plan_stop(pod) == PodPlan(stop=("b",))
    pod[2].state = pod[3].state = GOOD
    assert plan_stop(pod) == PodPlan(stop=("s2",))
    pod[1].state = GOOD
    assert plan_stop(pod) == PodPlan(stop=("s1",))
    pod[0].state = GOOD
    assert plan_stop(pod) == PodPlan(over=True)


@pytest.mark.parametrize(
    ("containers", "policy", "terminal", "phase"),
    [
        ([container("a")], "Always", False, "Pending"),
        ([container("a", RUNNING)], "Always", False, "Running"),
        ([container("a", RUNNING), container("b")], "Always", False, "Pending"),
        ([container("a", BAD)], "Always", False, "Running"),
        ([container("a", Waiting("CrashLoopBackOff"), last=BAD)], "Always", False, "Running"),
        ([container("a", GOOD)], "Always", True, "Succeeded"),
        ([container("a", BAD)], "Always", True, "Failed"),
        ([container("a", GOOD)], "OnFailure", False, "Succeeded"),
        ([container("a", BAD)], "OnFailure", False, "Running"),
        ([container("a", BAD)], "Never", False, "Failed"),
        ([container("a", GOOD), container("b", BAD)], "Never", False, "Failed"),
        ([container("a", GOOD), container("b", RUNNING)], "Never", False, "Running"),
        ([init("i", RUNNING), container("a")], "Always", False, "Pending"),
        ([init("i", BAD), container("a")], "Always", False, "Pending"),
        ([init("i", BAD), container("a")], "Never", False, "Failed"),
        ([sidecar("s", RUNNING, started=True), container("a")], "Always", False, "Pending"),
        ([sidecar("s", RUNNING, started=True), container("a", GOOD)], "Never", False, "Running"),
        ([container("a")], "Always", True, "Failed"),
    ],
)
def test_the_phase_of_a_pod(containers: list[Container], policy: str, terminal: bool, phase: str) -> None:
    assert compute_phase(containers, policy, terminal) == phase


def facts(**more: Any) -> PodFacts:
    return PodFacts("127.64.0.1", "127.0.0.1", NOW, prepared=True, **more)


def pod(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": {"containers": []}, "status": status}


def conditions(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["type"]: entry for entry in status["conditions"]}


def test_ready_needs_every_container_and_every_gate() -> None:
    gated = pod()
    gated["spec"]["readinessGates"] = [{"conditionType": "example.com/Ok"}]
    both = [container("a", RUNNING, ready=True), container("b", RUNNING)]
    unready = conditions(compute_status(gated, both, facts(), NOW))
    assert unready["Ready"]["message"] == "containers with unready status: [b]"
    both[1].ready = True
    blocked = conditions(compute_status(gated, both, facts(), NOW))
    assert blocked["ContainersReady"]["status"] == "True"
    assert blocked["Ready"]["reason"] == "ReadinessGatesNotReady"
    gated["status"]["conditions"] = [{"type": "example.com/Ok", "status": "True"}]
    assert conditions(compute_status(gated, both, facts(), NOW))["Ready"]["status"] == "True"


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    earlier = "2026-02-01T00:00:00Z"
    old = pod(conditions=[{"type": "Ready", "status": "True", "lastTransitionTime": earlier}])
    same = compute_status(old, [container("a", RUNNING, ready=True)], facts(), NOW)
    changed = compute_status(old, [container("a", RUNNING)], facts(), NOW)
    assert conditions(same)["Ready"]["lastTransitionTime"] == earlier
    assert conditions(changed)["Ready"]["lastTransitionTime"] == "2026-03-01T00:00:00Z"


def test_a_pod_never_leaves_its_last_phase() -> None:
    assert compute_status(pod(phase="Failed"), [container("a", RUNNING)], facts(), NOW)["phase"] == "Failed"


def test_what_the_api_holds_already_is_not_written_again() -> None:
    status = compute_status(pod(), [container("a", RUNNING, ready=True)], facts(), NOW)
    held = {**status, "qosClass": "BestEffort", "containerStatuses": [dict(status["containerStatuses"][0])]}
    del held["containerStatuses"][0]["lastState"]  # the API leaves out what is empty
    assert not needs_writing(held, status)
    held["phase"] = "Pending"
    assert needs_writing(held, status)


def test_what_a_dead_kubelet_left_running_is_lost_and_what_it_saw_end_is_kept() -> None:
    seen = pod(
        containerStatuses=[
            {"name": "a", "restartCount": 2, "state": {"running": {"startedAt": "2026-02-01T00:00:00Z"}}},
            {"name": "b", "restartCount": 0, "state": {"terminated": {"exitCode": 4, "reason": "Error"}}},
        ]
    )
    seen["spec"]["containers"] = [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]
    a, b = containers_of(seen)
    assert (a.state, a.restart_count) == (LOST, 2)
    assert isinstance(b.state, Terminated)
    assert b.state.exit_code == 4


def test_durations_read_as_go_writes_them() -> None:
    assert [go_duration(seconds) for seconds in (10, 80, 300)] == ["10s", "1m20s", "5m0s"]
