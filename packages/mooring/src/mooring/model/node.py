"""A node: what placement and the detection of drains need."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from mooring.model.names import AUTOSCALED_LABEL_PREFIXES, AUTOSCALED_LABELS, DRAINING_TAINTS, HOSTNAME, SYSTEM_TAINTS


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint on a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Quarantine(msgspec.Struct, frozen=True):
    """A node that is closed for new workers because starts repeatedly failed there."""

    since: datetime
    until: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class DrainBound:
    """How long Karpenter lets a drain of one node take: its NodeClaim keeps the value that it was created with."""

    node_claim: str
    seconds: int | None  # None: unlimited
    began_at: datetime | None = None  # when the deletion of the NodeClaim was requested; None: it was not


@dataclass(frozen=True, slots=True)
class Node:
    """One node as the cluster shows it."""

    name: str
    uid: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    ready_since: datetime | None = None
    terminating: bool = False
    claim_terminating: bool = False  # the NodeClaim of Karpenter behind it
    drain_bound: DrainBound | None = None  # None: no NodeClaim is known for it
    draining_since: datetime | None = None  # from its objects; otherwise when it was first seen draining
    created_at: datetime | None = None
    allocatable: Mapping[str, int] = field(default_factory=dict)  # CPU in millicores, other resources in their own unit

    @property
    def cpu_millis(self) -> int:
        return self.allocatable.get("cpu", 0)

    @property
    def memory_bytes(self) -> int:
        return self.allocatable.get("memory", 0)

    @property
    def draining_because(self) -> str:
        """Why no new work should be placed here; empty if it may."""
        if self.terminating:
            return "the node is being deleted"
        if self.claim_terminating:
            return "the node's NodeClaim is being deleted"
        if self.unschedulable:
            return "the node is cordoned"
        for taint in self.taints:
            if taint.key in DRAINING_TAINTS:
                return f"the node carries the taint {taint}"
        return ""

    @property
    def hostname(self) -> str:
        """The value that a pin by hostname selects. It can differ from the node's name."""
        return self.labels.get(HOSTNAME, self.name)

    @property
    def is_system(self) -> bool:
        """Whether it is a system node."""
        return any(taint.key in SYSTEM_TAINTS for taint in self.taints)


@dataclass(frozen=True, slots=True)
class NodeTemplate:
    """The nodes that an autoscaler would create for one of its pools."""

    pool: str
    labels: Mapping[str, frozenset[str] | None] = field(default_factory=dict)  # allowed values; None: any value
    taints: tuple[Taint, ...] = ()
    termination_grace_seconds: int | None = None  # how long a drain may take; None: unlimited

    @property
    def is_system(self) -> bool:
        return any(taint.key in SYSTEM_TAINTS for taint in self.taints)

    def may_carry(self, key: str, value: str) -> bool:
        """Whether a node of this pool can have that label."""
        if key not in self.labels:
            return key in AUTOSCALED_LABELS or key.startswith(AUTOSCALED_LABEL_PREFIXES)
        values = self.labels[key]
        return values is None or value in values
