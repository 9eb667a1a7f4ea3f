"""Deleting Jobs of a live submission: as its owner asked, or because the node they wait for is gone."""

from collections.abc import Sequence

from hawser.resources import JOBS
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.engine.guarded_delete import GuardedActs
from mooring.kinds.views import Submission
from mooring.model.audit import Subject
from mooring.planning.submissions.leftovers import LEFTOVER_JOBS
from mooring.planning.submissions.plan import ReplaceJob, SeenJob, StopJob


class JobDeletion:
    """Every delete has its audit row and both preconditions."""

    def __init__(self, context: Context, acts: GuardedActs) -> None:
        self._client = context.client
        self._auditor = context.auditor
        self._switches = context.switches
        self._acts = acts

    def forget(self, uid: str) -> None:
        """The submission has ended, or is gone."""
        self._acts.forget(uid)

    async def stop(self, view: Submission, stops: Sequence[StopJob]) -> None:
        """A delete that a user asked for needs no second tick."""
        for stop in stops:
            job = stop.job
            await self._auditor.carry_out(
                lambda job=job: self._delete(job),  # type: ignore[misc]
                actor="cancel",
                action="delete",
                subject=Subject("Job", job.namespace, job.name, job.uid),
                reason=stop.reason,
                evidence={"step": stop.step},
            )

    async def replace(self, view: Submission, replaces: Sequence[ReplaceJob]) -> None:
        """Within the rails: two proofs, two ticks, an age floor, a cap, the kill switch."""
        paused = self._switches.why_paused(LEFTOVER_JOBS)
        brakes = (f"paused: {paused}",) if paused else ()
        await self._acts.carry_out(view.metadata.uid, replaces, brakes, lambda act: self._delete(act.job))

    async def _delete(self, job: SeenJob) -> Result:
        await self._client.delete(
            JOBS, job.name, job.namespace, uid=job.uid, resource_version=job.resource_version, propagation="Background"
        )
        return DONE
