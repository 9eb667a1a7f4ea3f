"""Small incidents for tests: they measure what they are told to."""

from mooring.incidents.incident import Figures, Incident
from mooring.incidents.stage import Stage


class Small(Incident):
    """Looks whether its rule is paused; says that there was an outage as it was told to."""

    name = "small"
    title = "a small one"
    story = "Nothing much happens."
    protections = ("stamped-has-claim",)

    def __init__(self, *, without: bool = True, protected: bool = False) -> None:
        self._outage = {False: without, True: protected}

    async def play(self, stage: Stage, protected: bool) -> Figures:
        stage.gauges["seconds"] = lambda: round(stage.clock.monotonic())
        stage.narrate("it begins")
        await stage.clock.sleep(65)
        switches = await stage.ledger.invariants.all()
        paused = any(state.paused for state in switches.values())
        stage.narrate("it ends")
        return Figures(self._outage[protected], {"pausedRules": paused, "tookSeconds": stage.clock.monotonic()})
