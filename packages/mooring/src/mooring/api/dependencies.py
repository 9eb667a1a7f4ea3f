"""Dependencies of handlers, marked so that the framework passes them on without validation."""

from typing import Any, Protocol

from litestar.params import SkipValidation

from hawser.clock import Clock


class Readiness(Protocol):
    """What `/readyz` needs to know."""

    @property
    def unready_reasons(self) -> list[str]:
        """Why answers cannot be trusted now; empty if they can."""
        ...

    def describe(self) -> dict[str, Any]:
        """The state of each cache and of the ledger."""
        ...


GivenClock = SkipValidation[Clock]
GivenReadiness = SkipValidation[Readiness]
