"""A worker: one pod of a pool, and the state that everybody sees it in."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mooring.model.why import Why


class WorkerState(StrEnum):
    """The states of the contract."""

    STARTING = "starting"
    IDLE = "idle"
    CLAIMED = "claimed"
    BUSY = "busy"
    DRAINING = "draining"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Whose a worker is, as written on its pod."""

    owner: str
    claim: str
    epoch: int
    stamped_at: datetime | None


@dataclass(frozen=True, slots=True)
class Shield:
    """What keeps a worker from being disturbed, as written on its pod: for Karpenter, the autoscaler and the budget."""

    do_not_disrupt: bool
    not_safe_to_evict: bool
    busy: bool

    @property
    def up(self) -> bool:
        """Whether all of it is there."""
        return self.do_not_disrupt and self.not_safe_to_evict and self.busy

    @property
    def down(self) -> bool:
        """Whether nothing of it is there."""
        return not (self.do_not_disrupt or self.not_safe_to_evict or self.busy)


SHIELD_UP = Shield(True, True, True)
SHIELD_DOWN = Shield(False, False, False)


@dataclass(frozen=True, slots=True)
class Worker:
    """What the cluster says about one worker pod; nothing in here is remembered, all of it is read."""

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
    shield: Shield = SHIELD_DOWN
    address: str = ""
    unschedulable: str = ""
    unschedulable_since: datetime | None = None
    waiting: str = ""
    waiting_message: str = ""
    restarts: int = 0
    finalizers: tuple[str, ...] = ()
    started_at: datetime | None = None  # when its kubelet took it
    unready_since: datetime | None = None  # from its start, if it never was ready
    finished_at: datetime | None = None  # when the last of its containers ended, once all have
    failure: str = ""  # why its kubelet gave it up
    ended: str = ""  # how its containers ended, when none of them runs
    avoids: frozenset[str] = frozenset()  # nodes it may not go to, by name
    placement: str = ""  # fingerprint of the terms it was placed on

    @property
    def finished(self) -> bool:
        """Whether its containers ended for good."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def protected(self) -> bool:
        """Whether anything keeps it from being disturbed."""
        return not self.shield.down


@dataclass(frozen=True, slots=True)
class ClassifiedWorker:
    """A worker with its state and the reason for it."""

    worker: Worker
    state: WorkerState
    why: Why
    live_claims: int = 0
    idle_since: datetime | None = None
