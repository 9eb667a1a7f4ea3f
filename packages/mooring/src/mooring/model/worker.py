"""A worker: one pod of a pool, and its state."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

from mooring.model.why import Why


class WorkerState(StrEnum):
    """The states of a worker; part of the public contract."""

    STARTING = "starting"
    IDLE = "idle"
    CLAIMED = "claimed"
    BUSY = "busy"
    DRAINING = "draining"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Stamp:
    """The owner and claim of a worker, as its pod carries them."""

    owner: str
    claim: str
    epoch: int  # 0 if it cannot be read
    stamped_at: datetime | None
    seal: str = ""
    unreadable: bool = False  # the pod carries an epoch that is not one


@dataclass(frozen=True, slots=True)
class Marks:
    """The protection marks on a worker's pod.

    For Karpenter, for the cluster autoscaler and for the disruption budget.
    """

    do_not_disrupt: bool
    not_safe_to_evict: bool
    busy: bool

    @property
    def complete(self) -> bool:
        """Whether all marks are set."""
        return self.do_not_disrupt and self.not_safe_to_evict and self.busy

    @property
    def absent(self) -> bool:
        """Whether no mark is set."""
        return not (self.do_not_disrupt or self.not_safe_to_evict or self.busy)


MARKED = Marks(True, True, True)
UNMARKED = Marks(False, False, False)


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker pod, completely read from the cluster."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    pool: str
    pool_uid: str
    created_at: datetime
    spec_hash: str
    node: str = ""
    phase: str = "Pending"
    ready: bool = False
    ready_since: datetime | None = None
    terminating_since: datetime | None = None
    deletion_due: datetime | None = None
    stamp: Stamp | None = None
    marks: Marks = UNMARKED
    address: str = ""
    unschedulable: str = ""
    unschedulable_since: datetime | None = None
    waiting: str = ""
    waiting_message: str = ""
    restarts: int = 0
    finalizers: tuple[str, ...] = ()
    started_at: datetime | None = None  # when its kubelet accepted it
    unready_since: datetime | None = None  # since its start, if it was never ready
    finished_at: datetime | None = None  # when the last of its containers ended, if all have ended
    failure: str = ""  # why its kubelet failed it
    ended: str = ""  # how its containers ended, if none is running
    avoids: frozenset[str] = frozenset()  # names of nodes that it may not run on
    unproven_since: datetime | None = None  # adopted then, and not yet proven to be idle
    placement: str = ""  # fingerprint of the placement it was created with
    tenant: str = ""  # owner of its last session, in pools that keep owners apart
    tenant_since: datetime | None = None  # when that session gave it back

    @property
    def finished(self) -> bool:
        """Whether all its containers have ended for good."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def protected(self) -> bool:
        """Whether any protection mark is set."""
        return not self.marks.absent


class ClassifiedWorker(msgspec.Struct, frozen=True, gc=False):
    """A worker with its state and reason. Without cycles, so the garbage collector need not walk a whole fleet."""

    worker: Worker
    state: WorkerState
    why: Why
    live_claims: int = 0
    idle_since: datetime | None = None
