"""A node, as far as placing workers and noticing its end needs."""

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
    """Closed for new workers, because starts kept failing there."""

    since: datetime
    until: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Node:
    """What the cluster says about one node."""

    name: str
    uid: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    ready_since: datetime | None = None
    terminating: bool = False
    claim_terminating: bool = False  # Karpenter's NodeClaim behind it
    draining_since: datetime | None = None  # as its objects say, else when it was first seen so
    created_at: datetime | None = None
    allocatable: Mapping[str, int] = field(default_factory=dict)  # cpu in thousandths, the rest in its own unit

    @property
    def cpu_millis(self) -> int:
        return self.allocatable.get("cpu", 0)

    @property
    def memory_bytes(self) -> int:
        return self.allocatable.get("memory", 0)

    @property
    def draining_because(self) -> str:
        """Why no new work should land here; empty when it may."""
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
        """What a pin by hostname finds: the label's value, which need not be the node's name."""
        return self.labels.get(HOSTNAME, self.name)

    @property
    def is_system(self) -> bool:
        """Whether the node belongs to a pool for the cluster's own parts."""
        return any(taint.key in SYSTEM_TAINTS for taint in self.taints)


@dataclass(frozen=True, slots=True)
class NodeTemplate:
    """The nodes that an autoscaler would make for one of its pools, while none of them is up."""

    pool: str
    labels: Mapping[str, frozenset[str] | None] = field(default_factory=dict)  # values it may have; None: any value
    taints: tuple[Taint, ...] = ()
    termination_grace_seconds: int | None = None  # how long such a node may be drained; None: for ever

    @property
    def is_system(self) -> bool:
        return any(taint.key in SYSTEM_TAINTS for taint in self.taints)

    def may_carry(self, key: str, value: str) -> bool:
        """Whether a node of this pool can have that label."""
        if key not in self.labels:
            return key in AUTOSCALED_LABELS or key.startswith(AUTOSCALED_LABEL_PREFIXES)
        values = self.labels[key]
        return values is None or value in values
