"""The dependencies that every controller gets."""

from dataclasses import dataclass

from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from mooring.engine.audit import Auditor
from mooring.engine.brakes import Brakes
from mooring.engine.events import EventWriter
from mooring.engine.gate import Gate
from mooring.engine.liveness import SignsOfLife
from mooring.engine.nodes.informer import NodeInformer
from mooring.engine.switches import Switches
from mooring.ledger.port import Ledger
from mooring.model.timeouts import Timeouts


@dataclass(frozen=True, slots=True)
class Platform:
    """What a replica runs on: a cluster, its Events, a ledger, time and randomness, and its name."""

    client: KubeClient
    events: EventWriter
    ledger: Ledger
    clock: Clock
    entropy: Entropy
    timeouts: Timeouts
    replica_id: str


@dataclass(frozen=True, slots=True)
class Context:
    """The platform, and the mechanisms that all controllers of a replica share."""

    platform: Platform
    auditor: Auditor
    switches: Switches
    gate: Gate
    brakes: Brakes
    nodes: NodeInformer
    liveness: SignsOfLife

    @property
    def client(self) -> KubeClient:
        return self.platform.client

    @property
    def events(self) -> EventWriter:
        return self.platform.events

    @property
    def ledger(self) -> Ledger:
        return self.platform.ledger

    @property
    def clock(self) -> Clock:
        return self.platform.clock

    @property
    def entropy(self) -> Entropy:
        return self.platform.entropy

    @property
    def timeouts(self) -> Timeouts:
        return self.platform.timeouts

    @property
    def replica_id(self) -> str:
        return self.platform.replica_id
