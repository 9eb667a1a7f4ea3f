"""What handlers are given by the application, marked so that the framework hands it over as it is."""

from typing import Any, Protocol

from litestar.params import SkipValidation

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

GivenClock = SkipValidation[Clock]
GivenEntropy = SkipValidation[Entropy]
GivenLedger = SkipValidation[Ledger]
GivenReadiness = SkipValidation[Readiness]
