"""A pod's status from the records of its containers: a pure function, in the words of Kubernetes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from drydock.actors.kubelet.container import Container, Role, Running, Terminated, Waiting, status_object
from drydock.actors.machinery.objects import Object, find_condition, spec_of, status_of
from hawser.views.base import format_time


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What a status is computed from, beside the containers. `reason` overrides: the kubelet itself failed the pod."""

    address: str
    host_address: str
    started_at: datetime
    prepared: bool  # its volumes and its address are there
    terminal: bool = False
    reason: str = ""
    message: str = ""


def compute_status(pod: Object, containers: Sequence[Container], facts: PodFacts, now: datetime) -> Object:
    """The status to be written, with the conditions of others in it as they were read."""
    old = status_of(pod)
    policy = str(spec_of(pod).get("restartPolicy", "Always"))
    phase = str(old.get("phase", ""))
    if phase not in ("Succeeded", "Failed"):
        phase = "Failed" if facts.reason else compute_phase(containers, policy, facts.terminal)
    status: Object = {
        "phase": phase,
        "conditions": _conditions(pod, containers, facts, phase, now),
        "startTime": format_time(facts.started_at),
        "hostIP": facts.host_address,
        "hostIPs": [{"ip": facts.host_address}],
        "containerStatuses": [status_object(entry) for entry in containers if entry.role is Role.MAIN],
    }
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    if facts.prepared:
        status["podIP"] = facts.address
        status["podIPs"] = [{"ip": facts.address}]
    if inits := [status_object(entry) for entry in containers if entry.role is not Role.MAIN]:
        status["initContainerStatuses"] = inits
    if facts.reason:
        status["reason"] = facts.reason
        status["message"] = facts.message
    return status


def compute_phase(containers: Sequence[Container], restart_policy: str, terminal: bool) -> str:
    """Pending, Running, Succeeded or Failed; `terminal` says that nothing will be started any more."""
    if restart_policy == "Never" and any(_failed(entry) for entry in containers if entry.role is Role.INIT):
        return "Failed"
    mains = [entry for entry in containers if entry.role is Role.MAIN]
    sidecars = [entry for entry in containers if entry.role is Role.SIDECAR]
    begun = any(not _never_started(entry) for entry in mains)
    if not terminal or not begun:
        inits = [entry for entry in containers if entry.role is Role.INIT]
        pending = any(isinstance(entry.state, Running) or _never_started(entry) for entry in inits)
        waiting_sidecar = not begun and any(not entry.started for entry in sidecars)
        if pending or waiting_sidecar or any(_never_started(entry) for entry in mains):
            return "Failed" if terminal else "Pending"
    if any(isinstance(entry.state, Running) for entry in [*mains, *sidecars]):
        return "Running"
    if not terminal and any(_restarts(entry, restart_policy) for entry in mains):
        return "Running"
    ends = [entry.latest_end for entry in mains]
    return "Succeeded" if all(end is not None and end.exit_code == 0 for end in ends) else "Failed"


def _never_started(container: Container) -> bool:
    return isinstance(container.state, Waiting) and container.last is None


def _failed(container: Container) -> bool:
    end = container.latest_end
    return end is not None and end.exit_code != 0


def _restarts(container: Container, restart_policy: str) -> bool:
    end = container.latest_end
    if end is None or restart_policy == "Always":
        return True
    return restart_policy == "OnFailure" and end.exit_code != 0


def _conditions(
    pod: Object, containers: Sequence[Container], facts: PodFacts, phase: str, now: datetime
) -> list[Object]:
    containers_ready = _containers_ready(containers, phase)
    wanted = {
        "PodReadyToStartContainers": {"status": "True" if facts.prepared and not facts.terminal else "False"},
        "Initialized": _initialized(containers, phase),
        "Ready": _ready(pod, containers_ready),
        "ContainersReady": containers_ready,
        "PodScheduled": {"status": "True"},
    }
    foreign = [entry for entry in status_of(pod).get("conditions") or () if entry["type"] not in wanted]
    return [*foreign, *(_stamped(pod, kind, condition, now) for kind, condition in wanted.items())]


def _stamped(pod: Object, kind: str, condition: Mapping[str, str], now: datetime) -> Object:
    """With the time of the last change of its status."""
    old = find_condition(status_of(pod).get("conditions"), kind)
    same = old is not None and old.get("status") == condition["status"]
    since = old["lastTransitionTime"] if old and same and old.get("lastTransitionTime") else format_time(now)
    stamped: Object = {"type": kind, "lastTransitionTime": since, **condition}
    if generation := pod["metadata"].get("generation"):
        stamped["observedGeneration"] = generation
    return stamped


def _containers_ready(containers: Sequence[Container], phase: str) -> dict[str, str]:
    if phase == "Succeeded":
        return {"status": "False", "reason": "PodCompleted"}
    if phase == "Failed":
        return {"status": "False", "reason": "PodFailed"}
    unready = [entry.name for entry in containers if entry.role is not Role.INIT and not entry.ready]
    if unready:
        told = f"containers with unready status: [{' '.join(unready)}]"
        return {"status": "False", "reason": "ContainersNotReady", "message": told}
    return {"status": "True"}


def _ready(pod: Object, containers_ready: Mapping[str, str]) -> dict[str, str]:
    if containers_ready["status"] != "True":
        return dict(containers_ready)
    blocked = []
    for gate in spec_of(pod).get("readinessGates") or ():
        kind = gate["conditionType"]
        condition = find_condition(status_of(pod).get("conditions"), kind)
        if condition is None:
            blocked.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif condition.get("status") != "True":
            told = f'the status of pod readiness gate "{kind}" is not "True", but {condition.get("status")}'
            blocked.append(told)
    if blocked:
        return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(blocked)}
    return {"status": "True"}


def _initialized(containers: Sequence[Container], phase: str) -> dict[str, str]:
    if phase == "Succeeded":
        return {"status": "True", "reason": "PodCompleted"}
    mains = [entry for entry in containers if entry.role is Role.MAIN]
    if any(not _never_started(entry) for entry in mains):
        return {"status": "True"}
    incomplete = [entry.name for entry in containers if entry.role is not Role.MAIN and not _is_done(entry)]
    if incomplete:
        told = f"containers with incomplete status: [{' '.join(incomplete)}]"
        return {"status": "False", "reason": "ContainersNotInitialized", "message": told}
    return {"status": "True"}


def _is_done(container: Container) -> bool:
    if container.role is Role.SIDECAR:
        return container.started
    return isinstance(container.state, Terminated) and container.state.exit_code == 0


def needs_writing(written: Object, status: Object) -> bool:
    """Whether the API's status differs from ours in anything that is ours to say."""
    return any(_bare(written.get(name)) != _bare(value) for name, value in status.items())


def _bare(value: object) -> object:
    """Without what a server leaves out or fills in: nulls and empty objects."""
    match value:
        case dict():
            return {key: _bare(entry) for key, entry in value.items() if entry is not None and entry != {}}
        case list():
            return [_bare(entry) for entry in value]
        case _:
            return value
