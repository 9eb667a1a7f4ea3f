"""Halves of replays that several tests of a process look at; each is played once."""

from dataclasses import dataclass
from functools import cache

from mooring.incidents.incident import Figures, Incident
from mooring.incidents.replay import run_half
from mooring.incidents.timeline import Timeline


@dataclass(frozen=True)
class Half:
    """The figures and the events of a half."""

    figures: Figures
    timeline: Timeline

    @property
    def told(self) -> str:
        """All events as one text."""
        return "\n".join(self.timeline.texts)


@cache
def play_half(incident: type[Incident], *, protected: bool, seed: int) -> Half:
    """The half of an incident, in virtual time. The same seed gives the same figures, so one run stands for all."""
    timeline = Timeline()
    return Half(run_half(incident(), protected=protected, seed=seed, audience=timeline), timeline)
