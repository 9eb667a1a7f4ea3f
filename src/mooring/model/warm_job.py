"""The Job that warms one shard on one node, and the pod that runs for it, as far as planning needs them."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class WarmJob:
    """A Job with a dataset's label. Without `owner_uid` some other tool made it."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created_at: datetime
    dataset: str = ""  # the value of the label
    node: str = ""  # the one node it is pinned to; empty when it is not pinned
    hostname: str = ""  # instead: the value of the label that its node carries, which need not be the node's name
    owner_uid: str = ""
    shard: int | None = None
    node_uid: str = ""
    generation: str = ""
    spec_hash: str = ""
    round: str = ""
    complete: bool = False
    failed: bool = False
    failure: str = ""
    finished_at: datetime | None = None
    deleting: bool = False

    @property
    def finished(self) -> bool:
        return self.complete or self.failed


@dataclass(frozen=True, slots=True)
class WarmPod:
    """How far the pod of a Job is: `container` runs now or failed last."""

    namespace: str
    name: str
    uid: str
    job_uid: str
    created_at: datetime
    container: str = ""
    running: bool = False
    restarts: int = 0  # the most of any init container
    failing: str = ""  # the init container that restarted most
    waiting: str = ""  # why it waits, as the kubelet or the scheduler says
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a Job could not be made. A `final` answer stays the same until the Warmup changes."""

    why: str
    final: bool = False
