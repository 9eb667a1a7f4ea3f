"""What a kubelet asks of a runtime, and what a runtime reports."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from drydock.streaming.remote_command import CommandOptions, Execution
from hawser.errors import HawserError

Object = dict[str, Any]  # JSON, as the API has it


class ImageFailed(HawserError):
    """An image cannot be had."""

    code = "image_failed"


class StartRefused(HawserError):
    """A container cannot be started; `reason` as in its status: RunContainerError, CreateContainerError..."""

    code = "container_start_refused"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PodPlace:
    """Where a pod is: the node that runs it and its own identity."""

    node: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of the host at a path of the container."""

    source: Path
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """One run of one container: everything a runtime needs to know of it."""

    place: PodPlace
    container: str
    attempt: int
    image: str
    pod: Object
    spec: Object
    address: str
    command: Sequence[str] = ()
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: Sequence[Mount] = ()


@dataclass(frozen=True, slots=True)
class Exit:
    """How a run ended. `signal` is 0 unless one killed it; the exit code is then 128 + signal."""

    code: int
    signal: int = 0
    reason: str = ""
    message: str = ""


class ProbeKind(Enum):
    """Named as in events."""

    STARTUP = "Startup"
    READINESS = "Readiness"
    LIVENESS = "Liveness"


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """One probe's answer."""

    ok: bool
    output: str = ""


class Listener(Protocol):
    """What a kubelet hears of a run."""

    def exited(self, exit: Exit) -> None: ...

    def probed(self, kind: ProbeKind, healthy: bool) -> None:
        """A probe has crossed its threshold, one way or the other."""
        ...

    def probe_failed(self, kind: ProbeKind, output: str) -> None:
        """One probe failed; its threshold may not be reached."""
        ...


class Handle(Protocol):
    """A run that was started."""

    @property
    def container_id(self) -> str: ...

    def watch(self) -> None:
        """Begin probing, as the container's spec says; what comes of it goes to the listener."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal to all of its processes."""
        ...

    async def execute(self, command: Sequence[str], timeout_seconds: float) -> ProbeOutcome:
        """Run a further command beside it, as exec probes and hooks do."""
        ...

    async def open(self, command: Sequence[str], options: CommandOptions) -> Execution:
        """The same with streams, as `kubectl exec` does; it ends with the run. Raises `CommandFailed`."""
        ...


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log, or a piece of one (`whole` is False) that the next piece continues."""

    at: datetime
    text: bytes
    whole: bool = True


class Runtime(Protocol):
    """Runs containers. Everything it started ends with it."""

    @property
    def has_processes(self) -> bool:
        """Whether containers are processes, which commands can join and whose ports can be reached."""
        ...

    def address_of(self, place: PodPlace, wanted: str) -> str:
        """The pod's address: `wanted`, if it can still be had."""
        ...

    def pod_folder(self, place: PodPlace) -> Path | None:
        """Where a pod's volumes are to be written; None when nothing is."""
        ...

    def node_folder(self, node: str) -> Path | None:
        """What stands for the root of that node's disk."""
        ...

    def environment(self, place: PodPlace, container: str) -> Mapping[str, str]:
        """The variables every container has on this runtime; its spec may refer to them and override them."""
        ...

    async def pull(self, image: str, granted: Collection[str]) -> None:
        """Make the image available, or raise `ImageFailed`. `granted` are registries with credentials for it."""
        ...

    async def start(self, run: ContainerRun, listener: Listener) -> Handle:
        """Start it, or raise `StartRefused`."""
        ...

    def log(self, place: PodPlace, container: str, attempt: int, after: int) -> tuple[Sequence[LogLine], int]:
        """The lines from position `after` (0 is the beginning) and the position behind them."""
        ...

    def forget_pod(self, place: PodPlace) -> None:
        """The pod is gone: remove what it left."""
        ...

    def keep_only(self, node: str, uids: Set[str]) -> None:
        """Remove what pods other than these left on the node, in an earlier life."""
        ...

    def wipe_node(self, node: str) -> None:
        """The node's disk is lost."""
        ...
