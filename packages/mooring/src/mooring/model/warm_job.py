"""The Job that warms one shard on one node, and its pod."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class WarmJob:
    """A Job with a dataset's label. Without `owner_uid` another tool created it."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created_at: datetime
    dataset: str = ""  # the value of the label
    node: str = ""  # the node it is pinned to; empty if it is not pinned
    hostname: str = ""  # alternatively the hostname label it is pinned to, which can differ from the node's name
    owner_uid: str = ""
    shard: int | None = None
    node_uid: str = ""
    generation: str = ""
    spec_hash: str = ""
    template_hash: str = ""  # of the PodTemplate it was made with; empty if there was none
    round: str = ""
    complete: bool = False
    failed: bool = False
    failure: str = ""
    finished_at: datetime | None = None
    deleting: bool = False
    adopted: str = ""  # the selector that it matches, if another tool made it and the Warmup adopts it
    owner: str = ""  # kind and name of the controller that manages an adopted Job

    @property
    def finished(self) -> bool:
        return self.complete or self.failed


@dataclass(frozen=True, slots=True)
class WarmPod:
    """The progress of a Job's pod: `container` runs now or failed last."""

    namespace: str
    name: str
    uid: str
    job_uid: str
    created_at: datetime
    container: str = ""
    running: bool = False
    restarts: int = 0  # the highest of its init containers
    failing: str = ""  # the init container with most restarts
    waiting: str = ""  # why it waits, from the kubelet or the scheduler
    finished: bool = False
    node: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a Job could not be created. A `final` refusal stays until the Warmup changes."""

    why: str
    final: bool = False
