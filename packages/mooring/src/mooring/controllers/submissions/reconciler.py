"""The reconciler of Submissions: admits them, makes the Jobs that are due, follows them, and writes the status."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mooring.controllers.submissions.admission import LOOK_SECONDS, Admission
from mooring.controllers.submissions.creation import JobCreation
from mooring.controllers.submissions.deletion import JobDeletion
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.controllers.submissions.inheritance import read_inheritance
from mooring.controllers.submissions.jobs import gather_evidence, own_jobs
from mooring.controllers.submissions.snapshot import SubmissionLook, SubmissionSnapshots
from mooring.controllers.submissions.status import SubmissionStatuses
from mooring.engine.context import Context
from mooring.engine.controller import Pass, Reconciler
from mooring.engine.creator import NameTaken
from mooring.kinds.views import Submission
from mooring.model import names
from mooring.model.errors import MooringError, Unavailable
from mooring.model.evidence import Failure
from mooring.model.submission import ENDED, STARTED, Gate, Phase
from mooring.planning.submissions.gates import FAIL
from mooring.planning.submissions.plan import SubmissionPlan, plan_submission
from mooring.planning.submissions.status import Standing

LEFTOVER_LOOK_SECONDS = 1.0


class _Reported(MooringError):
    """Trouble that the status names already; the pass is tried again."""


@dataclass(frozen=True, slots=True)
class SubmissionWork:
    """The plan, and what came of it so far."""

    plan: SubmissionPlan
    gates: tuple[Gate, ...]
    held: str
    trouble: MooringError | None = None


SubmissionPass = Pass[Submission, SubmissionLook, SubmissionWork]


class SubmissionReconciler(Reconciler[Submission, SubmissionLook, SubmissionWork]):
    """Follows what was admitted; the rest is the admission's. All it remembers may be lost at any time."""

    def __init__(
        self,
        context: Context,
        informer: SubmissionInformer,
        admission: Admission,
        snapshots: SubmissionSnapshots,
        creation: JobCreation,
        deletion: JobDeletion,
        statuses: SubmissionStatuses,
    ) -> None:
        self._client = context.client
        self._clock = context.clock
        self._informer = informer
        self._admission = admission
        self._snapshots = snapshots
        self._creation = creation
        self._deletion = deletion
        self._statuses = statuses
        self._uids: dict[str, str] = {}  # by key, of those that run

    async def reconcile(self, key: str) -> datetime | None:
        view = self.latest(key)
        if view is None and self._informer.runs(key):
            # Its end is written, and the cache lags; or a cluster that was restored has lost that write.
            return self._clock.now() + timedelta(seconds=LOOK_SECONDS)
        if view is None or view.status.phase in STARTED:
            return await super().reconcile(key)
        if view.status.phase == Phase.REFUSED and view.status.observed_generation == view.metadata.generation:
            return None
        try:
            return await self._admission.admit(view)
        except Exception as error:
            await self.fail(view, error)
            raise

    def latest(self, key: str) -> Submission | None:
        cached = self._informer.submission(key)
        if cached is None or cached.terminating:
            return None
        view = self._statuses.latest(cached)
        return None if view.status.phase in ENDED else view

    def forget(self, key: str) -> None:
        self._snapshots.forget(key)
        self._admission.forget(key)
        self._statuses.forget(key)
        if (uid := self._uids.pop(key, None)) is not None:
            self._creation.forget(uid)
            self._deletion.forget(uid)

    async def snapshot(self, found: Submission) -> SubmissionLook:
        self._uids[found.metadata.key] = found.metadata.uid
        return await self._snapshots.take(found)

    def plan(self, snapshot: SubmissionLook) -> SubmissionWork:
        return SubmissionWork(plan_submission(snapshot.planned), snapshot.gates, snapshot.planned.held)

    async def delete(self, current: SubmissionPass) -> SubmissionPass:
        await self._deletion.stop(current.found, current.plan.plan.stops)
        await self._deletion.replace(current.found, current.plan.plan.replaces)
        return current

    async def create(self, current: SubmissionPass) -> SubmissionPass:
        """What fails is part of the status before it is tried again, or given up."""
        view, work = current.found, current.plan
        if not work.plan.creates:
            return current
        inherited = await read_inheritance(self._client, view.metadata.namespace, view.spec.inherit_env)
        if inherited.problem or inherited.problem is None:
            trouble = Unavailable(inherited.problem or "the Deployment to inherit from cannot be read")
            return replace(current, plan=replace(work, trouble=trouble))
        try:
            refused = await self._creation.create(view, work.plan.creates, inherited)
        except NameTaken as taken:
            return replace(current, plan=await self._unblock(view, work, taken))
        except MooringError as error:
            return replace(current, plan=replace(work, trouble=error))
        if not refused:
            return current
        planned = replace(current.snapshot.planned, refused=refused)
        return replace(current, plan=replace(work, plan=plan_submission(planned)))

    async def conclude(self, current: SubmissionPass) -> SubmissionPass:
        view, work = current.found, current.plan
        plan, trouble = work.plan, work.trouble
        message = f"{plan.message}; {work.held}" if work.held and work.held not in plan.message else plan.message
        if trouble is not None and not work.held:
            message = f"{plan.message}; {trouble.message}"
        failure = view.status.failure or await self._evidence(view, plan)
        await self._statuses.write(view, Standing(plan.phase, message, work.gates, plan.steps, plan.jobs, failure))
        blocked = isinstance(trouble, NameTaken)
        if trouble is not None and not blocked:
            raise _Reported(trouble.message, fix=trouble.fix) from trouble
        if plan.phase in ENDED:
            return current
        seconds = LEFTOVER_LOOK_SECONDS if blocked or plan.stops or plan.replaces else LOOK_SECONDS
        return current.wake(self._clock.now() + timedelta(seconds=seconds))

    async def fail(self, found: Submission, error: Exception) -> None:
        if not isinstance(error, _Reported):
            await self._statuses.write_failure(self._statuses.latest(found), error)

    async def _unblock(self, view: Submission, work: SubmissionWork, taken: NameTaken) -> SubmissionWork:
        """A Job that came into the way after admission: swept as before it."""
        cleared = await self._admission.sweep(view)
        held = (cleared.why if cleared is not None else "") or taken.message
        kept = tuple(one for one in work.gates if one.id != "names")
        if cleared is not None and cleared.strangers:
            kept = (*kept, Gate("names", FAIL, held, "it is deleted as soon as it is proven to be a leftover"))
        return replace(work, gates=kept, held=held, trouble=taken)

    async def _evidence(self, view: Submission, plan: SubmissionPlan) -> Failure | None:
        if not plan.failed:
            return None
        before = next((step.why for step in view.status.steps if step.name == plan.failed), "")
        for job in own_jobs(view, self._informer):
            if job.metadata.labels.get(names.STEP) == plan.failed:
                pods = self._informer.pods(view.metadata.namespace, job.metadata.name)
                return await gather_evidence(self._client, job, pods, before)
        step = next(step for step in plan.steps if step.name == plan.failed)
        return Failure(reason=f"{step.job}: {step.why or 'it failed, and its Job is gone'}")
