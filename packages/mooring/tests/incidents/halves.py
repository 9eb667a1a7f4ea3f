"""Halves of replays that several tests of a process look at; each is played once."""

from dataclasses import dataclass
from functools import cache

from mooring.incidents.incident import Figures, Incident
from mooring.incidents.replay import run_half
from mooring.incidents.stage import Nobody


@dataclass(frozen=True)
class Half:
    """What was measured, and what the audience was told."""

    figures: Figures
    told: str


class _Listener(Nobody):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def report(self, seconds: float, text: str) -> None:
        self.lines.append(text)


@cache
def play_half(incident: type[Incident], *, protected: bool, seed: int) -> Half:
    """The half of an incident, in virtual time. The same seed gives the same figures, so one run stands for all."""
    listener = _Listener()
    figures = run_half(incident(), protected=protected, seed=seed, audience=listener)
    return Half(figures, "\n".join(listener.lines))
