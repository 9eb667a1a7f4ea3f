"""Runs a replay: each half in its own environment, in virtual or in hurried real time, and a verdict over both."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from drydock import run_virtual
from mooring.incidents.incident import Figures, Incident
from mooring.incidents.stage import START, Audience, Stage, open_stage
from mooring.model.errors import Refused


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both halves of a replay; `protected` is None if only the other one was requested."""

    incident: str
    unprotected: Figures
    protected: Figures | None

    @property
    def failure(self) -> str:
        """Why the replay failed; empty if it showed what it has to show."""
        if not self.unprotected.outage:
            return "the outage does not happen without protection: the replay proves nothing"
        if self.protected is not None and self.protected.outage:
            return "the outage happens in spite of the protection"
        return ""

    def as_dict(self) -> dict[str, object]:
        """The output of `-o json`."""
        protected = self.protected.as_dict() if self.protected is not None else None
        return {"incident": self.incident, "without": self.unprotected.as_dict(), "with": protected}


def run_half(incident: Incident, *, protected: bool, seed: int, audience: Audience) -> Figures:
    """One half in virtual time. The same seed gives the same figures."""

    async def play() -> Figures:
        async with open_stage(seed, incident.nodes(), incident.script, audience) as stage:
            return await _play(incident, stage, protected)

    return run_virtual(play, seed=seed, start=START)


def run_real_half(incident: Incident, *, protected: bool, audience: Audience) -> Figures:
    """One half on a real control plane, hurried as far as the incident allows."""
    # Imported here: replays in virtual time do not need PostgreSQL and a Kubernetes control plane.
    from mooring.incidents.real_stage import open_real_stage

    hurry = incident.hurry
    if hurry is None:
        raise Refused(f"{incident.name} is sandbox only, as it needs virtual time", fix="play it on the sandbox")

    async def play() -> Figures:
        async with open_real_stage(hurry, incident.nodes(), incident.script, audience) as stage:
            return await _play(incident, stage, protected)

    return asyncio.run(play())


async def _play(incident: Incident, stage: Stage, protected: bool) -> Figures:
    if not protected:
        await stage.pause(incident.protections)
    return await incident.play(stage, protected)


def run_replay(
    incident: Incident,
    *,
    only_unprotected: bool,
    seed: int,
    seat: Callable[[Incident, bool], Audience],
    real: bool = False,
) -> Outcome:
    """First the half without protection, then the half with it. `seat` returns the audience of a half."""

    def half(protected: bool) -> Figures:
        audience = seat(incident, protected)
        if real:
            return run_real_half(incident, protected=protected, audience=audience)
        return run_half(incident, protected=protected, seed=seed, audience=audience)

    return Outcome(incident.name, half(False), None if only_unprotected else half(True))
