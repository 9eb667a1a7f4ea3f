"""Checks the invariant of warm Jobs while there is no Warmup: it holds, and the check is recorded."""

from collections.abc import Callable

import structlog

from hawser.clock import Clock
from mooring.controllers.warmups.informer import WarmupInformer
from mooring.engine.containment import contained
from mooring.ledger.port import Ledger
from mooring.ledger.records import InvariantCheck
from mooring.model.errors import Unavailable
from mooring.planning.warmups.staleness import WARM_ON_LIVE_NODE

log = structlog.get_logger()

PERIOD_SECONDS = 60.0


class IdleCheck:
    """Without it the invariant would stay unknown where there is no Warmup, or broken as the last one left it."""

    def __init__(self, ledger: Ledger, informer: WarmupInformer, ready: Callable[[], bool], clock: Clock) -> None:
        self._ledger = ledger
        self._informer = informer
        self._ready = ready
        self._clock = clock

    async def run(self) -> None:
        """Until cancelled. While there are Warmups, their own passes record the check."""
        while True:
            with contained("warmups-idle"):
                if self._ready() and not self._informer.warmups:
                    await self._record()
            await self._clock.sleep(PERIOD_SECONDS)

    async def _record(self) -> None:
        try:
            await self._ledger.invariants.record([InvariantCheck(id=WARM_ON_LIVE_NODE, at=self._clock.now(), broken=0)])
        except Unavailable as error:
            log.warning("a check was not recorded", invariant=WARM_ON_LIVE_NODE, error=error.message)
