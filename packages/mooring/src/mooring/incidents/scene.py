"""A stage at one moment, as a map shows it: nodes, the workers and other pods of the story, control planes, gauges."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hawser.views import Pod
from mooring.model import names

_CRASHES = "CrashLoopBackOff"


@dataclass(frozen=True, slots=True)
class Cell:
    """One pod: where it is, its state, and whether it is protected from disruption."""

    name: str
    node: str
    state: str
    protected: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that a map shows. `nodes` has `open` or `draining` for each name, `control_planes` whether it runs."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, Cell] = field(default_factory=dict)  # by pod uid
    control_planes: Mapping[str, bool] = field(default_factory=dict)
    gauges: Mapping[str, object] = field(default_factory=dict)


def compute_cells(pods: Iterable[Pod]) -> dict[str, Cell]:
    """The pods that a controller made, by uid; a pod without one is a stranger that only shares a node."""
    return {
        pod.metadata.uid: Cell(
            pod.metadata.name,
            pod.spec.node_name,
            classify_pod(pod),
            names.DO_NOT_DISRUPT in pod.metadata.annotations,
        )
        for pod in pods
        if names.POOL in pod.metadata.labels or pod.metadata.owner_references
    }


def classify_pod(pod: Pod) -> str:
    """The state of a cell: starting, idle, busy, done, failed or draining."""
    if pod.terminating:
        return "draining"
    if pod.status.phase == "Succeeded":
        return "done"
    if pod.status.phase == "Failed" or _crashes(pod):
        return "failed"
    if not pod.ready:
        return "starting"
    return "idle" if names.POOL in pod.metadata.labels and names.OWNER not in pod.metadata.labels else "busy"


def _crashes(pod: Pod) -> bool:
    waiting = [status.state.waiting for status in pod.status.container_statuses]
    return any(one is not None and one.reason == _CRASHES for one in waiting)
