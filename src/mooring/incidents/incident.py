"""What an incident is: a story, the protections that prevent it, and a play that measures the outage."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from mooring.incidents.stage import Stage
from mooring.sandbox.actors.runtime.contract import ContainerRun
from mooring.sandbox.actors.runtime.script import Script
from mooring.sandbox.cluster import Nodes, plain_nodes

Figure = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What one half of a replay measured, and whether that was an outage."""

    outage: bool
    measured: Mapping[str, Figure] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Figure]:
        """As `-o json` shows it."""
        return {"outage": self.outage, **self.measured}


class Incident(ABC):
    """One outage. The same app plays both halves; without protection its kill switches are flipped before."""

    name: ClassVar[str]
    title: ClassVar[str]
    story: ClassVar[str]
    protections: ClassVar[tuple[str, ...]]  # the invariants that are paused in the half without
    hurry: ClassVar[float | None] = None  # how many times faster a real cluster plays it; None: virtual time only

    def nodes(self) -> Nodes:
        """What the cluster is made of."""
        return plain_nodes(3)

    def script(self, run: ContainerRun) -> Script | None:
        """What a container does; None leaves it to the pod's annotation."""
        return None

    @abstractmethod
    async def play(self, stage: Stage, protected: bool) -> Figures:
        """From a quiet morning to the figures."""
