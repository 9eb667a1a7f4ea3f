"""Forgetting: ended claims, old audit rows and replicas that left long ago, a few at a time."""

from collections.abc import Callable
from datetime import timedelta

import structlog

from mooring.clock import Clock
from mooring.ledger.port import Ledger
from mooring.model.errors import Unavailable

log = structlog.get_logger()

PERIOD_SECONDS = 3600.0
CLAIMS_KEPT = timedelta(days=7)  # as long as their idempotency keys answer
AUDIT_KEPT = timedelta(days=90)
REPLICAS_KEPT = timedelta(days=1)


class Housekeeping:
    """Once an hour, on the replica that leads."""

    def __init__(self, ledger: Ledger, may_act: Callable[[], bool], clock: Clock) -> None:
        self._ledger = ledger
        self._may_act = may_act
        self._clock = clock

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._clock.sleep(PERIOD_SECONDS)
            if not self._may_act():
                continue
            try:
                await self.sweep()
            except Unavailable as error:
                log.warning("housekeeping was skipped", error=error.message)

    async def sweep(self) -> None:
        """One sweep."""
        now = self._clock.now()
        claims = await self._ledger.claims.prune(ended_before=now - CLAIMS_KEPT)
        rows = await self._ledger.audit.prune(before=now - AUDIT_KEPT)
        replicas = await self._ledger.replicas.forget(silent_since=now - REPLICAS_KEPT)
        if claims or rows or replicas:
            log.info("housekeeping", claims=claims, audit=rows, replicas=replicas)
