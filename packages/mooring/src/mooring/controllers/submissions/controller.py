"""Submissions, put together."""

from collections.abc import Awaitable, Callable, Sequence

from mooring.controllers.submissions.admission import Admission
from mooring.controllers.submissions.commands import SubmissionCommands
from mooring.controllers.submissions.creation import JobCreation
from mooring.controllers.submissions.deletion import JobDeletion
from mooring.controllers.submissions.gates import GateReader
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.controllers.submissions.leftover_check import LeftoverCheck
from mooring.controllers.submissions.leftovers import Leftovers
from mooring.controllers.submissions.reconciler import SubmissionReconciler, SubmissionWork
from mooring.controllers.submissions.snapshot import SubmissionLook, SubmissionSnapshots
from mooring.controllers.submissions.status import SubmissionStatuses
from mooring.engine.context import Context
from mooring.engine.controller import Controller, Pacing
from mooring.engine.guarded_delete import GuardedActs
from mooring.kinds.views import Submission
from mooring.model.submission import ENDED, Phase
from mooring.planning.submissions.leftovers import LEFTOVER_JOBS

_COALESCE_SECONDS = 0.5


class SubmissionController(Controller[SubmissionInformer, Submission, SubmissionLook, SubmissionWork]):
    """Admits submissions and makes their Jobs while this replica leads. At most `ceiling` run in a namespace."""

    def __init__(self, context: Context, ceiling: int) -> None:
        informer = SubmissionInformer(context)
        acts = GuardedActs(LEFTOVER_JOBS, context.auditor, context.clock)
        leftovers = Leftovers(context, informer, acts)
        statuses = SubmissionStatuses(context)
        gates = GateReader(context, informer)
        creation = JobCreation(context, informer)
        reconciler = SubmissionReconciler(
            context,
            informer,
            Admission(context, gates, leftovers, statuses, ceiling),
            SubmissionSnapshots(context, informer, gates, creation),
            creation,
            JobDeletion(context, acts),
            statuses,
        )
        super().__init__("submissions", context, informer, reconciler, Pacing(_COALESCE_SECONDS))
        self.commands = SubmissionCommands(context, informer)
        self._leftover_check = LeftoverCheck(informer, leftovers, context.ledger, self.ready, context.clock)

    def _tasks(self) -> Sequence[Callable[[], Awaitable[None]]]:
        return (self._leftover_check.run,)

    def _on_change(self, kind: str, key: str) -> None:
        super()._on_change(kind, key)
        changed = self.informer.submission(key)
        if changed is None or changed.status.phase in ENDED:
            self._wake_waiting(key.partition("/")[0])

    def _wake_waiting(self, namespace: str) -> None:
        """A place may have become free."""
        for view in self.informer.submissions:
            if view.metadata.namespace == namespace and view.status.phase in ("", Phase.PENDING):
                self.look_at(f"{namespace}/{view.metadata.name}", _COALESCE_SECONDS)
