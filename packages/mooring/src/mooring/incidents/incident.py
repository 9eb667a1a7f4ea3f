"""The base class of incidents: a story, the invariants that prevent the outage, and a play that measures it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from drydock import ContainerRun, Nodes, Script, plain_nodes
from mooring.incidents.stage import Stage

Figure = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Figures:
    """The measurements of one half of a replay, and whether it was an outage."""

    outage: bool
    measured: Mapping[str, Figure] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Figure]:
        """The output of `-o json`."""
        return {"outage": self.outage, **self.measured}


class Incident(ABC):
    """One outage. Both halves run the same application; in the half without protection its kill switches are paused."""

    name: ClassVar[str]
    title: ClassVar[str]
    story: ClassVar[str]
    protections: ClassVar[tuple[str, ...]]  # the invariants that are paused in the half without protection
    hurry: ClassVar[float | None] = None  # the factor by which a real cluster plays it faster; None: virtual time only

    def nodes(self) -> Nodes:
        """The nodes of the cluster."""
        return plain_nodes(3)

    def script(self, run: ContainerRun) -> Script | None:
        """The script of a container; None uses the pod's annotation."""
        return None

    @abstractmethod
    async def play(self, stage: Stage, protected: bool) -> Figures:
        """Play one half and measure it."""
