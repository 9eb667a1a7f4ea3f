"""The rule of warm Jobs while there is no Warmup: nothing can break it then, and that is told like any other look."""

from collections.abc import Callable

import structlog

from mooring.clock import Clock
from mooring.control.warming.watch import WarmupWatch
from mooring.ledger.port import Ledger
from mooring.ledger.records import InvariantCheck
from mooring.model.errors import Unavailable
from mooring.planning.warmups.staleness import WARM_ON_LIVE_NODE

log = structlog.get_logger()

PERIOD_SECONDS = 60.0


class WarmIdling:
    """Without it the rule would stay unknown where nobody uses Warmups, and as broken as the last Warmup left it."""

    def __init__(self, ledger: Ledger, watch: WarmupWatch, ready: Callable[[], bool], clock: Clock) -> None:
        self._ledger = ledger
        self._watch = watch
        self._ready = ready
        self._clock = clock

    async def run(self) -> None:
        """Until cancelled. While there are Warmups their own passes tell."""
        while True:
            if self._ready() and not self._watch.warmups:
                await self._record()
            await self._clock.sleep(PERIOD_SECONDS)

    async def _record(self) -> None:
        try:
            await self._ledger.invariants.record([InvariantCheck(id=WARM_ON_LIVE_NODE, at=self._clock.now(), broken=0)])
        except Unavailable as error:
            log.warning("a check was not recorded", rule=WARM_ON_LIVE_NODE, error=error.message)
