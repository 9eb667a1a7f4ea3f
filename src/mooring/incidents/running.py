"""Running a replay: each half in a world of its own, in virtual time, and a verdict over both."""

from collections.abc import Callable
from dataclasses import dataclass

from mooring.incidents.incident import Figures, Incident
from mooring.incidents.stage import START, Audience, open_stage
from mooring.sandbox.virtual import run_virtual


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both halves of a replay; `protected` is None when only the other one was asked for."""

    incident: str
    unprotected: Figures
    protected: Figures | None

    @property
    def failure(self) -> str:
        """Why the replay failed; empty when it showed what it has to show."""
        if not self.unprotected.outage:
            return "the outage does not happen without protection: the replay proves nothing"
        if self.protected is not None and self.protected.outage:
            return "the outage happens in spite of the protection"
        return ""

    def as_dict(self) -> dict[str, object]:
        """As `-o json` shows it."""
        protected = self.protected.as_dict() if self.protected is not None else None
        return {"incident": self.incident, "without": self.unprotected.as_dict(), "with": protected}


def run_half(incident: Incident, *, protected: bool, seed: int, audience: Audience) -> Figures:
    """One half, to its end. The same seed gives the same figures."""

    async def play() -> Figures:
        async with open_stage(seed, incident.nodes(), incident.script, audience) as stage:
            if not protected:
                await stage.pause(incident.protections)
            return await incident.play(stage, protected)

    return run_virtual(play, seed=seed, start=START)


def run_replay(
    incident: Incident, *, only_unprotected: bool, seed: int, seat: Callable[[Incident, bool], Audience]
) -> Outcome:
    """Without, then with. `seat` gives the audience of a half."""
    unprotected = run_half(incident, protected=False, seed=seed, audience=seat(incident, False))
    protected = None
    if not only_unprotected:
        protected = run_half(incident, protected=True, seed=seed, audience=seat(incident, True))
    return Outcome(incident.name, unprotected, protected)
