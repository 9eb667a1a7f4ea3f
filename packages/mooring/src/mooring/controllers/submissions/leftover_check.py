"""The periodic check of `leftover-jobs`: submission Jobs without a live submission are found, also without a submit."""

from collections.abc import Callable

import structlog

from hawser.clock import Clock
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.controllers.submissions.leftovers import Cleared, Leftovers
from mooring.controllers.submissions.metrics import SUBMISSIONS_BY_PHASE
from mooring.engine.containment import contained
from mooring.ledger.port import Ledger
from mooring.ledger.records import InvariantCheck
from mooring.model.errors import MooringError
from mooring.model.submission import ENDED, Phase
from mooring.planning.submissions.leftovers import LEFTOVER_JOBS

log = structlog.get_logger()

PERIOD_SECONDS = 30.0
CONFIRM_SECONDS = 3.0


class LeftoverCheck:
    """Looks at the caches first: only a namespace with a suspect costs requests."""

    def __init__(
        self,
        informer: SubmissionInformer,
        leftovers: Leftovers,
        ledger: Ledger,
        may_act: Callable[[], bool],
        clock: Clock,
    ) -> None:
        self._informer = informer
        self._leftovers = leftovers
        self._ledger = ledger
        self._may_act = may_act
        self._clock = clock

    async def run(self) -> None:
        """Until cancelled. A failed read skips the round; it never counts as absence."""
        while True:
            suspects = False
            if self._may_act():
                with contained("leftover-jobs"):
                    try:
                        suspects = await self.tick()
                    except MooringError as error:
                        log.warning("leftover Jobs were not checked", error=error.message)
            await self._clock.sleep(CONFIRM_SECONDS if suspects else PERIOD_SECONDS)

    async def tick(self) -> bool:
        """One round; True when something waits for a second look."""
        self._count()
        sweeps = [await self._leftovers.sweep(namespace) for namespace in sorted(self._suspicious())]
        check = InvariantCheck(
            id=LEFTOVER_JOBS,
            at=self._clock.now(),
            broken=sum(cleared.broken for cleared in sweeps),
            found=sum(cleared.found for cleared in sweeps),
            healed=tuple(seconds for cleared in sweeps for seconds in cleared.healed_seconds),
            evidence=_evidence(sweeps),
        )
        await self._ledger.invariants.record([check])
        return any(cleared.wake_at is not None for cleared in sweeps)

    def _suspicious(self) -> set[str]:
        alive = {view.metadata.uid for view in self._informer.submissions}
        adopting = {
            view.metadata.namespace
            for view in self._informer.submissions
            if view.spec.adopt is not None and view.status.phase not in (*ENDED, Phase.REFUSED)
        }
        return adopting | {
            job.metadata.namespace
            for job in self._informer.all_jobs
            if not job.terminating and not any(owner.uid in alive for owner in job.metadata.owner_references)
        }

    def _count(self) -> None:
        phases = [view.status.phase for view in self._informer.submissions]
        for phase in Phase:
            SUBMISSIONS_BY_PHASE.set(phases.count(phase.value), phase.value)


def _evidence(sweeps: list[Cleared]) -> dict[str, object] | None:
    acts = [cleared.first for cleared in sweeps if cleared.first]
    return {"job": acts[0]} if acts else None
