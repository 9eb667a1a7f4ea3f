"""What a kubelet remembers of one container of one pod, and how that reads in a pod's status."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from drydock.actors.kubelet.backoff import Backoff
from drydock.actors.machinery.objects import Object, optional_moment, spec_of, status_of
from drydock.runtime.contract import Handle
from hawser.views.base import format_time

CREATING = "ContainerCreating"
INITIALIZING = "PodInitializing"


class Role(Enum):
    """What a container is for; a sidecar is an init container with restartPolicy Always."""

    INIT = "init"
    SIDECAR = "sidecar"
    MAIN = "main"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not started, or not started again."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """Started and not known to have ended."""

    started_at: datetime


@dataclass(frozen=True, slots=True)
class Terminated:
    """Ended."""

    exit_code: int
    reason: str
    started_at: datetime | None
    finished_at: datetime | None
    message: str = ""
    container_id: str = ""


State = Waiting | Running | Terminated

LOST = Terminated(
    137, "ContainerStatusUnknown", None, None, "The container could not be located when the pod was terminated"
)


@dataclass(slots=True)
class Container:
    """One container over all its restarts. What is not given at first is remembered as it happens."""

    spec: Object
    role: Role
    state: State
    last: Terminated | None = field(init=False, default=None)
    restart_count: int = field(init=False, default=0)
    container_id: str = field(init=False, default="")
    ready: bool = field(init=False, default=False)
    started: bool = field(init=False, default=False)
    ended_at: float = field(init=False, default=0.0)  # monotonic; of the latest end
    backoff: Backoff = field(init=False, default_factory=Backoff)
    handle: Handle | None = field(init=False, default=None)
    starting: bool = field(init=False, default=False)
    stopping: bool = field(init=False, default=False)
    retry_at: float = field(init=False, default=0.0)  # monotonic; not before this after a failure to start at all

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def has_run(self) -> bool:
        """Whether some run of it is over."""
        return isinstance(self.state, Terminated) or self.last is not None

    @property
    def latest_end(self) -> Terminated | None:
        """The end of its latest run, unless it runs."""
        match self.state:
            case Terminated() as end:
                return end
            case Waiting():
                return self.last
            case _:
                return None


def containers_of(pod: Object) -> list[Container]:
    """The records of a pod as first seen: from its status, where it has one.

    Nothing survives the kubelet that started it, so what the status calls running is lost.
    """
    status = status_of(pod)
    known = {
        entry["name"]: entry
        for entry in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    }
    spec = spec_of(pod)
    waiting = Waiting(INITIALIZING if spec.get("initContainers") else CREATING)
    found = []
    for container in spec.get("initContainers") or ():
        role = Role.SIDECAR if container.get("restartPolicy") == "Always" else Role.INIT
        found.append(_remembered(container, role, known.get(container["name"]), waiting))
    for container in spec["containers"]:
        found.append(_remembered(container, Role.MAIN, known.get(container["name"]), waiting))
    return found


def _remembered(spec: Object, role: Role, entry: Object | None, waiting: Waiting) -> Container:
    container = Container(spec, role, waiting)
    if entry is None:
        return container
    container.restart_count = int(entry.get("restartCount", 0))
    container.last = _terminated((entry.get("lastState") or {}).get("terminated"))
    state = entry.get("state") or {}
    if ended := _terminated(state.get("terminated")):
        container.state = ended
        container.container_id = str(entry.get("containerID", ""))
        container.ready = role is Role.INIT and ended.exit_code == 0
    elif "running" in state:
        container.state = LOST
    return container


def _terminated(entry: Object | None) -> Terminated | None:
    if not entry:
        return None
    return Terminated(
        exit_code=int(entry.get("exitCode", 0)),
        reason=str(entry.get("reason", "")),
        started_at=optional_moment(entry.get("startedAt")),
        finished_at=optional_moment(entry.get("finishedAt")),
        message=str(entry.get("message", "")),
        container_id=str(entry.get("containerID", "")),
    )


def state_object(state: State) -> Object:
    """A v1.ContainerState."""
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        case Running(started_at):
            return {"running": {"startedAt": format_time(started_at)}}
        case Terminated() as end:
            return {"terminated": _terminated_object(end)}


def _terminated_object(end: Terminated) -> Object:
    entry: Object = {
        "exitCode": end.exit_code,
        "startedAt": format_time(end.started_at) if end.started_at else None,
        "finishedAt": format_time(end.finished_at) if end.finished_at else None,
    }
    for name, value in (("reason", end.reason), ("message", end.message), ("containerID", end.container_id)):
        if value:
            entry[name] = value
    return entry


def status_object(container: Container) -> Object:
    """A v1.ContainerStatus."""
    runs = isinstance(container.state, Running)
    entry: Object = {
        "name": container.name,
        "image": container.spec["image"],
        "imageID": _image_id(container) if container.container_id else "",
        "ready": container.ready,
        "restartCount": container.restart_count,
        "started": container.started and runs,
        "state": state_object(container.state),
        "lastState": state_object(container.last) if container.last else {},
    }
    if container.container_id:
        entry["containerID"] = container.container_id
    return entry


def _image_id(container: Container) -> str:
    return f"drydock://{container.spec['image']}"
