"""What the plan of a pool may look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mooring.model.headroom import Placeholder
from mooring.model.health import WorkerHealth
from mooring.model.node import Node, NodeTemplate, Quarantine
from mooring.model.pool import Pool
from mooring.model.preflight import Preflight
from mooring.model.silence import NO_SILENCE, PoolSilence
from mooring.model.worker import ClassifiedWorker, Worker
from mooring.planning.demand.outlook import Outlook
from mooring.planning.demand.plan import HeldFloor
from mooring.planning.invariants.protection import ProtectionEnd
from mooring.planning.placement import Placed


@dataclass(frozen=True, slots=True)
class InFlight:
    """Own writes that the cache does not show yet."""

    creating: frozenset[str] = frozenset()  # names
    deleting: frozenset[str] = frozenset()  # uids
    taken: frozenset[str] = frozenset()  # names that are taken by foreign pods


@dataclass(frozen=True, slots=True)
class Backoff:
    """Creates failed; no create is tried until then."""

    failures: int
    until: datetime
    message: str


@dataclass(frozen=True, slots=True)
class LedgerView:
    """Which ledger the claims were read from; without an incarnation it could not be read."""

    incarnation: str = ""
    armed: bool = False


@dataclass(frozen=True, slots=True)
class HeadroomView:
    """Pods that hold room for workers of the pool."""

    placeholders: tuple[Placeholder, ...] = ()
    spec_hash: str = ""  # of one that would be created now
    backoff: Backoff | None = None

    def problem(self, placed: Placed) -> str:
        """Why none can be created for the moment."""
        return placed.problem or (self.backoff.message if self.backoff is not None else "")


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """All that the decision may look at. `classified` has the state of each of `workers`, in their order."""

    now: datetime
    pool: Pool
    spec_hash: str
    workers: tuple[Worker, ...]
    classified: tuple[ClassifiedWorker, ...]
    nodes: Mapping[str, Node]
    placed: Placed
    held: Mapping[str, int] = field(default_factory=dict)  # live claims, by pod uid
    queued: int = 0
    in_flight: InFlight = InFlight()
    backoff: Backoff | None = None
    quarantined: Mapping[str, Quarantine] = field(default_factory=dict)  # by node name
    unhealthy: Mapping[str, WorkerHealth] = field(default_factory=dict)  # workers with failed checks, by pod uid
    problems: tuple[str, ...] = ()  # what is wrong with the spec
    fit: Preflight | None = None  # of one more worker, on nodes as if they were empty
    templates: tuple[NodeTemplate, ...] = ()  # nodes that Karpenter makes
    karpenter_read: bool = True  # whether `templates` has all NodePools, and `drain_bound` of a node its NodeClaim
    protected: Mapping[str, int] = field(default_factory=dict)  # workers of all pools, by unbounded node
    ends: tuple[ProtectionEnd, ...] = ()  # of protection, near or passed
    ledger: LedgerView = LedgerView()
    silence: PoolSilence = NO_SILENCE  # of idle workers that poll
    outlook: Outlook | None = None  # what is learnt of the demand; None without `spec.demand`, or before it is read
    held_floor: HeldFloor | None = None  # decided last
    scaled_by: tuple[str, ...] = ()  # HorizontalPodAutoscalers that name a pool whose floor follows demand
    headroom: HeadroomView = HeadroomView()
    floor: int = -1  # idle workers to keep; the plan fills it in

    @property
    def warm(self) -> int:
        """The number of idle workers to keep, besides those for the queue."""
        return self.floor if self.floor >= 0 else self.pool.spec.warm
