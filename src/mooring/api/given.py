"""What handlers are given by the application, marked so that the framework hands it over as it is."""

from typing import Annotated, Any, Protocol

from litestar.params import Dependency

from mooring.clock import Clock, Entropy
from mooring.control.claiming.desk import ClaimDesk
from mooring.ledger.port import Ledger


class Readiness(Protocol):
    """What readiness needs to know."""

    @property
    def ready(self) -> bool: ...

    def describe(self) -> dict[str, Any]:
        """Each cache and the ledger, with what is wrong with it."""
        ...


__all__ = ["ClaimDesk", "GivenClock", "GivenEntropy", "GivenLedger", "GivenReadiness", "Readiness"]

GivenClock = Annotated[Clock, Dependency(skip_validation=True)]
GivenEntropy = Annotated[Entropy, Dependency(skip_validation=True)]
GivenLedger = Annotated[Ledger, Dependency(skip_validation=True)]
GivenReadiness = Annotated[Readiness, Dependency(skip_validation=True)]
