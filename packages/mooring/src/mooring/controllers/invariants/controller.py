"""The invariants, put together: two periodic checks that act on the replica that leads."""

import asyncio

from mooring.controllers.fleet import Fleet
from mooring.controllers.invariants.events import InvariantEvents
from mooring.controllers.invariants.protection import ProtectionEnforcement
from mooring.controllers.invariants.reconciler import ClaimEnforcement
from mooring.controllers.invariants.remedies import ClaimRelease, Remedies, Stamps
from mooring.controllers.invariants.snapshot import ClaimsSnapshots, WorkerSigns
from mooring.engine.context import Context


class InvariantController:
    """Checks claims against workers, and protection against claims."""

    def __init__(
        self, context: Context, fleet: Fleet, signs: WorkerSigns, stamps: Stamps, release: ClaimRelease
    ) -> None:
        self._claims = ClaimEnforcement(
            context,
            ClaimsSnapshots(context, fleet, signs),
            Remedies(context, stamps, release),
            InvariantEvents(fleet, context.events),
        )
        self.protection = ProtectionEnforcement(context, fleet)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._claims.run())
            group.create_task(self.protection.run())
