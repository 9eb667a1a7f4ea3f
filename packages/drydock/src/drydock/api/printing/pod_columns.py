"""What `kubectl get pods` shows: readiness, the one-word status and restarts of a pod."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from drydock.api.kinds.kind import Object
from drydock.api.printing.ages import since
from drydock.api.printing.cells import NONE

_TERMINAL = ("Succeeded", "Failed")
_UNREACHABLE = "NodeLost"


@dataclass(slots=True)
class _Tally:
    """What the walk over a pod's containers has found so far."""

    word: str
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""

    def count(self, container: Object) -> None:
        self.restarts += container.get("restartCount", 0)
        finished = _state(container, "lastState", "terminated").get("finishedAt") or ""
        self.last_restart = max(self.last_restart, finished)


def pod_ready(pod: Object, now: datetime) -> str:
    """`1/2`: containers that are ready, of those that should be."""
    total = len(_spec(pod).get("containers", [])) + len(_sidecars(pod))
    return f"{_examine(pod).ready}/{total}"


def pod_status(pod: Object, now: datetime) -> str:
    """One word for where the pod is: its phase, or what its containers say instead."""
    if pod["metadata"].get("deletionTimestamp"):
        if _status(pod).get("reason") == _UNREACHABLE:
            return "Unknown"
        if _status(pod).get("phase") not in _TERMINAL:
            return "Terminating"
    return _examine(pod).word


def pod_restarts(pod: Object, now: datetime) -> str:
    """How often containers were restarted, and when last."""
    tally = _examine(pod)
    if tally.restarts and tally.last_restart:
        return f"{tally.restarts} ({since(tally.last_restart, now)} ago)"
    return str(tally.restarts)


def pod_address(pod: Object, now: datetime) -> str:
    addresses = _status(pod).get("podIPs") or [{"ip": _status(pod).get("podIP")}]
    return addresses[0].get("ip") or NONE


def pod_gates(pod: Object, now: datetime) -> str:
    """`1/2`: readiness gates whose condition is true."""
    gates = _spec(pod).get("readinessGates") or []
    if not gates:
        return NONE
    return f"{sum(_holds(pod, gate['conditionType']) for gate in gates)}/{len(gates)}"


def pod_conditions(pod: Object) -> list[dict[str, str]]:
    """Marks the rows of pods that have ended, so that kubectl may hide them."""
    phase = _status(pod).get("phase")
    if phase not in _TERMINAL:
        return []
    return [
        {"type": "Completed", "status": "True", "reason": phase, "message": f"the pod has {_PAST[phase]}"},
    ]


_PAST = {"Succeeded": "run to its end", "Failed": "ended with an error"}


def _examine(pod: Object) -> _Tally:
    status = _status(pod)
    word = status.get("reason") or status.get("phase") or ""
    for condition in status.get("conditions", []):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            word = "SchedulingGated"
    tally = _Tally(word)
    initializing = _examine_init(pod, tally)
    if not initializing or _holds(pod, "Initialized"):
        _examine_main(pod, tally)
    return tally


def _examine_init(pod: Object, tally: _Tally) -> bool:
    """Is the pod still (or stuck) in its init containers?"""
    sidecars = _sidecars(pod)
    total = len(_spec(pod).get("initContainers", []))
    for index, container in enumerate(_status(pod).get("initContainerStatuses", [])):
        tally.count(container)
        terminated = container.get("state", {}).get("terminated")
        if terminated is not None and terminated.get("exitCode") == 0:
            continue
        if container["name"] in sidecars and container.get("started"):
            tally.ready += bool(container.get("ready"))
            continue
        waiting = _state(container, "state", "waiting").get("reason") or ""
        if terminated is not None:
            tally.word = f"Init:{_ending(terminated)}"
        elif waiting and waiting != "PodInitializing":
            tally.word = f"Init:{waiting}"
        else:
            tally.word = f"Init:{index}/{total}"
        return True
    return False


def _examine_main(pod: Object, tally: _Tally) -> None:
    sidecars = _sidecars(pod)
    tally.restarts, tally.last_restart = 0, ""
    for container in _status(pod).get("initContainerStatuses", []):
        if container["name"] in sidecars:
            tally.count(container)
    running, failure = False, ""
    for container in reversed(_status(pod).get("containerStatuses", [])):
        tally.count(container)
        state = container.get("state", {})
        if waiting := _state(container, "state", "waiting").get("reason"):
            tally.word = waiting
        elif (terminated := state.get("terminated")) is not None:
            tally.word = _ending(terminated)
            failure = tally.word if terminated.get("exitCode") else failure
        elif container.get("ready") and state.get("running") is not None:
            running = True
            tally.ready += 1
    if tally.word == "Completed":
        tally.word = _word_of_completed(pod, running, failure)


def _word_of_completed(pod: Object, running: bool, failure: str) -> str:
    if running and _holds(pod, "Ready"):
        return "Running"
    return failure or ("NotReady" if running else "Completed")


def _ending(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _sidecars(pod: Object) -> frozenset[str]:
    return frozenset(
        container["name"]
        for container in _spec(pod).get("initContainers", [])
        if container.get("restartPolicy") == "Always"
    )


def _holds(pod: Object, condition: str) -> bool:
    return any(each.get("status") == "True" for each in _conditions(pod) if each.get("type") == condition)


def _conditions(pod: Object) -> Iterator[Object]:
    yield from _status(pod).get("conditions", [])


def _state(container: Object, field: str, state: str) -> Object:
    found: Any = (container.get(field) or {}).get(state)
    return found if isinstance(found, dict) else {}


def _spec(pod: Object) -> Object:
    return pod.get("spec") or {}


def _status(pod: Object) -> Object:
    return pod.get("status") or {}
