"""A control plane for benchmarks: a real one over a given cluster and ledger, with fakes for what is outside."""

from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from mooring.app import Adapters, Dependencies, Mooring, ReplicaOptions
from mooring.controllers.activity import PolledActivity
from mooring.controllers.pools.probe import HttpProbe
from mooring.incidents.documents import StagedDocuments
from mooring.incidents.fakes import Gateway, Mint
from mooring.ledger.port import Ledger
from mooring.planning.destinations import THIS_MACHINE


def make_replica(client: KubeClient, ledger: Ledger, clock: Clock, entropy: Entropy) -> Mooring:
    """Not running yet; its `context` is what controllers are made with."""
    adapters = Adapters(Mint(), PolledActivity(clock), StagedDocuments(), HttpProbe(THIS_MACHINE), Gateway())
    given = Dependencies(client, ledger, clock, entropy, ReplicaOptions("bench"), adapters)
    return Mooring(given)
